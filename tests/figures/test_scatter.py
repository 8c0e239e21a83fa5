"""Points are pairs of numbers of the same system, set and attack."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from many_systems import SUPPLEMENT, make_results, points, system_names

from vpeval.figures.catalogue import CATALOGUE
from vpeval.figures.run_results import load_results
from vpeval.figures.scatter import privacy_utility, spread
from vpeval.records.names import IGNORANT, LAZY, NO_COST, ORIGINAL, UNPROTECTED

PAIRS = {
    "eer_min_cllr": ("eer_kaldi", "min_cllr"),
    "dsys_min_cllr": ("dsys", "min_cllr"),
    "eer_cllr": ("eer_kaldi", "cllr"),
    "eer_dsys": ("eer_kaldi", "dsys"),
    "zebra_population_min_cllr": ("zebra_population", "min_cllr"),
    "zebra_individual_min_cllr": ("zebra_individual", "min_cllr"),
}


def draw(name, results):
    return next(plot for plot in CATALOGUE if plot.name == name).draw(results, "2020")


def pairs(results, x, y, model):
    """The values of two metrics under an attack model, and those of original speech."""
    scale = 100 if x == "eer_kaldi" else 1
    found = {(e.record.set, e.series): e.record.value for e in results.select(y)}
    return sorted(
        (scale * e.record.value, found[e.record.set, e.series])
        for e in results.select(x)
        if e.attack_model in (model, UNPROTECTED)
    )


@pytest.fixture(scope="module")
def three():
    return make_results(3)


@pytest.mark.parametrize("name", PAIRS)
def test_a_panel_has_the_pairs_of_an_attack_model_and_of_original_speech(three, name):
    figure = draw(name, three)
    assert [axis.get_title(loc="left") for axis in figure.axes] == ["ignorant", "lazy-informed", "semi-informed"]
    for axis in figure.axes:
        wanted = pairs(three, *PAIRS[name], axis.get_title(loc="left"))
        assert np.array(points(axis)) == pytest.approx(np.array(wanted))
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == [ORIGINAL, *system_names(3)]


def test_systems_differ_in_colour_or_marker(three):
    axis = draw("eer_min_cllr", three).axes[0]
    assert len({(line.get_color(), line.get_marker()) for line in axis.lines}) == 4


def test_deid_is_compared_with_the_ignorant_attacker_whatever_its_name(three):
    figure = draw("deid_metrics", three)
    assert [axis.get_ylabel() for axis in figure.axes] == [
        "G_VD, dB",
        "EER (Kaldi), % (ignorant)",
        "min Cllr, bit (ignorant)",
    ]
    deid = {(e.record.system, e.record.set): 100 * e.record.value for e in three.select("deid")}
    for axis, metric, scale in zip(figure.axes, ("g_vd", "eer_kaldi", "min_cllr"), (1, 100, 1), strict=True):
        wanted = [
            (deid[e.record.system, e.record.set], scale * e.record.value)
            for e in three.select(metric)
            if e.attack_model in ("", IGNORANT)
        ]
        assert np.array(points(axis)) == pytest.approx(np.array(sorted(wanted)))


def costless(entry):
    return replace(entry, record=entry.record.with_notes({NO_COST: "cosines"}))


def test_a_cllr_of_cosines_is_left_out_with_a_note_and_the_figure_stays(three):
    entries = [costless(e) if e.record.metric == "cllr" and e.attack_model == LAZY else e for e in three.entries]
    figure = draw("eer_cllr", replace(three, entries=entries))
    assert "Left out: Cllr of orig, as cosines are no log-likelihood ratios." in figure.get_supxlabel()
    assert {len(points(axis)) for axis in figure.axes if axis.get_title(loc="left") != LAZY} == {16}
    assert len(points(figure.axes[1])) == 4  # original speech
    every = [costless(e) if e.record.metric == "cllr" else e for e in three.entries]
    assert [points(axis) for axis in draw("eer_cllr", replace(three, entries=every)).axes] == [[], [], []]


def test_an_attacker_with_a_cost_is_shown_instead_of_a_stronger_one_without(three):
    entries = list(three.entries)
    for e in three.entries:
        if e.attack_model == IGNORANT and e.record.metric in ("eer_kaldi", "cllr"):
            value = 0.01 if e.record.metric == "eer_kaldi" else e.record.value
            other = replace(e, record=replace(e.record, attacker="cosine", value=value))
            entries.append(costless(other) if e.record.metric == "cllr" else other)
    figure = draw("eer_cllr", replace(three, entries=entries))
    assert points(figure.axes[0]) == points(draw("eer_cllr", three).axes[0])
    assert "Left out" not in figure.get_supxlabel()


def test_published_linkability_decides_which_estimator_all_systems_have(three):
    own = [
        replace(e, record=replace(e.record, metric="dsys_calibrated"))
        for e in three.entries
        if e.record.metric == "dsys" and e.record.system != system_names(3)[0]
    ]
    assert replace(three, entries=[*three.entries, *own]).dsys == "dsys"
    alone = [e for e in three.entries if e.record.system != system_names(3)[0]]
    assert replace(three, entries=[*alone, *own]).dsys == "dsys_calibrated"


def test_the_plane_marks_the_interval_of_the_cost_at_the_strongest_attack():
    (axis,) = privacy_utility(make_results(2).records, "2020").axes
    costs = [container for container in axis.containers if len(container.lines[2]) == 2]
    assert len(costs) == 3  # original speech and two systems
    values = sorted(float(container.lines[0].get_ydata()[0]) for container in axis.containers)
    shown = sorted(float(container.lines[0].get_ydata()[0]) for container in costs)
    assert shown == values[:3]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20).map(sorted), st.floats(0.01, 0.05))
def test_names_move_apart_inside_the_plane_and_keep_their_order(places, room):
    found = spread(places, [room] * len(places))
    assert all(b - a >= room - 1e-9 for a, b in pairwise(found))
    assert found[0] >= room / 2 - 1e-9 and found[-1] <= 1 - room / 2 + 1e-9
    apart = all(b - a >= room for a, b in pairwise(places))
    if apart and places[0] >= room / 2 and places[-1] <= 1 - room / 2:
        assert found == pytest.approx(places)


def test_figures_17_to_23_of_the_supplement_have_all_its_points():
    if not SUPPLEMENT.is_file():
        pytest.skip("needs the tables of the supplement")
    results = load_results([SUPPLEMENT])
    for name in PAIRS:
        assert [len(points(axis)) for axis in draw(name, results).axes] == [19 * 12, 19 * 12, 7 * 12]
    assert [len(points(axis)) for axis in draw("deid_metrics", results).axes] == [18 * 12] * 3
