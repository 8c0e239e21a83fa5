"""Bars show the values of records, systems in the order of the supplement, and what a reader must know."""

import math
from dataclasses import replace

import numpy as np
import pytest
from many_systems import SUPPLEMENT, entry, make_results, system_names
from matplotlib.colors import to_hex
from matplotlib.patches import Rectangle

from vpeval.figures.catalogue import CATALOGUE
from vpeval.figures.drawing import model_colour
from vpeval.figures.run_results import Results, load_results
from vpeval.figures.system_axis import short_names
from vpeval.records.names import IGNORANT, LAZY, ORIGINAL, SEMI


def draw(name, results, edition="2020"):
    return next(plot for plot in CATALOGUE if plot.name == name).draw(results, edition)


def heights(axis):
    return [bar.get_height() for bar in bars(axis)]


def bars(axis):
    return [patch for patch in axis.patches if isinstance(patch, Rectangle)]


def names(axis):
    return [label.get_text() for label in axis.get_xticklabels()]


def title(axis):
    return axis.get_title(loc="left")


def values(results, metric, *, scale=100, **tags):
    return [
        scale * e.record.value
        for e in results.select(metric)
        if all(getattr(e.record, name) == value for name, value in tags.items())
    ]


def notes(figure):
    return figure.get_supxlabel()


@pytest.fixture
def three():
    return make_results(3)


def test_bars_are_the_values_of_the_test_sets_with_their_intervals(three):
    figure = draw("eer", three)
    assert [title(axis) for axis in figure.axes] == ["toy test, female", "toy test, male"]
    for axis, gender in zip(figure.axes, "fm", strict=True):
        wanted = values(three, "eer_kaldi", set=f"toy_test_trials_{gender}")
        assert sorted(heights(axis)) == pytest.approx(sorted(wanted))
        ends = [line.get_ydata() for line in axis.lines if line.get_xdata()[0] == line.get_xdata()[-1]]
        assert np.array(sorted(map(tuple, ends))) == pytest.approx(np.array(sorted((v - 2, v + 2) for v in wanted)))
        assert any(list(line.get_ydata()) == [50, 50] for line in axis.lines)


def test_sets_of_development_are_shown_where_there_are_no_others(three):
    dev = [e for e in three.entries if "_dev_" in e.record.set]
    assert [title(axis) for axis in draw("eer", replace(three, entries=dev)).axes] == [
        "toy dev, female",
        "toy dev, male",
    ]


@pytest.mark.parametrize("metric", ["eer_kaldi", "min_cllr"])
def test_systems_are_ordered_by_female_speakers_and_the_lazy_informed_attack(metric):
    results = make_results(7)
    figure = draw("eer" if metric == "eer_kaldi" else metric, results)
    lazy = {
        e.record.system: e.record.value
        for e in results.select(metric)
        if e.attack_model == LAZY and e.record.set == "toy_test_trials_f"
    }
    wanted = short_names([ORIGINAL, *sorted(lazy, key=lazy.__getitem__)])
    assert [names(axis) for axis in figure.axes] == [list(wanted.values())] * 2
    assert "order of their values for female speakers, lazy-informed" in notes(figure)


def test_without_a_lazy_informed_attack_on_all_systems_the_strongest_common_one_orders(three):
    some = [e for e in three.entries if (e.record.system, e.attack_model) != (system_names(3)[0], LAZY)]
    assert "female speakers, semi-informed" in notes(draw("eer", replace(three, entries=some)))


def test_attack_models_have_their_colours_and_no_legend_names_systems(three):
    figure = draw("eer", three)
    found = {to_hex(bar.get_facecolor()) for bar in bars(figure.axes[0])}
    assert {model_colour(model) for model in (IGNORANT, LAZY, SEMI)} < found
    labels = [text.get_text() for text in figure.legends[0].get_texts()]
    assert labels == ["original", "ignorant", "lazy-informed", "semi-informed", "chance"]


