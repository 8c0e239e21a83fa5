"""Grades say what intervals support: simulated systems whose protection is known."""

import importlib.util
import sys
from itertools import product
from pathlib import Path

import pytest

from vpeval.report.grades import ALL, GradedNumber, Grades, overall, times_as_many

EER = (0.05, 0.10, 0.20, 0.30, 0.40)
NOT_AT_ALL, HARDLY, WEAKLY = range(3)
SAMPLES = {6: 40, 20: 20, 40: 10}


@pytest.fixture(scope="module")
def verdicts():
    """The simulation of benchmarks/verdicts.py."""
    path = Path(__file__).resolve().parents[2] / "benchmarks/verdicts.py"
    spec = importlib.util.spec_from_file_location("verdicts", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["verdicts"] = module  # for its dataclass
    spec.loader.exec_module(module)
    yield module
    del sys.modules["verdicts"]


@pytest.mark.parametrize(("speakers", "attackers"), [*product((6, 20, 40), (1, 4, 8))])
def test_simulated_systems_get_grades_that_their_speakers_support(verdicts, speakers, attackers):
    cells = {name: verdicts.study(name, speakers, attackers, SAMPLES[speakers]) for name in verdicts.SYSTEMS}
    assert cells["perfect"].share(NOT_AT_ALL, HARDLY, WEAKLY) <= 0.05
    assert all(grades.best <= HARDLY for grades in cells["identity"].found), "never better than hardly"
    assert cells["perfect"].truth == Grades(5, 5)
    assert all(grades.best == 5 for grades in cells["perfect"].found), "and never excluded from the best grade"
    for name, cell in cells.items():
        assert cell.wrong <= 0.1, f"{name}: the true grade {cell.truth} is rarely excluded, not by {cell.found}"
    truths = [cell.truth for cell in cells.values()]
    assert truths == sorted(truths) and len(set(truths)) >= 4
    if speakers == 40:
        assert cells["identity"].share(NOT_AT_ALL) == 1, "more speakers do tell"
        assert all(grades.worst >= WEAKLY for grades in cells["perfect"].found)


def test_both_ends_of_an_interval_are_graded_and_the_worst_number_counts():
    wide, narrow = GradedNumber(0.4, 0.12, 0.6, EER), GradedNumber(0.34, 0.31, 0.36, EER)
    found = GradedNumber(0.6, 0.4, 0.95, (0.9, 0.5, 0.25, 0.1, 0.03))
    assert [one.grades() for one in (wide, narrow, found)] == [Grades(2, 5), Grades(4, 4), Grades(0, 2)]
    assert overall([wide, narrow]) == Grades(2, 4)
    assert overall([wide, found]) == Grades(0, 2)
    assert GradedNumber(0.4, None, None, EER).grades() == ALL


def test_what_is_no_better_than_unprotected_speech_is_hardly_protected_at_best():
    assert GradedNumber(0.03, 0.0, 0.15, EER, original=0.03).grades() == Grades(0, 1)
    assert GradedNumber(0.04, 0.0, 0.15, EER, original=0.03).grades() == Grades(0, 2)
    assert GradedNumber(0.35, 0.31, 0.45, EER, original=0.36).grades() == Grades(4, 5), "attackers who find nobody"
    assert GradedNumber(0.03, None, None, EER, original=0.03).grades() == Grades(0, 1)


def test_intervals_shrink_with_the_square_root_of_the_number_of_speakers():
    number = GradedNumber(0.15, 0.05, 0.25, EER)
    times = times_as_many([number], 5)
    assert 3 < times < 6
    assert number.grades(times) == Grades(2, 2)
    assert times_as_many([GradedNumber(0.2, 0.1, 0.3, EER)], 5) is None
    assert times_as_many([GradedNumber(0.2, 0.1, 0.3, EER)], 1) == 1
