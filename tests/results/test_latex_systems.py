from dataclasses import replace

import pytest
from test_latex import compile_tables, needs_latex
from tex_tables import read_tables

from vpeval.core.errors import InputError
from vpeval.records.record import Record
from vpeval.records.tex import Tex
from vpeval.results import latex, latex_challenge, latex_supplement
from vpeval.results.latex_layout import width


def eer(system, condition, value, interval=(None, None), **more):
    tags = {"set": "toy_test_trials_f", "gender": "f", "attacker": "ecapa"} | more
    return Record("eer_kaldi", value, *interval, system=system, condition=condition, **tags)


def srd(system, estimator, value, attacker="ET", representation="", model="", **params):
    values = {"srd_max": value, "srd_mean": value / 2, "srd_idr": value / 10, "srd_rank_spread": 0.375}
    tags = {
        "system": system,
        "set": "toy_all",
        "attacker": attacker,
        "condition": "oo" if system == "original" else "aa",
    }
    notes = {"representation": representation} if representation else {}
    notes |= {"attack_model": model or "semi-informed"} if model or attacker.endswith("_anon") else {}
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
    assert list(latex.tables(RECORDS)) == ["privacy_test", "systems_test", "legal", "srd", "srd_beta_binomial"]
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
        shown = name in ("systems_test", "legal")
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


BEST = r"\textbf{37.5}"
HALF = r"MaxD $\downarrow$ & MeanD $\downarrow$ & IdR, \% $\downarrow$ & RS, \% $\uparrow$"


def test_the_tables_of_srd_are_those_of_the_paper():
    both = [
        *srd("original", "empirical", 4.5, "ET", "et"),
        *srd("b_3", "empirical", 0.63, "ET", "et"),
        *srd("b_4", "empirical", 0.53, "ET", "et"),
        *srd("b_3", "empirical", 2.35, "ET_anon", "et"),
        *srd("b_4", "empirical", 2.3, "ET_anon", "et"),
        *srd("b_4", "beta-binomial", 2.2, "ET_anon", "et"),
        eer("original", "oo", 0.046, attacker="ET"),
        eer("b_3", "aa", 0.4, attacker="ET"),
        eer("b_3", "aa", 0.273, attacker="ET_anon"),
        eer("b_4", "aa", 0.303, (0.2, 0.4), attacker="ET_anon"),
        eer("b_4", "aa", 0.1, attacker="stronger"),
    ]
    tables = latex.tables(both)
    assert f"System & {HALF} & EER, \\% $\\uparrow$ & {HALF} & EER, \\% $\\uparrow$ \\\\" in tables["srd"]
    assert body(tables["srd"]) == [
        [r"\multicolumn{11}{l}{\emph{et}: ET (original), ET\_anon (anonymised)}"],
        ["original", "4.50", "2.25", "45.00", "37.5", "4.60", *["--"] * 5],
        [r"b\_3", "0.63", "0.32", "6.30", BEST, "40.00", "2.35", "1.18", "23.50", BEST, "27.30"],
        [r"b\_4", *(rf"\textbf{{{n}}}" for n in ("0.53", "0.27", "5.30", "37.5")), "--"]
        + [rf"\textbf{{{n}}}" for n in ("2.30", "1.15", "23.00", "37.5")]
        + [r"\textbf{30.30} {\scriptsize [20.00, 40.00]}"],
    ]
    assert "EER (Kaldi): of the same attackers, mean of the test sets." in tables["srd"]
    (rows,) = read_tables(tables["srd_beta_binomial"])
    assert rows[-1] == [r"b\_4", "2.20", "1.10", "22.00", "37.5", r"30.30 {\scriptsize [20.00, 40.00]}"]
    assert r"\multicolumn{5}{c}{trained on anonymised speech}" in tables["srd_beta_binomial"]


