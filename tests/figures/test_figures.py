import io
import re
from dataclasses import replace

import matplotlib
import numpy as np
import pytest
from matplotlib.patches import Rectangle
from toy_runs import make_runs, write_attributes, write_table

from vpeval.figures import attacker_curves, drawing, similarity_charts
from vpeval.figures.attacker_curves import save_training
from vpeval.figures.catalogue import CATALOGUE
from vpeval.figures.run_results import Results, load_results
from vpeval.metrics.score_metrics import dsys
from vpeval.metrics.scores import pool

LOG = '{"epoch": 1, "train_loss": 3, "seconds": 9}\n{"epoch": 2, "train_loss": 2, "valid_loss": 2.5}\n'


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    root = tmp_path_factory.mktemp("toy")
    (root / "epochs.jsonl").write_text(LOG)
    runs = make_runs(root)
    for run, system, condition in zip(runs, ("original", "toy"), ("oo", "aa"), strict=True):
        tags = {"recipe": "toy", "system": system, "condition": condition, "attacker": "cosine", "set": "toy_all"}
        write_attributes(run, tags)
        write_table(run)
    return load_results(runs, root / "data", {"cosine": root / "epochs.jsonl"})


@pytest.fixture(scope="module")
def figures(results):
    """All figures by name."""
    return {plot.name: plot.draw(results, "2020") for plot in CATALOGUE}


def find(name):
    return next(plot for plot in CATALOGUE if plot.name == name)


def heights(axis):
    return [patch.get_height() for patch in axis.patches if isinstance(patch, Rectangle)]


def test_the_catalogue_has_unique_names_and_sentences():
    names = [plot.name for plot in CATALOGUE]
    assert len(set(names)) == len(names)
    assert all(plot.caption("2024").endswith(".") for plot in CATALOGUE)


def test_every_figure_of_a_whole_run_is_drawn(figures):
    missing = [name for name, figure in figures.items() if figure is None]
    # Those need listeners, more systems, or encoders of other kinds.
    others = ("listening", "legal_", "eer_attacks", "srd_", "similarity_encoders")
    assert [name for name in missing if not name.startswith(others)] == []


def test_no_figure_is_drawn_from_nothing():
    empty = Results([], [], None)
    assert all(plot.draw(empty, "2020") is None for plot in CATALOGUE)


def test_rank_histograms_show_shares_of_inputs(figures):
    figure = figures["srd"]
    assert heights(figure.axes[0]) == pytest.approx(np.array([12, 6, 3, 2, 1, 0]) / 24)
    edges = figure.axes[0].collections[0].get_paths()[0].vertices[:, 1]
    # 24 inputs, uniform over 6 ranks: a rank has from 1 to 8 of them with 95 %.
    assert (24 * edges.min(), 24 * edges.max()) == pytest.approx((1, 8))


def test_attackers_have_rows_of_rank_histograms_and_systems_stand_side_by_side(results):
    of = [entry for entry in results.entries if entry.record.metric.startswith("srd")]
    more = [
        replace(entry, record=replace(entry.record, attacker="f0").with_notes({"representation": "f0"})) for entry in of
    ]
    figure = similarity_charts.rank_histograms(Results([*results.entries, *more], results.tables, results.data))
    shown = [axis.get_title() for axis in figure.axes if axis.axison]
    half = len(shown) // 2
    assert len(shown) == 2 * len({entry.series for entry in of})
    assert all(title.startswith("f0\n") for title in shown[half:])
    assert not any(title.startswith("f0\n") for title in shown[:half])


def test_a_rank_histogram_needs_the_file_with_the_ranks(results):
    without = [e for e in results.entries if not e.record.metric.startswith("srd")]
    assert similarity_charts.rank_histograms(Results(without, results.tables, results.data)) is None


def test_training_curves_have_a_panel_for_every_quantity(figures):
    (axis,) = figures["training"].axes
    assert axis.get_title(loc="left") == "loss"
    assert [list(line.get_ydata()) for line in axis.lines] == [[3, 2], [2.5]]


