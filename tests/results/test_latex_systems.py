from dataclasses import replace

import pytest
from test_latex import compile_tables, needs_latex

from vpeval.core.errors import InputError
from vpeval.records.record import Record
from vpeval.results import latex


def eer(system, condition, value, interval=(None, None), **more):
    tags = {"set": "toy_test_trials_f", "gender": "f", "attacker": "ecapa"} | more
    return Record("eer_kaldi", value, *interval, system=system, condition=condition, **tags)


def srd(system, estimator, value, attacker="ET", representation="", **params):
    values = {"srd_max": value, "srd_mean": value / 2, "srd_idr": value / 10, "srd_rank_spread": 0.375}
    tags = {
        "system": system,
        "set": "toy_all",
        "attacker": attacker,
        "condition": "oo" if system == "original" else "aa",
    }
    notes = {"representation": representation} if representation else {}
    return [Record(m, v, params={"estimator": estimator, **params}, notes=notes, **tags) for m, v in values.items()]


RECORDS = [
    eer("original", "oo", 0.05),
    eer("a_b", "aa", 0.2, (0.1, 0.3)),
    eer("c", "aa", 0.25),
    eer("a_b", "oa", 0.3),
    eer("c", "oa", 0.3),
    Record("cllr", float("inf"), system="c", set="toy_test_trials_f", gender="f", condition="aa", attacker="ecapa"),
    Record("wer", 4.0, system="original", set="toy_test_asr", condition="o", recogniser="w"),
    Record("wer", 8.0, system="a_b", set="toy_test_asr", condition="a", recogniser="w"),
    Record("wer", 9.0, system="c", set="toy_test_asr", condition="a", recogniser="w"),
    Record("g_vd", -1.5, -2, -1, system="c", set="toy_test_trials_f", gender="f"),
    *(
        Record(
            m, 0.5, 0.4, 0.6, {"N": n, "L": length}, notes={"chance": 1 / n}, system="c", condition="aa", set="toy_all"
        )
        for m in ("linkability", "singling_out", "one_minus_eer")
        for n in (100, 20)
        for length in ("all", 3)
    ),
    *srd("original", "empirical", 4.5),
    *srd("a_b", "empirical", 0.63),
    *srd("c", "empirical", 0.53),
    *srd("c", "beta-binomial", 0.5),
]


def body(text):
    """The cells of the rows between the rules."""
    rows = text.partition("\\midrule\n")[2].partition("    \\bottomrule")[0].splitlines()
    return [[cell.strip() for cell in row.removesuffix("\\\\").split(" & ")] for row in rows]


def test_every_kind_of_table_is_made_from_what_there_is():
    assert list(latex.tables(RECORDS)) == ["privacy_test", "systems_test", "legal", "srd"]
    assert latex.tables([]) == {}


def test_systems_stand_side_by_side_with_the_best_in_bold():
    rows = body(latex.tables(RECORDS)["systems_test"])
    assert rows[0] == [
        r"EER (Kaldi), \% $\uparrow$",
        "o-a",
        "ecapa",
        r"5.00 {\scriptsize (o-o)}",
        r"\textbf{30.00}",
        r"\textbf{30.00}",
    ]
    assert rows[1][3:] == [r"5.00 {\scriptsize (o-o)}", r"20.00 {\scriptsize [10.00, 30.00]}", r"\textbf{25.00}"]
    assert rows[-1] == [r"WER, \% $\downarrow$", "a", "w", "4.00", r"\textbf{8.00}", "9.00"]


def test_captions_mention_intervals_where_there_are_any():
    bare = [replace(record, lower=None, upper=None) for record in RECORDS]
    for name, text in latex.tables(RECORDS).items():
        shown = name in ("systems_test", "legal", "srd")
        assert (r"with 95\,\% intervals" in text, r"\scriptsize [" in text) == (shown, shown)
    assert not any("interval" in text for text in latex.tables(bare).values())