def test_published_numbers_have_no_whiskers_and_are_marked():
    results = make_results(3, published=1)
    figure = draw("eer", results)
    (marked,) = [name for name in names(figure.axes[0]) if name.endswith("†")]
    assert marked == f"{system_names(3)[2]}†"
    assert "† As published, without interval." in notes(figure)
    whiskers = [line for line in figure.axes[0].lines if line.get_xdata()[0] == line.get_xdata()[-1]]
    assert len(whiskers) == len(bars(figure.axes[0])) - 3


def test_different_attackers_of_systems_are_named(three):
    one, two, _ = system_names(3)
    other = [
        replace(e, record=replace(e.record, attacker="weak"))
        if (e.record.system, e.attack_model) == (one, IGNORANT)
        else e
        for e in three.entries
    ]
    assert f"Attackers differ, ignorant: orig ({two}, " in notes(draw("eer", replace(three, entries=other)))
    assert "Attackers differ" not in notes(draw("eer", three))


def test_numbers_made_for_listeners_are_not_among_the_bars(three):
    more = [
        replace(e, record=replace(e.record, value=0.99, params={"kind": "objective"}))
        for e in three.entries
        if e.record.metric == "eer_kaldi"
    ]
    results = replace(three, entries=[*three.entries, *more])
    for name in ("eer", "eer_mean", "eer_attacks"):
        assert max(map(max, map(heights, draw(name, results).axes))) < 90


@pytest.mark.parametrize("edition", ["2020", "2022", "2024", "2026"])
def test_the_bars_are_of_the_eer_of_the_edition(three, edition):
    metric = "eer_threshold" if edition > "2022" else "eer_kaldi"
    shift = [
        replace(e, record=replace(e.record, value=e.record.value + 0.1)) if e.record.metric == "eer_threshold" else e
        for e in three.entries
    ]
    results = replace(three, entries=shift)
    label = "EER (threshold)" if edition > "2022" else "EER (Kaldi)"
    wanted = sorted(values(results, metric, set="toy_test_trials_f"))
    assert sorted(heights(draw("eer", results, edition).axes[0])) == pytest.approx(wanted)
    for plot in (plot for plot in CATALOGUE if plot.uses_eer):
        assert f"{label}, the EER of VoicePrivacy {edition}," in plot.caption(edition)
        axes = plot.draw(results, edition).axes
        labels = {text for axis in axes for text in (axis.get_xlabel(), axis.get_ylabel()) if "EER" in text}
        assert labels and all(label in text for text in labels)


@pytest.mark.parametrize("name", ["eer", "eer_mean"])
def test_no_whisker_and_no_label_is_clipped(three, name):
    high = [
        replace(e, record=replace(e.record, value=0.62, upper=0.91)) if e.record.metric == "eer_kaldi" else e
        for e in three.entries
    ]
    for axis in draw(name, replace(three, entries=high)).axes:
        top = axis.get_ylim()[1]
        assert all(np.max(line.get_ydata()) < top for line in axis.lines)
        area = axis.get_window_extent()
        assert all(label.get_window_extent().y1 <= area.y1 for label in axis.texts)


def test_the_mean_over_all_sets_is_taken_for_women_and_men_apart(three):
    figure = draw("eer_mean", three)
    assert [title(axis) for axis in figure.axes] == ["female", "male"]
    name = system_names(3)[0]
    wanted = np.mean(
        [e.record.value for e in three.select("eer_kaldi") if e.series[:2] == (name, LAZY) and e.record.gender == "f"]
    )
    assert any(height == pytest.approx(100 * wanted) for height in heights(figure.axes[0]))
    assert len(heights(figure.axes[0])) == 1 + 3 * 3
    dots = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert {len(line.get_xdata()) for line in dots} == {2}