@pytest.mark.parametrize(
    ("metric", "weaker", "stronger"),
    [("zebra_population", 0.01, 0.5), ("dsys", 0.01, 0.9), ("linkability", 0.01, 0.99), ("eer_kaldi", 0.5, 0.0)],
)
def test_of_attackers_with_the_same_attack_model_the_strongest_is_shown(results, metric, weaker, stronger):
    entries = [entry for entry in results.entries if entry.record.metric == metric]
    lazy = next(entry for entry in entries if entry.attack_model == "lazy-informed")
    weak, strong = (
        replace(lazy, record=replace(lazy.record, attacker=name, value=value))
        for name, value in (("weak", weaker), ("strong", stronger))
    )
    kept = results.strongest([*entries, weak, strong])
    assert {entry.record.attacker for entry in kept if entry.series[:2] == lazy.series[:2]} == {"strong"}
    assert {entry.attack_model for entry in kept} == {entry.attack_model for entry in entries}


def test_local_linkability_is_what_dsys_integrates():
    rng = np.random.default_rng(1)
    pooled = pool(rng.normal(1, 1, 300), rng.normal(0, 1, 900))
    local, edges = attacker_curves.local_linkability(pooled)
    mass = np.histogram(pooled.score, edges, weights=pooled.targets)[0] / 300
    inside = local * mass
    assert inside.sum() - (inside[0] + inside[-1]) / 2 == pytest.approx(dsys(pooled))


def test_scores_of_an_attacker_share_an_axis_that_is_not_stretched_by_those_of_another(results):
    entries = [
        replace(e, record=replace(e.record, attacker="other")) if e.record.condition == "aa" else e
        for e in results.entries
    ]
    original, ignorant, other = find("dsys").draw(Results(entries, results.tables, results.data), "2020").axes[:3]
    assert original.get_shared_x_axes().joined(original, ignorant)
    assert not original.get_shared_x_axes().joined(original, other)


def test_files_are_the_same_on_every_run(results, tmp_path):
    for place in ("one", "two"):
        drawing.save(find("jaccard_mean").draw(results, "2020"), tmp_path / place, "jaccard_mean")
    for kind in drawing.FORMATS:
        one, two = ((tmp_path / place / f"jaccard_mean.{kind}").read_bytes() for place in ("one", "two"))
        assert one == two
        assert not re.search(rb"20\d\d-\d\d-\d\d|CreationDate", one)


def test_colours_of_figures_follow_a_dark_page(figures):
    text = io.StringIO()
    with matplotlib.rc_context(drawing.rc("eer")):
        figures["eer"].savefig(text, format="svg")
    assert set(re.findall("#[0-9a-f]{6}", text.getvalue())) <= set(drawing.dark_colours())


def test_a_speaker_without_a_diagonal_cell_is_masked(figures):
    cells = figures["similarity_matrices"].axes[2].images[0].get_array()
    assert np.argwhere(cells.mask).tolist() == [[2, 2]]


def test_det_points_beyond_the_axes_do_not_break_the_curve(figures):
    for axis in figures["det"].axes:
        for line in axis.lines:
            assert np.isfinite(np.asarray(line.get_xydata(), dtype=float)).all()


def test_the_training_of_one_attacker_is_saved_as_a_picture(tmp_path):
    rows = [{"epoch": e, "train_loss": 1 / e, "train_error": 0.5, "valid_loss": 2 / e} for e in (1, 2, 3)]
    save_training("mine", rows, tmp_path / "epochs")
    assert (tmp_path / "epochs.png").read_bytes().startswith(b"\x89PNG")


def test_a_dollar_in_the_name_of_a_system_is_a_dollar(tmp_path):
    runs = [*make_runs(tmp_path, r"$\frac$"), make_runs(tmp_path, "b")[1]]
    results = load_results(runs, tmp_path / "data")
    figure = find("eer").draw(results, "2020")
    buffer = io.StringIO()
    with matplotlib.rc_context(drawing.rc("eer")):
        figure.savefig(buffer, format="svg")
    assert r"$\frac$" in buffer.getvalue()
