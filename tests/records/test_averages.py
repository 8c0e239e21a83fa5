import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.records.averages import average, averages, weights
from vpeval.records.record import Record

SETS = [f"{corpus}_dev_trials_{g}{common}" for g in "fm" for corpus, common in
        (("libri", ""), ("vctk", ""), ("vctk", "_common"))]  # fmt: skip


def test_libri_and_vctk_have_the_weights_of_2022():
    assert [weights(SETS)[name] for name in SETS[:3]] == [Fraction(1, 4), Fraction(1, 5), Fraction(1, 20)]


@given(st.sets(st.sampled_from(SETS), min_size=1))
def test_weights_add_up_to_one(names):
    assert sum(weights(names).values()) == 1


def test_one_corpus_is_averaged_plainly_as_in_2024():
    assert average({"libri_test_trials_f": "33.946", "libri_test_trials_m": "34.729"}) == Fraction("34.3375")


def eer(name, value, lower, upper, **more):
    return Record("eer_kaldi", value, lower, upper, set=name, condition="aa", system="x", **more)


def test_intervals_of_different_speakers_are_squared_and_added():
    both = [eer("toy_dev_trials_f", 0.2, 0.14, 0.26), eer("toy_dev_trials_m", 0.4, 0.32, 0.48)]
    (mean,) = averages(both)
    assert (mean.set, mean.gender, mean.notes) == ("dev", "", {"average": 2})
    assert mean.value == pytest.approx(0.3)
    assert mean.upper - mean.value == pytest.approx(math.hypot(0.03, 0.04))
    assert mean.value - mean.lower == pytest.approx(0.05)


def test_intervals_of_the_same_speakers_add_up():
    both = [eer("toy_dev_trials_f", 0.2, 0.1, 0.3), eer("toy_dev_trials_f_common", 0.2, 0.1, 0.3)]
    (mean,) = averages(both)
    assert (mean.lower, mean.upper) == (pytest.approx(0.1), pytest.approx(0.3))


def test_attackers_systems_and_parameters_are_kept_apart():
    records = [eer("toy_dev_trials_f", 0.1, None, None, attacker=a, params={"p": p}) for a in "ab" for p in (1, 2)]
    assert len(averages(records)) == 4


def test_a_set_of_no_partition_stays_as_it_is():
    record = Record("linkability", 0.5, set="mini_all", params={"N": 20})
    assert averages([record]) == [record]


def test_two_values_for_a_set_are_refused():
    with pytest.raises(InputError, match="two values of eer_kaldi for x toy_dev_trials_f aa"):
        averages([eer("toy_dev_trials_f", v, None, None) for v in (0.1, 0.2)])