def test_numbers_without_a_better_end_have_no_best_and_signs_are_set_as_such():
    rows = {row[0]: row for row in body(latex.tables(RECORDS)["systems_test"])}
    assert rows[r"$C_\mathrm{llr}$"][3:] == ["--", "--", r"$\infty$"]
    assert rows[r"$G_\mathrm{VD}$, dB $\uparrow$"][-1] == r"$-$1.50 {\scriptsize [$-$2.00, $-$1.00]}"


def test_all_privacy_metrics_are_columns_and_systems_are_named_where_there_are_several():
    text = latex.tables(RECORDS)["privacy_test"]
    assert "Data set & Gender & System & Enrol. & Trials & EER" in text
    assert body(text)[0] == ["toy", "f", "original", "o", "o", "5.00", "--"]
    assert body(text)[1][2:5] == [r"a\_b", "o", "a"]


def test_legal_metrics_go_over_speakers_and_utterances_with_their_chance():
    rows = body(latex.tables(RECORDS)["legal"])
    assert [row[:4] for row in rows[:4]] == [
        [r"Singling out, \%", "20", "3", "5.0"],
        [r"Singling out, \%", "20", "all", "5.0"],
        [r"Singling out, \%", "100", "3", "1.0"],
        [r"Singling out, \%", "100", "all", "1.0"],
    ]
    assert rows[4] == [r"\addlinespace"]


def test_the_srd_table_has_the_columns_of_the_paper_and_the_eer():
    tables = latex.tables(RECORDS)
    assert (
        r"System & MaxD $\downarrow$ & MeanD $\downarrow$ & IdR, \% $\downarrow$ & RS, \% $\uparrow$ & EER"
        in tables["srd"]
    )
    assert body(tables["srd"]) == [
        [r"\multicolumn{6}{l}{\emph{ET}, empirical}"],
        ["original", "4.50", "2.25", "45.00", "37.5", "5.00"],
        [r"a\_b", "0.63", "0.32", "6.30", r"\textbf{37.5}", r"20.00 {\scriptsize [10.00, 30.00]}"],
        ["c", r"\textbf{0.53}", r"\textbf{0.27}", r"\textbf{5.30}", r"\textbf{37.5}", r"\textbf{25.00}"],
        [r"\addlinespace"],
        [r"\multicolumn{6}{l}{\emph{ET}, beta-binomial}"],
        ["c", "0.50", "0.25", "5.00", "37.5", ""],
    ]


def test_attackers_of_one_representation_share_a_block_and_others_have_their_own():
    text = latex.tables(
        [
            *srd("original", "empirical", 4.0, "ET", "et"),
            *srd("x", "empirical", 1.0, "ET", "et"),
            *srd("x", "empirical", 2.0, "ET_anon", "et"),
            *srd("x", "empirical", 3.0, "ET_anon2", "et"),
            *srd("x", "empirical", 0.5, "f0"),
        ]
    )["srd"]
    assert r" & \multicolumn{4}{c}{trained on original speech} & \multicolumn{4}{c}{trained on anonymised" in text
    rows = [row for row in body(text) if row != [r"\addlinespace"]]
    assert [row[0] for row in rows] == [
        r"\multicolumn{9}{l}{\emph{et (ET, ET\_anon)}, empirical}",
        "original",
        "x",
        r"\multicolumn{9}{l}{\emph{et (ET\_anon2)}, empirical}",
        "x",
        r"\multicolumn{9}{l}{\emph{f0}, empirical}",
        "x",
    ]
    assert rows[1][1:] == ["4.00", "2.00", "40.00", "37.5", *["--"] * 4]
    assert rows[2][1::4] == ["1.00", "2.00"]
    assert rows[4][1::4] == ["--", "3.00"] and rows[6][1::4] == ["0.50", "--"]


def test_two_values_for_one_cell_are_refused():
    with pytest.raises(InputError, match="two values of srd_max for x toy_all"):
        latex.tables(srd("x", "empirical", 1.0) + srd("x", "empirical", 2.0, similarity="euclidean"))


@needs_latex
def test_the_tables_compile(tmp_path):
    assert compile_tables(list(latex.tables(RECORDS).values()), tmp_path)
