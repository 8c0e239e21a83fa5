"""Tables that are too wide or too tall for a page, marks of published numbers, and bold numbers."""

import pytest
from tex_tables import read_tables

from vpeval.records.metrics import describe
from vpeval.records.record import Record
from vpeval.records.tex import Tex
from vpeval.results.latex_layout import Column, Marks, Title, marks, pages, row_of, typeset


def sized(columns, rows, name="s{}", cell="12.34"):
    """A table of one label and some numbers, two columns for each system."""
    heads = [Column(("", "Set"), "l")] + [Column((name.format(i // 2), "oa"[i % 2])) for i in range(columns)]
    cells = [[f"set_{i}", *[cell] * columns] for i in range(rows)]
    return typeset(heads, 1, cells, "All of it. And more.", "tab:x")


def test_a_small_table_is_one_upright_float():
    (rows,) = read_tables(sized(4, 3))
    assert rows == [
        ["", "s0", "", "s1", ""],
        ["Set", "o", "a", "o", "a"],
        *[[f"set\\_{i}", *["12.34"] * 4] for i in range(3)],
    ]
    assert r"\cmidrule(lr){2-3} \cmidrule(lr){4-5}" in sized(4, 3)
    assert "rotating" not in sized(4, 3) and "{table}" in sized(4, 3)


@pytest.mark.parametrize(("columns", "parts", "sideways"), [(12, 1, 0), (20, 1, 1), (60, 3, 3)])
def test_a_wide_table_is_set_sideways_and_then_in_parts_of_about_the_same_width(columns, parts, sideways):
    text = sized(columns, 3)
    found = read_tables(text)
    assert (len(found), text.count(r"\begin{sidewaystable}")) == (parts, sideways)
    assert ("rotating" in text) == bool(sideways)
    widths = [len(rows[0]) - 1 for rows in found]
    assert sum(widths) == columns and max(widths) - min(widths) <= 2
    assert all([row[0] for row in rows] == ["", "Set", "set\\_0", "set\\_1", "set\\_2"] for rows in found)


def test_what_continues_has_the_same_number_and_no_second_label():
    text = sized(60, 3)
    assert text.count(r"\addtocounter{table}{-1}") == 2 and text.count(r"\label{tab:x}") == 1
    assert text.count(r"\caption{All of it. And more.}") == 1 and text.count(r"\caption{All of it (continued).}") == 2


def test_long_heads_take_room_unless_columns_share_them():
    long = "a_system_with_a_name_of_forty_letters___"
    assert r"\begin{sidewaystable}" not in sized(4, 1, name=long)
    assert r"\begin{sidewaystable}" in sized(8, 1, name=long + "{}", cell="1" * 12)
    alone = [Column(("", "Set"), "l"), *(Column((f"{long}{i}", "o")) for i in range(4))]
    assert r"\begin{sidewaystable}" in typeset(alone, 1, [["x", *"1234"]], "C.", "l")


def test_a_long_table_continues_on_further_pages():
    found = read_tables(sized(4, 120))
    assert [len(rows) for rows in found] == [58, 58, 10], "with two lines of heads each"
    assert found[1][2][0] == "set\\_56"


def test_pages_end_between_groups_where_they_can():
    title = Title("T")
    rows = [title, ["1"], ["2"], [], title, ["3"], ["4"], [], ["5"]]
    assert pages(rows, 4) == [[title, ["1"], ["2"]], [title, ["3"], ["4"]], [["5"]]]
    assert pages(rows, 99) == [rows]
    assert pages([["1"], ["2"], ["3"]], 2) == [[["1"], ["2"]], [["3"]]]


def test_parts_leave_out_rows_without_numbers():
    heads = [Column(("Set",), "l"), *(Column(("a" * 30,)) for _ in range(8))]
    rows = [Title("one"), ["x", *["1"] * 4, *["--"] * 4], [], Title("two"), ["y", *["--"] * 4, *[""] * 3, "1"]]
    first, second = read_tables(typeset(heads, 1, rows, "C.", "l"))
    assert [row[0] for row in first[1:]] == ["one", "x"] and [row[0] for row in second[1:]] == ["two", "y"]


def eer(system, value, **more):
    tags = {"system": system, "set": "test", "condition": "aa", "attacker": "x", **more}
    return Record("eer_kaldi", value, **{"notes": {"attack_model": "semi-informed", "average": 2}, **tags})


@pytest.mark.parametrize(
    ("other", "bold"),
    [
        ({}, True),
        ({"notes": {"attack_model": "none", "average": 2}}, False),
        ({"notes": {"attack_model": "semi-informed", "average": 3}}, False),
        ({"params": {"N": 3}}, False),
        ({"notes": {"attack_model": "semi-informed", "average": 2, "published": "x"}}, False),
    ],
)
def test_only_numbers_that_were_measured_alike_compete(other, bold):
    found = {"original": eer("original", 0.5), "a": eer("a", 0.3), "b": eer("b", 0.2, **other)}
    cells = row_of(found, ["original", "a", "b", "c"], describe("eer_kaldi"))
    assert cells == ["50.00", r"\textbf{30.00}" if bold else "30.00", "20.00", "--"]


def test_published_numbers_are_marked_once():
    own, other = eer("mine", 0.1), eer("B_1", 0.2, notes={"published": "plan_x"})
    assert marks([own]) == Marks() and marks([own]).name("mine") == "mine"
    assert marks([other]) == Marks(r" Published numbers (plan\_x).")
    both = marks([own, other])
    assert both.sentence == r" $\dagger$: published numbers (plan\_x)."
    assert both.name("B_1") == Tex(r"B\_1$^{\dagger}$") and both.name("mine") == "mine"
    elsewhere = marks([own, eer("B_1", 0.2, notes={"published": "plan_x", "other_data": "libri"})])
    assert elsewhere.sentence.endswith(r"(plan\_x). $\ddagger$: on other data.")
    assert elsewhere.name("B_1") == Tex(r"B\_1$^{\dagger\ddagger}$")