def test_attackers_who_represent_and_compare_alike_share_a_block():
    text = latex.tables(
        [
            *srd("original", "empirical", 4.0, "et", "et", similarity="cosine"),
            *srd("x", "empirical", 1.0, "et", "et", similarity="cosine"),
            *srd("x", "empirical", 1.5, "plda", "et", similarity="llr"),
            *srd("x", "empirical", 3.0, "similar", "et", model="none", similarity="llr"),
            *srd("x", "empirical", 2.0, "plda_anon", "et", similarity="llr"),
            *srd("x", "empirical", 0.5, "f0", similarity="euclidean"),
        ]
    )["srd"]
    (rows,) = read_tables(text)
    assert [row[0] for row in rows[2:]] == [
        r"\emph{et}, log-likelihood ratios: plda (original), plda\_anon (anonymised)",
        "x",
        r"\emph{et}, cosines: et (original)",
        "original",
        "x",
        r"\emph{et}, log-likelihood ratios: similar (anonymised, similar system)",
        "x",
        r"\emph{f0}, distances: f0 (original)",
        "x",
    ]
    assert rows[3][1::4] == ["1.50", "2.00"]
    assert rows[5][1:] == ["4.00", "2.00", "40.00", "37.5", *[""] * 4]
    assert rows[8][1::4] == ["", "3.00"] and rows[10][1::4] == ["0.50", ""]


def test_two_values_for_one_cell_are_refused():
    with pytest.raises(InputError, match="two values of srd_max for x toy_all"):
        latex.tables(srd("x", "empirical", 1.0) + srd("x", "empirical", 2.0, ties="strict"))


def crowd(systems):
    """Every kind of number of many systems by three attackers."""
    records = []
    for system in ("original", *systems):
        for attacker, model in (("plda", ""), ("plda_similar", "none"), ("plda_anon", "semi-informed")):
            for condition in ("oo",) if system == "original" else ("oa", "aa"):
                if (model and condition != "aa") or (not model and condition == "oo" and system != "original"):
                    continue
                tags = {"system": system, "condition": condition, "attacker": attacker}
                notes = {"attack_model": model} if model else {}
                for metric in ("eer_kaldi", "min_cllr", "cllr", "dsys", "zebra_population"):
                    for name, gender in (("toy_dev_trials_f", "f"), ("toy_test_trials_m", "m")):
                        found = Record(metric, 0.2, 0.1, 0.3, notes=notes, set=name, gender=gender, **tags)
                        records.append(found)
                for metric in ("linkability", "singling_out", "one_minus_eer"):
                    for n in (20, 100):
                        size = {"N": n, "L": "all"}
                        records.append(
                            Record(metric, 0.5, 0.4, 0.6, size, notes={"chance": 1 / n, **notes}, set="toy_all", **tags)
                        )
        for attacker in ("plda", "plda_anon")[: 1 + (system != "original")]:
            records += [replace(r, lower=0.1, upper=0.2) for r in srd(system, "empirical", 1.0, attacker, "ecapa")]
        side = "o" if system == "original" else "a"
        for name in ("toy_dev_asr", "toy_test_asr"):
            records.append(Record("wer", 5.0, 4.0, 6.0, system=system, set=name, condition=side, recogniser="w"))
    return records


@pytest.mark.parametrize("count", [1, 3, 19])
def test_tables_of_many_systems_and_attackers_stay_printable(count):
    systems = [f"system_number_{n:02d}" for n in range(count)]
    records = crowd(systems)
    texts = latex.tables(records) | latex_supplement.tables(records)
    for style in latex_challenge.STYLES:
        texts |= {f"{style} {name}": text for name, text in latex_challenge.tables(records, style).items()}
    assert {"privacy_dev", "systems_test", "legal", "srd", "supplement_02", "vpc2020 ASV_combined"} <= texts.keys()
    for name, text in texts.items():
        found = read_tables(text)
        assert all(len(rows) <= 60 for rows in found), name
        shown = {cell for rows in found for row in rows for cell in row}
        missing = [system for system in systems if not any(system.replace("_", r"\_") in cell for cell in shown)]
        assert not missing or count == 1, name
        for rows in found:
            letters = sum(
                max(width(Tex(row[i])) for row in rows if row[1:] != [""] * (len(row) - 1)) for i in range(len(rows[0]))
            )
            assert letters <= 185 or "vpc2020" in name, name


@needs_latex
def test_the_tables_compile(tmp_path):
    assert compile_tables(list(latex.tables(RECORDS).values()), tmp_path)
