"""Significance tables of listening tests: cells, colours and arrows; they compile."""

import re

import pytest
from test_latex import compile_tables, needs_latex
from tex_tables import read_tables

from vpeval.listening.ratings import ALPHA, GROUPS
from vpeval.records.record import Record
from vpeval.results import latex_supplement
from vpeval.results.latex import write_latex
from vpeval.results.latex_listening import COLOURS, significance_tables

SYSTEMS = ("original", "B1", "b_2")
P = {("original", "B1"): (0.00001, 0.0002), ("original", "b_2"): (0.0057, 0.03), ("B1", "b_2"): (0.66, 1.0)}
"""p before and after the correction: below the level after it, before it only, and not at all."""


def heard(systems=SYSTEMS, p=P, alpha=ALPHA, **notes):
    """Records of a listening test in which every system is rated 0.1 lower than the one before."""
    means = [
        Record(f"listening_{g}", 0.5, params={"scores": "normalised rank"}, system=s) for g in GROUPS for s in systems
    ]
    found = []
    for group in GROUPS:
        for (versus, system), (p_value, p_holm) in p.items():
            difference = 0.1 * (systems.index(versus) - systems.index(system))
            own = {"p_value": p_value, "p_holm": p_holm, "alpha": alpha, **notes}
            params = {"group": group, "versus": versus}
            found.append(Record("listening_difference", difference, params=params, notes=own, system=system))
    return [*means, *found]


def rows(text):
    """The cells of every row of the first block, by the name in front."""
    _, title, *lines = read_tables(text)[0]
    assert title[0].startswith("(a)")
    block = lines[: next(k for k, line in enumerate(lines) if line[0].startswith("(b)"))]
    return {first: rest for first, *rest in block}


def test_a_cell_has_the_p_value_an_arrow_and_the_colour_of_what_it_shows():
    found = significance_tables(heard())
    assert list(found) == ["significance_similarity", "significance_quality"]
    strong, weak, none = (rf"\cellcolor[HTML]{{{colour}}}" for colour in COLOURS.values())
    up, down = r"\,$\uparrow$", r"\,$\downarrow$"
    assert rows(found["significance_similarity"]) == {
        "original": ["", rf"{strong}$\ll$0.01{up}", f"{weak}0.0057{up}"],
        "B1": [rf"{strong}$\ll$0.01{down}", "", f"{none}0.660{up}"],
        r"b\_2": [f"{weak}0.0057{down}", f"{none}0.660{down}", ""],
    }


def test_the_level_is_that_of_the_analysis():
    text = significance_tables(heard(alpha=0.05))["significance_quality"]
    assert rows(text)["original"][2].startswith(rf"\cellcolor[HTML]{{{COLOURS['significant']}}}")
    assert "level 0.05" in text


def test_both_blocks_of_a_table_are_there():
    found = significance_tables(heard())
    titles = [re.findall(r"\{\((.)\) (.+?)\}", text) for text in found.values()]
    assert titles == [
        [("a", "Similarity, same speaker"), ("b", "Similarity, different speakers")],
        [("a", "Naturalness"), ("b", "Intelligibility")],
    ]


def test_long_names_of_many_systems_are_turned():
    systems = ("original", *(f"system_{k}" for k in range(9)))
    pairs = {(a, b): (0.1, 1.0) for i, a in enumerate(systems) for b in systems[i + 1 :]}
    (table,) = read_tables(significance_tables(heard(systems, pairs))["significance_quality"])
    assert table[0][1:3] == [r"\rotatebox{90}{original}", r"\rotatebox{90}{system\_0}"]
    assert len(table) == 1 + 2 * (1 + len(systems))


def test_systems_without_ratings_among_the_records_are_left_out():
    single = [record for record in heard() if record.system != "B1"]
    assert list(rows(significance_tables(single)["significance_quality"])) == ["original", r"b\_2"]
    assert significance_tables([record for record in heard() if record.system == "B1"]) == {}


def test_simulated_listeners_are_named_in_print():
    assert "SIMULATED" not in significance_tables(heard())["significance_quality"]
    text = significance_tables(heard(listeners="SIMULATED"))["significance_quality"]
    assert r"\caption{\textbf{SIMULATED listeners" in text
    place = {"system": "B1", "set": "libri_test_trials_f", "gender": "f", "condition": "oa", "attacker": "listeners"}
    for notes in ({}, {"listeners": "SIMULATED"}):
        eer = Record("listening_eer", 0.3, params={"estimator": "eer_threshold"}, notes=notes, **place)
        assert ("SIMULATED" in latex_supplement.tables([eer])["supplement_18"]) == bool(notes)


def test_tables_of_a_run_include_those_of_its_listeners(tmp_path):
    asv = Record("eer_kaldi", 0.1, system="B1", set="libri_test_trials_f", gender="f", condition="aa")
    names = [path.name for path in write_latex([asv, *heard()], tmp_path, "2020")]
    assert {"results.significance_similarity.tex", "results.significance_quality.tex"} <= set(names)
    assert not any("significance" in path.name for path in write_latex([asv], tmp_path / "without", "2020"))


@needs_latex
@pytest.mark.parametrize("count", [2, 20])
def test_the_tables_compile(count, tmp_path):
    systems = ("original", *(f"system_{k}" for k in range(1, count)))
    pairs = {(a, b): (0.001 * i, 0.01 * j) for i, a in enumerate(systems) for j, b in enumerate(systems) if i < j}
    assert compile_tables(list(significance_tables(heard(systems, pairs)).values()), tmp_path)
