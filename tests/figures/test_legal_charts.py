"""Figures of the legal metrics and of single speakers, of 1, 3 and 19 systems and of several attackers."""

from dataclasses import replace
from math import exp

import numpy as np
import pytest
from layout import faults

from vpeval.core.errors import InputError
from vpeval.figures import legal_charts, speaker_charts
from vpeval.figures.attacks import Attacks, model_title
from vpeval.figures.drawing import draw, model_colour
from vpeval.figures.run_results import Results, Series, load_results
from vpeval.measures.base import Scores, SpeakerValue
from vpeval.records.record import Record, read_records, write_records

SPEAKERS = [f"s{k}" for k in range(16)]
NAMES = ["mcadams", "an_anonymiser_with_a_very_long_name", "T8-5", *(f"B{k}" for k in range(1, 17))]
ATTACKS = (("oa", "plain", "ignorant"), ("aa", "plain", "lazy-informed"), ("aa", "retrained", "semi-informed"))
MORE = (("aa", "other", "lazy-informed"), ("aa", "another", "semi-informed"), ("aa", "older", "similar-system"))
FIGURES = {
    "legal": legal_charts.legal_curves,
    "legal_singling_out": legal_charts.singling_out_curves,
    "legal_linkability": legal_charts.linkability_curves,
    "legal_one_minus_eer": legal_charts.eer_curves,
    "side_information": legal_charts.side_information,
    "linkability_speakers": speaker_charts.linkability_distributions,
    "jaccard": speaker_charts.jaccard_matrices,
    "jaccard_mean": speaker_charts.mean_jaccard,
}


def ranked(seed, n):
    """A probability for every speaker, lower among more speakers; seed None: always linked."""
    if seed is None:
        return dict.fromkeys(SPEAKERS, 1.0)
    order = np.random.default_rng(seed).permutation(len(SPEAKERS))
    return {spk: float((place + 1) / len(SPEAKERS)) ** (n / 10) for spk, place in zip(SPEAKERS, order, strict=True)}


def write_attack(run, system, condition, attacker, model, scores, sizes=(5, 10, 16), lengths=(1, 3, 30, "all")):
    """The legal metrics of one attack; `scores` gives values of speakers for L and N."""
    tags = {"recipe": "toy", "set": "toy_all", "system": system, "condition": condition, "attacker": attacker}
    records, speakers = [], []
    for length in lengths:
        for n in sizes:
            own = scores(length, n)
            mean, params = float(np.mean(list(own.values()))), {"N": n, "L": length}
            speakers += [SpeakerValue("linkability", spk, n, str(length), value) for spk, value in own.items()]
            more = {"side": "gender", "groups": 2, **params}
            records += [
                Record("linkability", mean, mean - 0.05, mean + 0.05, params, notes={"chance": 1 / n}),
                Record("linkability_side", mean, None, None, more, notes={"chance": 2 / n, "candidates": n / 2}),
                Record("one_minus_eer", 0.9, params=params, notes={"chance": 0.5}),
            ]
            if length != "all":
                notes = {"chance": 0.35, "paper_chance": exp(-1)}
                records.append(Record("singling_out", 0.6, 0.5, 0.7, params, notes=notes))
    out = run / f"linkability_{attacker}-{condition}/records.jsonl"
    Scores(records, speakers).write(out, tags, notes={"attack_model": model})


def make_results(root, count, more=(), scores=None, **options):
    """The results of original speech and `count` systems."""
    runs = []
    for place, system in enumerate(["original", *NAMES[:count]]):
        attacks = (("oo", "plain", "unprotected"),) if system == "original" else (*ATTACKS, *more)
        for number, (condition, attacker, model) in enumerate(attacks):
            seed = None if system == "original" else place * number
            values = scores or (lambda length, n, seed=seed: ranked(seed, n))
            write_attack(root / system, system, condition, attacker, model, values, **options)
        found = []
        for path in sorted((root / system).glob("*/records.jsonl")):
            found += [
                r.with_files({"per_speaker": f"{path.parent.name}/records.speakers.tsv"}) for r in read_records(path)
            ]
        write_records(root / system / "results.jsonl", found)
        runs.append(root / system)
    return load_results(runs)


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    return make_results(tmp_path_factory.mktemp("one"), 1)


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    return make_results(tmp_path_factory.mktemp("few"), 3, MORE)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    return make_results(tmp_path_factory.mktemp("many"), 19, MORE)


def drawn(function, results):
    """A figure in the common style."""
    return draw("x", lambda: function(results))


def curves(axis):
    """The lines of attackers by colour."""
    return [line for line in axis.lines if line.get_marker() not in ("None", "", None)]


