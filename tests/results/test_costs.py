"""Cllr of cosines is no cost: marked in the table, and in no view as if it were one."""

import pytest

from vpeval.editions.base import render
from vpeval.editions.vpc2020 import read
from vpeval.figures.run_results import Entry, Results
from vpeval.records.averages import averages
from vpeval.records.names import costs, marked
from vpeval.records.record import Record, read_records, write_records
from vpeval.report.number_tables import numbers
from vpeval.results import summary
from vpeval.results.latex import tables as system_tables
from vpeval.results.latex_challenge import tables

VALUES = {"eer_kaldi": 0.0625, "eer_rocch": 0.0611, "min_cllr": 0.2345, "cllr": 1.2345}


def verification(attacker, scoring, calibration="none"):
    notes = {"scoring": scoring, "calibration": calibration, "attack_model": "unprotected"}
    return marked(
        Record(
            metric,
            value,
            notes=notes,
            recipe="toy",
            system="original",
            set=f"toy_{part}_trials_{gender}",
            gender=gender,
            condition="oo",
            attacker=attacker,
        )
        for metric, value in VALUES.items()
        for part in ("dev", "test")
        for gender in "fm"
    )


COSINES, RATIOS = verification("ecapa", "cosine"), verification("ecapa_plda_original", "plda")


@pytest.mark.parametrize(
    ("scoring", "calibration", "is_cost"),
    [("cosine", "none", False), ("cosine", "dev", True), ("plda", "none", True), ("fusion", "dev", True)],
)
def test_only_log_likelihood_ratios_have_a_cost(scoring, calibration, is_cost):
    records = verification("a", scoring, calibration)
    assert ([r.metric for r in costs(records)] == [r.metric for r in records]) is is_cost


def test_the_mark_is_in_the_table_and_survives_averages(tmp_path):
    write_records(tmp_path / "results.jsonl", COSINES)
    again = read_records(tmp_path / "results.jsonl")
    assert all(r.notes["no_cost"] == "cosines are no log-likelihood ratios" for r in again if r.metric == "cllr")
    assert not any("no_cost" in r.notes for r in again if r.metric != "cllr")
    assert {r.metric for r in costs(averages(again))} == {"eer_kaldi", "eer_rocch", "min_cllr"}


def test_the_summary_leaves_it_out_and_keeps_that_of_ratios():
    both = summary.render([*COSINES, *RATIOS])
    assert "1.234" in both
    alone = summary.render(COSINES)
    assert "1.234" not in alone
    assert "0.234" in alone


@pytest.mark.parametrize("style", ["vpc2020", "booktabs"])
def test_latex_leaves_it_out_and_keeps_that_of_ratios(style):
    assert "1.234" in tables(RATIOS, style)["ASV_dev"]
    table = tables(COSINES, style)["ASV_dev"]
    assert "1.234" not in table
    assert "0.234" in table
    assert "1.234" not in "".join(system_tables(COSINES).values())


def test_results_txt_which_must_have_it_says_that_it_is_none(tmp_path):
    text = render([*COSINES, *RATIOS], "2020", "results.txt", "ecapa")
    assert "Cllr (min/act): 0.234/1.234" in text
    assert text.endswith("# Cllr of ecapa is no cost: cosines are no log-likelihood ratios\n")
    (tmp_path / "results.txt").write_text(text)
    assert read(tmp_path / "results.txt")
    assert "no cost" not in render(RATIOS, "2020", "results.txt", "ecapa_plda_original")


def test_the_report_puts_it_in_brackets_and_says_why(tmp_path):
    rows = numbers(Results([Entry(r, tmp_path, "unprotected") for r in [*COSINES, *RATIOS]], [], tmp_path)).rows
    shown = {row.model: row for row in rows if row.title == "Cllr"}
    assert shown["ecapa"].value == "(1.234 bit)"
    assert "no cost cosines are no log-likelihood ratios" in shown["ecapa"].details
    assert shown["ecapa_plda_original"].value == "1.234 bit"
