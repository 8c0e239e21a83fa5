from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from simulated_study import study

from vpeval.records.limits import read_limits
from vpeval.records.record import Record, read_records, write_records
from vpeval.results.load import read_all
from vpeval.results.resampled import _groups, measured
from vpeval.results.significance import EXPLORATORY, PLANNED, _holm, differences, render_differences

LIMIT = read_limits().significance
ORDER = {"a": (3.6, 0.04), "b": (2.4, 0.10), "c": (1.5, 0.20), "d": (0.7, 0.35), "e": (-0.2, 0.55)}


def compare(tables, resamples=200, versus="", explore=True):
    found = measured(read_all(tables), "2024")
    return differences(found, tables[0].parents[2] / "data", versus, resamples, explore=explore)


def planned(found):
    return [record for record in found if record.notes["family"] == PLANNED]


def false_alarms(folder, studies, **size):
    """In how many studies of five equal systems any planned test speaks of a difference."""
    alarms = 0
    for seed in range(1000, 1000 + studies):
        tables = study(folder / str(seed), dict.fromkeys("abcde", (1.5, 0.2)), seed, **size)
        alarms += any(record.notes["p_holm"] < LIMIT for record in planned(compare(tables, explore=False)))
    return alarms


def test_five_systems_of_known_order_differ(tmp_path):
    found = compare(study(tmp_path, ORDER, seed=1), explore=False)
    assert {(r.metric, r.system, r.params["versus"]) for r in found} == {
        (metric, one, other)
        for metric in ("eer_threshold_difference", "wer_difference")
        for one, other in combinations(ORDER, 2)
    }
    for record in found:
        assert record.value < 0, "the later system has the higher error rates"
        assert record.notes["p_value"] <= record.notes["p_holm"] < LIMIT
        assert record.lower < record.value < record.upper < 0
        assert (record.set, record.counts["speakers"]) == ("test", 20)


def test_equal_systems_raise_no_more_than_the_allowed_false_alarms(tmp_path):
    assert false_alarms(tmp_path, 20, utts=4) <= 1


@pytest.mark.nightly
@pytest.mark.e2e
@pytest.mark.parametrize(("speakers", "utts"), [(6, 4), (12, 8)])
def test_equal_systems_raise_false_alarms_in_at_most_5_percent_of_studies(tmp_path, speakers, utts):
    assert false_alarms(tmp_path, 200, speakers=speakers, utts=utts) <= 10


def test_the_table_marks_planned_differences_and_says_what_they_are(tmp_path):
    text = render_differences(compare(study(tmp_path, {"a": (3, 0.1), "b": (0, 0.6)}, seed=0)), LIMIT)
    assert text.splitlines()[0] == "Differences: planned tests"
    assert text.count("<0.001*") == 2
    assert "EER (threshold) against ecapa_plda (semi-informed) and WER of whisper" in text
    assert "3 exploratory differences" in text


def test_single_sets_and_min_cllr_are_exploratory_and_uncorrected(tmp_path):
    found = [
        r for r in compare(study(tmp_path, {"a": (3, 0.1), "b": (0, 0.6)}, seed=0)) if r.notes["family"] == EXPLORATORY
    ]
    assert [(r.metric, r.set, "p_holm" in r.notes) for r in found] == [
        ("eer_threshold_difference", "toy_test_trials_f", False),
        ("eer_threshold_difference", "toy_test_trials_m", False),
        ("min_cllr_difference", "test", False),
    ]


def test_differences_from_one_system_are_those_of_all_pairs(tmp_path):
    tables = study(tmp_path, {"a": (2, 0.1), "b": (1, 0.2), "c": (1, 0.3)}, seed=3)
    all_pairs = {(r.metric, r.system, r.params["versus"], r.set): r for r in compare(tables)}
    from_a = compare(tables, versus="a")
    assert {(r.system, r.params["versus"]) for r in from_a} == {("b", "a"), ("c", "a")}
    for record in from_a:
        other = all_pairs[record.metric, "a", record.system, record.set]
        assert record.value == pytest.approx(-other.value)
        assert record.notes["p_value"] == pytest.approx(other.notes["p_value"], rel=1e-6)


def test_a_partial_set_another_attacker_or_a_single_system_gives_no_difference(tmp_path):
    one, other = study(tmp_path, {"a": (2, 0.1), "b": (1, 0.2)}, seed=3)
    assert compare([one]) == []
    records = read_records(other)
    write_records(other, [record.with_notes({"missing_files": "2 files"}) for record in records])
    assert compare([one, other]) == []
    write_records(other, [replace(record, attacker="another") for record in records])
    assert compare([one, other]) == []


def test_with_too_few_speakers_there_is_a_difference_but_no_p_value(tmp_path):
    found = planned(compare(study(tmp_path, {"a": (3, 0.1), "b": (0, 0.6)}, seed=0, speakers=2)))
    eer = next(r for r in found if r.metric == "eer_threshold_difference")
    assert "p_value" not in eer.notes
    assert eer.lower is None
    assert "fewer than 4 speakers" in render_differences(found, LIMIT)


def test_without_resamples_there_are_differences_only(tmp_path):
    found = compare(study(tmp_path, {"a": (3, 0.1), "b": (0, 0.6)}, seed=0), resamples=0)
    assert found
    assert not any("p_value" in r.notes for r in found)


def test_the_strongest_attack_that_all_systems_met_is_planned(tmp_path):
    tables = study(tmp_path, {"a": (2, 0.1), "b": (1, 0.2)}, seed=3)
    for table in tables:
        records = read_records(table)
        weak = [replace(r, attacker="ecapa", notes={**r.notes, "attack_model": "lazy-informed"}) for r in records[:2]]
        only = [replace(r, attacker="mine", value=0.01) for r in records[:2] if table is tables[0]]
        write_records(table, [*weak, *records, *only])
    assert {r.model for r in planned(compare(tables))} == {"ecapa_plda", "whisper"}


def test_holms_correction_goes_over_all_planned_tests():
    records = [
        Record(f"{name}_difference", 0.1, notes={"p_value": p}) for name, p in (("a", 0.04), ("b", 0.01), ("a", 0.03))
    ]
    assert [r.notes["p_holm"] for r in _holm(records)] == [0.06, 0.03, 0.06]


def test_sets_that_share_speakers_are_one_group():
    found = _groups({"c": ["1", "2"], "a": ["2", "3"], "b": ["4"], "d": ["3"]})
    assert found == {"a": "a", "c": "a", "d": "a", "b": "b"}


def test_the_same_study_gives_the_same_numbers_in_any_order_of_tables(tmp_path):
    tables = study(tmp_path, {"a": (2, 0.1), "b": (1, 0.2)}, seed=3)
    forth, back = compare(tables), compare(tables[::-1])
    assert [r.value for r in forth] == pytest.approx([-r.value for r in back])
    assert np.allclose([r.notes["p_value"] for r in forth], [r.notes["p_value"] for r in back])
