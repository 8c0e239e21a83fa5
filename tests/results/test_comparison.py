from dataclasses import replace

import numpy as np
import pytest

from vpeval.core.errors import InputError
from vpeval.editions.base import rules_for
from vpeval.records.record import Record
from vpeval.results import overview

RULES = rules_for("2024")


def system(name, f, m, wer, uar=None, attacker="ASV_eval_anon", metric="eer_threshold"):
    """A system with the EERs of two genders, in percent, and its utility."""
    records = [
        Record(metric, eer / 100, system=name, set=f"toy_test_trials_{g}", gender=g, condition="aa", attacker=attacker)
        for g, eer in (("f", f), ("m", m))
    ]
    records.append(Record("wer", wer, system=name, set="toy_test_asr", condition="a"))
    if uar:
        records.append(Record("uar", uar, system=name, set="EMOTION_test", condition="a"))
    return records


def test_systems_are_ranked_by_utility_inside_classes_of_the_mean_eer():
    records = [*system("a", 8, 11, 2.0), *system("b", 10, 10, 9.0), *system("c", 34, 34.6, 4.4, 38),
               *system("d", 29, 31, 5.9, 42), *system("e", 31, 30, 4.4, 40)]  # fmt: skip
    found = [(s.system, s.least_eer, dict(s.places)) for s in overview.ranking(records, RULES)]
    assert found == [
        ("c", 0.3, {"wer": 1, "uar": 3}),
        ("e", 0.3, {"wer": 1, "uar": 2}),
        ("d", 0.3, {"wer": 3, "uar": 1}),
        ("b", 0.1, {"wer": 1}),
        ("a", None, {"wer": 1}),
    ]


def test_the_semi_informed_attacker_counts_and_its_absence_is_noted():
    semi = system("a", 12, 12, 2.0, attacker="ecapa_plda")[:2]
    semi = [replace(record, notes={"attack_model": "semi-informed"}) for record in semi]
    records = system("a", 20, 20, 2.0, attacker="ecapa") + semi
    (standing,) = overview.ranking(records, RULES)
    assert (standing.model, standing.least_eer, standing.note) == ("semi-informed", 0.1, "")
    (standing,) = overview.ranking(system("a", 20, 20, 2.0, attacker="ecapa"), RULES)
    assert (standing.model, standing.least_eer) == ("lazy-informed", 0.2)
    assert "no semi-informed attacker" in standing.note


def test_the_ranking_of_2022_requires_pitch_correlation():
    pitch = Record("pitch_correlation", 0.25, system="a", set="toy_test_trials_f")
    rules = rules_for("2022")
    assert "unknown" in overview.ranking(system("a", 20, 20, 2.0), rules)[0].note
    assert "0.250 is not above 0.3" in overview.ranking([*system("a", 20, 20, 2.0), pitch], rules)[0].note


def test_a_ranking_notes_that_its_thresholds_are_not_confirmed():
    text = overview.render_ranking(overview.ranking(system("a", 20, 20, 2.0), RULES), RULES)
    assert "10/20/30/40 % (thresholds unconfirmed)" in text
    assert ">= 20 %  a " in text


def test_the_overview_has_a_line_per_system_and_attack():
    records = [
        *system("a", 20, 30, 2.0),
        Record("wer", 1.0, 0.5, 1.5, system="original", set="toy_dev_asr", condition="o"),
    ]
    assert overview.overview(records, "2024").splitlines() == [
        "                   system    condition  attacker       dev               test",
        "EER (threshold) %  a         a-a        ASV_eval_anon                 -  25.00",
        "WER %              original  o                         1.00 [0.50,1.50]      -",
        "WER %              a         a                                        -   2.00",
    ]


def test_nothing_to_compare_is_an_error():
    with pytest.raises(InputError, match="no verification or recognition results"):
        overview.overview([], "2024")


def test_the_plot_needs_privacy_and_utility():
    tradeoff = pytest.importorskip("vpeval.figures.scatter")
    figure = tradeoff.privacy_utility([*system("a", 20, 30, 2.0), *system("b", 40, 40, 8.0)], "2024", (0.1, 0.2))
    (axis,) = figure.axes
    assert [c.lines[0].get_xydata().tolist() for c in axis.containers] == [[[2.0, 25.0]], [[8.0, 40.0]]]
    with pytest.raises(InputError, match="needs EERs and word error rates"):
        tradeoff.privacy_utility(system("a", 20, 30, 2.0)[:2], "2024")


def test_a_ranking_by_another_eer_than_that_of_the_edition_is_noted():
    both = [*system("a", 20, 20, 2.0), *system("a", 32, 32, 2.0, metric="eer_kaldi")[:2]]
    assert [(s.least_eer, s.note) for s in overview.ranking(both, RULES)] == [(0.2, "")]
    (standing,) = overview.ranking(both, rules_for("2022"))
    assert (standing.least_eer, standing.eer.metric) == (0.3, "eer_kaldi")
    (standing,) = overview.ranking(system("a", 20, 20, 2.0), rules_for("2022"))
    assert "by its EER (threshold): the results have no other" in standing.note


def test_whiskers_of_the_plot_are_not_clipped():
    tradeoff = pytest.importorskip("vpeval.figures.scatter")
    records = [replace(r, lower=0.3, upper=0.9) if r.metric.startswith("eer") else r for r in system("a", 60, 60, 2.0)]
    (axis,) = tradeoff.privacy_utility(records, "2024").axes
    assert axis.get_ylim()[1] > 60 + np.hypot(15, 15)
    assert axis.get_ylabel().startswith("EER (threshold), %")
