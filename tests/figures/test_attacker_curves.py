from dataclasses import replace

import numpy as np
import pytest
from layout import PAGE, faults
from toy_runs import TRIALS, copied, make_runs

from vpeval.figures import attacker_curves, drawing
from vpeval.figures.run_results import Results, load_results
from vpeval.metrics.score_metrics import dsys
from vpeval.metrics.scores import pool
from vpeval.records.names import SEMI

FUNCTIONS = (attacker_curves.zebra_profiles, attacker_curves.dsys_distributions, attacker_curves.det_curves)
ONE_SET = TRIALS["f"]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """One system under attack of the ignorant, the lazy-informed and the semi-informed attacker."""
    root = tmp_path_factory.mktemp("toy")
    toy = load_results(make_runs(root), root / "data")
    semi = [
        replace(e, attack_model=SEMI, record=replace(e.record, attacker="trained"))
        for e in toy.entries
        if e.record.condition == "aa"
    ]
    calibrated = [
        replace(e, record=replace(e.record, metric="dsys_calibrated", value=0.961))
        for e in toy.entries
        if e.record.metric == "dsys"
    ]
    return replace(toy, entries=[*toy.entries, *semi, *calibrated])


def drawn(function, results):
    return drawing.draw("figure", lambda: function(results))


def panels(figure):
    return [axis for axis in figure.axes if axis.axison]


def texts(axis):
    return [text.get_text() for text in axis.texts]


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize(("systems", "more"), [(1, ["other_encoder"]), (3, ["other_encoder"]), (19, [])])
def test_curves_of_many_systems_and_attackers_can_be_read(results, function, systems, more):
    many = copied(results, systems, more)
    figure = drawn(function, many if systems == 1 else many.of_set(ONE_SET))
    assert faults(figure) == []
    assert figure.get_figwidth() <= PAGE


@pytest.mark.parametrize(("function", "count"), list(zip(FUNCTIONS, (4, 1 + 3 * 3, 3), strict=True)))
def test_every_system_has_a_panel_and_every_score_distribution_one(results, function, count):
    figure = drawn(function, copied(results, 3).of_set(ONE_SET))
    assert len(panels(figure)) == count


@pytest.mark.parametrize(("function", "own"), [(FUNCTIONS[0], 3), (FUNCTIONS[2], 4)])
def test_every_attacker_has_a_curve_told_apart_by_its_line(results, function, own):
    figure = drawn(function, copied(results, 2, ("other",)).of_set(ONE_SET))
    for axis in panels(figure)[-2:]:
        models = drawing.MODEL_COLOURS.values()
        curves = [line for line in axis.lines if line.get_color() in models and len(line.get_xdata()) > 2]
        looks = {(line.get_color(), str(line.get_linestyle()), line._unscaled_dash_pattern) for line in curves}
        assert len(curves) == len(looks) == 2 * own


def test_linkability_has_both_numbers_of_the_tables_by_their_names(results):
    values = {"original": "0.800", "ignorant": "0.300", "lazy-informed": "0.500"}
    shown = {}
    for axis in panels(drawn(attacker_curves.dsys_distributions, results))[:3]:
        shown[axis.get_title(loc="left").replace("unprotected", "original")] = texts(axis)
    assert shown == {name: [f"D_sys {value}", "D_sys, calibrated 0.961"] for name, value in values.items()}


def test_columns_of_score_distributions_are_attacks_and_have_gaps(results):
    many = copied(results, 3)
    gone = [e for e in many.entries if (e.record.system, e.attack_model) != ("toy2", "lazy-informed")]
    figure = drawn(attacker_curves.dsys_distributions, replace(many, entries=gone).of_set(ONE_SET))
    rows = [[axis.axison for axis in figure.axes[k : k + 3]] for k in range(0, len(figure.axes), 3)]
    assert rows == [[True, False, False], [True] * 3, [True] * 3, [True, False, True]]
    titles = [axis.get_title(loc="left") for axis in figure.axes]
    assert [title for title in titles if title] == ["unprotected", "ignorant", "lazy-informed", "semi-informed"]


