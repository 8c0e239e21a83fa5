"""Figures of listening tests with 1, 3 and 19 systems: what they show, and that all of it can be read."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from layout import faults
from matplotlib.text import Text
from toy_listening import CELLS, all_scores, listened, scores_of, system_names

from vpeval.figures import drawing, listening
from vpeval.figures.run_results import load_results
from vpeval.metrics.scores import eer_rocch, pool

FIGURES = ("violins", "significance", "det_curves", "det_by_set", "against_machine", "linkability", "maps")
COUNTS = (1, 3, 19)
SUPPLEMENT = Path(__file__).parents[3] / "shared/reference/published_results/2020/supplement_tables.tsv"


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return {count: listened(tmp_path_factory.mktemp(f"heard{count}"), count) for count in COUNTS}


@pytest.fixture(scope="module")
def figures(results):
    return {(name, count): drawn(name, results[count]) for name in FIGURES for count in COUNTS}


def drawn(name, results):
    return drawing.draw(name, lambda: getattr(listening, name)(results))


def curves(axis):
    """The DET curves of a panel; the diagonal has two points without a marker."""
    return [line for line in axis.lines if line.get_marker() not in ("None", "", None)]


def words(figure):
    return [text.get_text() for text in figure.findobj(Text)]


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("name", FIGURES)
def test_nothing_overlaps_is_cut_or_small(figures, name, count):
    assert faults(figures[name, count]) == []


@pytest.mark.parametrize("count", COUNTS)
def test_figures_fit_on_a_page(figures, count):
    for name in FIGURES:
        width, height = figures[name, count].get_size_inches()
        assert width == drawing.PAGE and height < 10.5, name


@pytest.mark.parametrize("count", COUNTS)
def test_systems_are_on_the_x_axis_of_violins_with_their_means(figures, count):
    figure = figures["violins", count]
    systems = ["original", *system_names(count)]
    labels = [label.get_text() for label in figure.axes[-1].get_xticklabels()]
    assert labels == systems
    means = [f"{all_scores(scores_of(s, k), 'naturalness').mean():.2f}" for k, s in enumerate(systems)]
    assert [text.get_text() for text in figure.axes[0].texts] == means


@pytest.mark.parametrize("count", COUNTS)
def test_every_task_of_figure_25_has_a_curve_of_every_system(figures, count):
    panels = {axis.get_title(loc="left"): axis for axis in figures["det_curves", count].axes if axis.axison}
    assert list(panels) == [
        "Naturalness",
        "Intelligibility",
        "Similarity, same speaker",
        "Similarity, different speakers",
        "Similarity, both kinds of pairs",
    ]
    assert [len(curves(axis)) for axis in panels.values()] == [count, count, count + 1, count + 1, count + 1]


def test_the_curve_of_different_speaker_pairs_holds_them_against_the_same_speaker_in_original_speech(figures):
    system = system_names(1)[0]
    own, original = scores_of(system, 1), scores_of("original", 0)
    wanted = {
        "Naturalness": (original, "naturalness", own, "naturalness"),
        "Intelligibility": (original, "intelligibility", own, "intelligibility"),
        "Similarity, same speaker": (own, "similarity_same", original, "similarity_different"),
        "Similarity, different speakers": (original, "similarity_same", own, "similarity_different"),
        "Similarity, both kinds of pairs": (own, "similarity_same", own, "similarity_different"),
    }
    systems = {"original": original, system: own}
    for task in listening.TASKS:
        one, group, other, against = wanted[task.title]
        targets, nontargets = task.scores(systems, system)
        assert sorted(targets) == sorted(all_scores(one, group)), task.title
        assert sorted(nontargets) == sorted(all_scores(other, against)), task.title
    eers = {task.title: eer_rocch(pool(*task.scores(systems, system))).value for task in listening.TASKS}
    assert eers["Similarity, different speakers"] < eers["Similarity, same speaker"] < 0.5


def test_figure_26_has_every_task_for_every_set_of_both_genders(figures, results):
    figure = figures["det_by_set", 3]
    assert len([axis for axis in figure.axes if axis.axison]) == 15
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert [title for title in titles if title] == ["libri test", "vctk test", "vctk test common"]
    task = listening.TASKS[-1]
    systems = {"original": scores_of("original", 0)}
    targets, _ = task.scores(systems, "original", [" ".join(cell) for cell in CELLS[:2]])
    assert len(targets) == 2 * 24


def test_without_original_speech_only_pairs_of_the_systems_are_told_apart(tmp_path):
    results = listened(tmp_path, 3, original=False)
    figure = drawn("det_curves", results)
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["Similarity, both kinds of pairs"]
    assert faults(figure) == []


def test_twenty_systems_can_be_told_apart(figures):
    axis = figures["det_curves", 19].axes[-2]
    assert len({(line.get_color(), line.get_marker()) for line in curves(axis)}) == 20


def test_tests_are_symmetric_and_point_to_the_higher_rating(figures):
    axis = figures["significance", 3].axes[2]
    assert axis.get_title(loc="left") == "Naturalness"
    markers = {
        (round(float(line.get_xdata()[0])), round(float(line.get_ydata()[0]) - 0.24)): line.get_marker()
        for line in axis.lines
    }
    assert len(markers) == 12
    assert all({markers[x, y], markers[y, x]} == {"^", "v"} for x, y in markers)
    assert [markers[x, 0] for x in (1, 2, 3)] == ["^"] * 3  # original speech is the most natural


def test_p_values_are_shown_where_there_is_room(figures):
    assert sum("≪0.01" in word for word in words(figures["significance", 3])) > 8
    assert not any("0.0" in word for word in words(figures["significance", 19]))


def test_cells_are_coloured_by_what_a_test_shows_at_the_level_of_the_analysis(tmp_path):
    levels = {}
    for alpha in (0.01, 1e-30):
        results = listened(tmp_path / str(alpha), 1, alpha=alpha)
        axis = drawn("significance", results).axes[2]
        levels[alpha] = {tuple(np.round(patch.get_facecolor(), 3)) for patch in axis.patches}
    assert len(levels[0.01]) == len(levels[1e-30]) == 1 and levels[0.01] != levels[1e-30]


def test_listeners_and_machine_have_a_point_per_system_set_and_gender(figures):
    for axis in figures["against_machine", 3].axes:
        assert len(axis.lines) == 4 * len(CELLS)
        x, y = np.array([(line.get_xdata()[0], line.get_ydata()[0]) for line in axis.lines]).T
        assert x == pytest.approx(0.9 * y)


def test_a_system_that_the_machine_did_not_attack_is_named(tmp_path):
    results = listened(tmp_path, 3)
    kept = [e for e in results.entries if e.record.attacker == "listeners" or e.record.system != "formant_f0"]
    figure = drawn("against_machine", replace(results, entries=kept))
    assert any("no ignorant attack by ecapa: formant_f0" in word for word in words(figure))


def test_simulated_listeners_are_named_across_every_figure(tmp_path):
    results = listened(tmp_path, 1, listeners="SIMULATED")
    for name in FIGURES:
        assert "SIMULATED LISTENERS" in words(drawn(name, results)), name


@pytest.mark.skipif(not SUPPLEMENT.is_file(), reason="needs the published tables of the 2020 supplement")
def test_figures_27_to_30_are_drawn_from_table_18_of_the_supplement():
    figure = drawn("against_machine", load_results([SUPPLEMENT]))
    rows = [line.split("\t") for line in SUPPLEMENT.read_text().splitlines()[1:]]
    table = {(kind, metric, *place): float(v) for t, *place, metric, _, kind, system, v in rows if t == "18" for place in [(*place, system)]}  # fmt: skip
    for axis, metric in zip(figure.axes, ("eer", "eer_rocch", "cllr", "min_cllr"), strict=True):
        places = [key[2:] for key in table if key[:2] == ("objective", metric)]
        wanted = sorted((table["objective", metric, *p], table["subjective", metric, *p]) for p in places)
        found = sorted((line.get_xdata()[0], line.get_ydata()[0]) for line in axis.lines)
        assert len(found) == 60
        assert np.array(found) == pytest.approx(np.array(wanted))
    assert faults(figure) == [] and "All numbers as published." in words(figure)