def legend_texts(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


@pytest.mark.parametrize("name", FIGURES)
@pytest.mark.parametrize("size", ["one", "few", "many"])
def test_no_text_collides_is_cut_or_small(request, name, size):
    figure = draw(name, lambda: FIGURES[name](request.getfixturevalue(size)))
    per_metric = name.startswith("legal_")
    if (name == "legal" and size == "many") or (per_metric and size != "many"):
        assert figure is None
        return
    assert faults(figure) == []
    assert figure.get_figwidth() <= 7.2


def test_the_figure_of_the_paper_has_its_rows_and_columns_and_both_levels(one):
    figure = drawn(legal_charts.legal_curves, one)
    panels = [axis for axis in figure.axes if axis.axison]
    assert [axis.get_title(loc="left") for axis in panels[:3]] == ["L = 1", "L = 3", "L = 30"]
    assert len(panels) == 9
    assert [panels[k].get_ylabel() for k in (0, 3, 6)] == ["Singling out, %", "Linkability, %", "1-EER (ROCCH), %"]
    assert legend_texts(figure) == [
        "unprotected (Original)",
        "ignorant",
        "lazy-informed",
        "semi-informed (Informed)",
        "trivial attacker of the paper",
        "chance of this protocol",
    ]
    levels = [tuple(line.get_ydata()) for line in panels[0].lines if line not in curves(panels[0])]
    assert np.array(levels) == pytest.approx(np.array([[100 * exp(-1)] * 3, [35] * 3]))
    link = [tuple(line.get_ydata()) for line in panels[3].lines if line not in curves(panels[3])]
    assert link[0] == pytest.approx((20, 10, 6.25)) and len(link[1]) == 0
    assert "37 % (1/e) in singling out, 1/N in linkability, 50 % in 1 − EER" in figure.get_supxlabel()


def test_a_panel_without_numbers_is_left_out(one):
    figure = drawn(legal_charts.legal_curves, legal_charts.choose_utts(one, "3,all"))
    shown = [axis for axis in figure.axes if axis.axison]
    assert len(figure.axes) == 6 and len(shown) == 5
    titles = [axis.get_title(loc="left") for axis in shown]
    assert titles == ["L = 3", "", "all utterances", "", ""]
    assert not any(text.get_text() == "not measured" for axis in figure.axes for text in axis.texts)
    assert legal_charts.singling_out_curves(replace(one, utts=("all",))) is None


def test_columns_are_those_of_the_paper_or_what_was_measured(tmp_path, one):
    other = make_results(tmp_path, 1, lengths=(2, 5))
    assert legal_charts.shown_utts(other, other.select("linkability")) == [2, 5]
    assert legal_charts.shown_utts(one, one.select("linkability")) == [1, 3, 30]
    with pytest.raises(InputError, match="no legal metrics with L = 7; there are L = 1, 3, 30, all"):
        legal_charts.choose_utts(one, "7")
    with pytest.raises(InputError, match="--utts x"):
        legal_charts.choose_utts(one, "x")


def test_every_attacker_has_a_curve_told_apart_by_its_line(few):
    figure = drawn(legal_charts.legal_curves, few)
    first = curves(figure.axes[0])
    assert len(first) == 1 + len(ATTACKS) + len(MORE)
    looks = [(line.get_color(), str(line._dash_pattern), line.get_marker()) for line in first]
    assert len(set(looks)) == len(looks)
    assert sum(line.get_color() == model_colour("semi-informed") for line in first) == 2
    assert {"lazy-informed, plain", "lazy-informed, other", "semi-informed (Informed), another"} <= set(
        legend_texts(figure)
    )
    # Bands are of the strongest attacker of each of five attack models, and only there.
    assert len(figure.axes[9].collections) == 5


def test_systems_have_rows_of_their_own_with_original_speech_in_each(few):
    figure = drawn(legal_charts.legal_curves, few)
    labels = [axis.get_ylabel().replace("\n", "") for axis in figure.axes if axis.get_ylabel()]
    assert labels == 3 * NAMES[:3]
    linkability = figure.axes[9:18:3]
    for axis in linkability:
        assert any(line.get_color() == model_colour("unprotected") for line in curves(axis))
    values = [tuple(line.get_ydata()) for axis in linkability for line in curves(axis)]
    assert len(set(values)) > 3


def test_many_systems_have_a_row_each(many):
    figure = drawn(legal_charts.linkability_curves, many)
    assert len(figure.axes) == 19 * 3
    assert figure.axes[0].get_title(loc="left") == "Linkability, %: L = 1"
    assert figure.axes[-1].get_xlabel() == "number of speakers N"
    assert figure.axes[0].get_xlabel() == ""


def test_ticks_are_sizes_whose_labels_do_not_collide():
    sizes = [20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 22024]
    ticks = legal_charts._ticks(sizes, True)
    assert ticks[0] == 20 and ticks[-1] == 22024 and set(ticks) < set(sizes)
    assert len(ticks) == 5
    assert np.diff(np.log(ticks)).min() > 0.15 * np.log(22024 / 20)
    assert legal_charts._ticks([5, 10, 20, 38], False) == [5, 10, 20, 38]
    assert legal_charts._ticks([7], False) == [7]


def test_attackers_with_side_information_are_at_their_number_of_candidates(one):
    figure = drawn(legal_charts.side_information, one)
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["Linkability, %: L = 1"]
    hollow = [line for line in curves(figure.axes[0]) if line.get_markerfacecolor() == "none"]
    assert {line.get_xdata()[0] for line in hollow} == {8.0} and len(hollow) == 4
    assert "the attacker knows gender (2 groups)" in figure.get_supxlabel()


def test_distributions_count_the_speakers_up_to_a_probability(one):
    figure = drawn(speaker_charts.linkability_distributions, one)
    assert len(figure.axes) == 3
    (axis, *_) = figure.axes
    steps = [line for line in axis.lines if len(line.get_xdata()) == len(SPEAKERS) + 2]
    assert len(steps) == 4
    lazy = next(line for line in steps if line.get_color() == model_colour("lazy-informed"))
    found = np.sort(list(ranked(1, 10).values()))
    assert lazy.get_xdata()[1:-1].tolist() == pytest.approx(found.tolist())
    assert lazy.get_ydata()[:-1].tolist() == pytest.approx((100 * np.arange(17) / 16).tolist())
    assert "linked among N = 10 with" in figure.get_supxlabel()


def test_the_distributions_are_at_the_number_of_speakers_where_speakers_differ_most():
    values = [
        SpeakerValue("linkability", f"s{k}", n, "1", (k / 10) ** power)
        for n, power in ((5, 0), (9, 1), (20, 30))
        for k in range(11)
    ]
    assert speaker_charts._spread(values) == 9
    assert speaker_charts._spread([value._replace(N=4) for value in values[:11]]) == 4


def cells(axis, kind):
    """The overlaps of a matrix in percent, row by row; the first image is of easy speakers."""
    image = axis.images[0 if kind == "easy" else 1].get_array()
    return {(r, c): float(image[r, c]) for r in range(len(image)) for c in range(len(image)) if not image.mask[r, c]}


def test_overlaps_stand_above_and_below_the_diagonal(tmp_path):
    def scores(length, n):
        return ranked({1: 0, 3: 5}[length], n)

    results = make_results(tmp_path, 2, scores=scores, lengths=(1, 3))
    figure = drawn(speaker_charts.jaccard_matrices, results)
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert titles == ["across utterances L", "across attackers", "across systems"]
    by_length, by_attacker, by_system = figure.axes
    one, three = (ranked(seed, 5) for seed in (0, 5))

    def end(values, sign):
        return set(sorted(values, key=lambda spk: sign * values[spk])[:4])

    wanted = {
        kind: len(end(one, sign) & end(three, sign)) / len(end(one, sign) | end(three, sign))
        for kind, sign in (("easy", -1), ("hard", 1))
    }
    assert cells(by_length, "easy") == {(0, 1): pytest.approx(wanted["easy"])}
    assert cells(by_length, "hard") == {(1, 0): pytest.approx(wanted["hard"])}
    # Attackers find the same speakers easy here, systems and original speech as well.
    assert set(cells(by_attacker, "easy").values()) == set(cells(by_system, "hard").values()) == {1.0}
    assert by_system.get_yticklabels()[0].get_text() == "original  1"


def test_lists_that_are_mostly_ties_are_not_drawn_and_the_figure_says_so(one, tmp_path):
    figure = drawn(speaker_charts.jaccard_matrices, one)
    # Original speech is always linked: its lists hold all speakers.
    assert not any("original" in label.get_text() for axis in figure.axes for label in axis.get_yticklabels())
    words = figure.get_supxlabel().replace("\n", " ")
    assert "Left out because they are mostly ties: 4 of 16 lists of easy speakers and 4 of 16 lists of hard" in words
    assert "among N = 5." in words
    tied = make_results(tmp_path, 2, scores=lambda length, n: dict.fromkeys(SPEAKERS, 1.0))
    assert speaker_charts.jaccard_matrices(tied) is speaker_charts.mean_jaccard(tied) is None


def test_the_mean_overlap_has_a_bar_for_every_circumstance_and_kind(few):
    figure = drawn(speaker_charts.mean_jaccard, few)
    (axis,) = figure.axes
    assert len(axis.patches) == 6
    ticks = [label.get_text() for label in axis.get_xticklabels()]
    assert [tick.split("\n")[0] for tick in ticks] == ["across utterances L", "across attackers", "across systems"]
    assert legend_texts(figure) == ["easy to link", "hard to link", "random lists"]


def test_no_figure_is_drawn_from_nothing():
    assert all(function(Results([], [], None)) is None for function in FIGURES.values())


def test_attack_models_have_the_names_of_challenges_and_legal_framework(few):
    assert model_title("similar-system") == "similar-system (Semi-Informed)"
    attacks = Attacks(few.select("linkability"))
    assert attacks.title(Series("x", "semi-informed", "another")) == "semi-informed, another"
    assert attacks.title(Series("x", "ignorant", "plain")) == "ignorant"
    assert attacks.names[0] == ("unprotected", "plain")