def test_attacks_are_nested_and_systems_without_the_strongest_are_named(three):
    first, *others = system_names(3)
    some = [e for e in three.entries if (e.record.system, e.attack_model) != (first, SEMI)]
    figure = draw("eer_attacks", replace(three, entries=some))
    axis = figure.axes[0]
    assert set(names(axis)) == set(others)
    for k in range(2):
        own = bars(axis)[3 * k : 3 * k + 3]
        assert len({round(bar.get_x() + bar.get_width() / 2, 6) for bar in own}) == 1
        assert own[0].get_width() > own[1].get_width() > own[2].get_width()
    (original,) = values(three, "eer_kaldi", system=ORIGINAL, set="toy_test_trials_f")
    assert any(list(line.get_ydata()) == pytest.approx([original] * 2) for line in axis.lines)
    assert f"no semi-informed attack was made on them: {first}." in notes(figure)


def test_one_system_has_no_figure_of_nested_attacks():
    assert draw("eer_attacks", make_results(1)) is None


def test_similarities_are_ordered_by_male_speakers():
    results = make_results(3)
    for name in ("g_vd", "deid"):
        male = {e.record.system: e.record.value for e in results.select(name) if e.record.set == "toy_test_trials_m"}
        figure = draw(name, results)
        assert names(figure.axes[0]) == names(figure.axes[1]) == sorted(male, key=male.__getitem__)
        assert "order of their values for male speakers" in notes(figure)


def test_of_two_modes_the_challenges_is_drawn(three):
    more = [
        replace(e, record=replace(e.record, value=0.6, params={"mode": "vpc"}))
        for e in three.entries
        if e.record.metric == "deid"
    ]
    figure = draw("deid", replace(three, entries=[*three.entries, *more]))
    assert heights(figure.axes[1]) == pytest.approx([60, 60, 60])


def test_an_infinite_gain_has_a_label_and_no_bar(three):
    infinite = [
        replace(e, record=replace(e.record, value=-math.inf, lower=-math.inf)) if e.record.metric == "g_vd" else e
        for e in three.entries
    ]
    figure = draw("g_vd", replace(three, entries=infinite))
    assert heights(figure.axes[0]) == []
    assert {text.get_text() for text in figure.axes[0].texts} == {"−∞"}


def test_inference_has_a_panel_for_every_attribute_and_number_of_utterances():
    entries = [
        replace(e, record=replace(e.record, params={"attribute": attribute, "L": length, "classes": 2}))
        for attribute in ("age", "gender")
        for length in (1, 3, "all")
        for e in [
            entry("inference_bits", 0.5, 0.1, {"entropy": 1.0}, IGNORANT, system="toy", attacker="a", condition="oa")
        ]
    ]
    figure = draw("inference", Results(entries, [], None))
    assert [title(axis) for axis in figure.axes] == [
        "age, L = 1",
        "age, all utterances",
        "gender, L = 1",
        "gender, all utterances",
    ]
    assert all(heights(axis) == [0.5] for axis in figure.axes)


def test_figure_1_of_the_supplement_has_its_values_and_its_order():
    if not SUPPLEMENT.is_file():
        pytest.skip("needs the tables of the supplement")
    results = load_results([SUPPLEMENT])
    axis = draw("eer", results).axes[0]
    assert title(axis) == "libri test, female"
    rows = [line.split("\t") for line in SUPPLEMENT.read_text().splitlines()[1:]]
    table = {
        (row[5], row[7]): float(row[8])
        for row in rows
        if row[1:5] == ["test", "LibriSpeech", "female", "eer"] and not row[6]
    }
    systems = sorted({system for _, system in table} - {"Orig"}, key=lambda system: table["lazy-informed", system])
    assert names(axis) == ["original", *systems]
    wanted = [table["ignorant", "Orig"]]
    wanted += [table[model, s] for s in systems for model in (IGNORANT, LAZY, SEMI) if (model, s) in table]
    assert heights(axis) == pytest.approx(wanted)