def test_scores_of_an_attacker_share_an_axis_that_is_not_stretched_by_those_of_another(results):
    original, ignorant, _, trained = drawn(attacker_curves.dsys_distributions, results).axes[:4]
    assert original.get_shared_x_axes().joined(original, ignorant)
    assert not original.get_shared_x_axes().joined(original, trained)


def test_local_linkability_is_what_dsys_integrates():
    rng = np.random.default_rng(1)
    pooled = pool(rng.normal(1, 1, 300), rng.normal(0, 1, 900))
    local, edges = attacker_curves.local_linkability(pooled)
    mass = np.histogram(pooled.score, edges, weights=pooled.targets)[0] / 300
    inside = local * mass
    assert inside.sum() - (inside[0] + inside[-1]) / 2 == pytest.approx(dsys(pooled))


def test_profiles_have_the_numbers_of_zebra_above_them(results):
    figure = drawn(attacker_curves.zebra_profiles, results.of_set(ONE_SET))
    original, system = panels(figure)
    assert texts(original) == ["(0.600, 1.50, B)"]
    assert texts(system) == ["(0.200, 1.50, B)", "(0.400, 1.50, B)", "(0.400, 1.50, B)"]


def test_det_points_beyond_the_axes_do_not_break_the_curve(results):
    for axis in drawn(attacker_curves.det_curves, results).axes:
        for line in axis.lines:
            assert np.isfinite(np.asarray(line.get_xydata(), dtype=float)).all()


def test_panels_above_a_gap_have_the_labels_of_the_lowest_ones(results):
    figure = drawn(attacker_curves.det_curves, copied(results, 7).of_set(ONE_SET))
    labelled = [axis.xaxis.get_tick_params()["labelbottom"] for axis in panels(figure)]
    assert labelled == [False, False, False, True, True, True, True]


def log(*losses):
    return [{"epoch": k, "train_loss": loss, "seconds": 9} for k, loss in enumerate(losses, 1)]


def test_training_curves_have_a_panel_for_every_quantity():
    rows = [{"epoch": 1, "train_loss": 3}, {"epoch": 2, "train_loss": 2, "valid_loss": 2.5}]
    (axis,) = drawn(attacker_curves.training_curves, {"cosine": rows}).axes
    assert axis.get_title(loc="left") == "loss"
    assert [list(line.get_ydata()) for line in axis.lines] == [[3, 2], [2.5]]


@pytest.mark.parametrize("systems", [1, 3, 19])
def test_trainings_on_many_systems_have_rows(systems):
    logs = {f"{name}-system{k}": log(3, 2) for name in ("finetune", "scratch") for k in range(systems)}
    figure = drawn(attacker_curves.training_curves, logs)
    assert faults(figure) == []
    assert len(figure.axes) == (1 if systems < 5 else systems)
    if systems == 19:
        assert [axis.get_ylabel() for axis in figure.axes] == [f"system{k}" for k in range(19)]
        assert all(len({line.get_color() for line in axis.lines}) == 2 for axis in figure.axes)


def test_the_training_of_one_attacker_is_saved_as_a_picture(tmp_path):
    rows = [{"epoch": e, "train_loss": 1 / e, "train_error": 0.5, "valid_loss": 2 / e} for e in (1, 2, 3)]
    attacker_curves.save_training("mine", rows, tmp_path / "epochs")
    assert (tmp_path / "epochs.png").read_bytes().startswith(b"\x89PNG")


def test_published_numbers_without_curves_are_no_panels(results):
    bare = [replace(e, record=replace(e.record, notes={}, system="paper")) for e in results.entries]
    empty = Results(bare, [], results.data)
    assert [drawn(function, empty) for function in FUNCTIONS] == [None, None, None]
