import numpy as np
import pytest
from scipy import stats

from vpeval.metrics.paired import assess


def test_the_p_value_is_that_of_a_t_test_where_the_statistic_is_a_mean():
    rng = np.random.default_rng(0)
    values = rng.normal(0.4, 1, 30)
    samples = values[rng.integers(30, size=(20000, 30))].mean(axis=1)
    theirs = stats.ttest_1samp(values, 0)
    ours = assess(values.mean(), samples, 30)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=0.1)
    low, high = theirs.confidence_interval()
    assert (ours.lower, ours.upper) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))


def test_p_can_be_small_with_few_resamples_but_not_smaller_than_the_speakers_allow():
    rng = np.random.default_rng(0)
    samples = rng.normal(10, 1, 200)
    assert assess(10.0, samples, 40).p_value < 1e-9
    assert assess(10.0, samples, 8).p_value == pytest.approx(2.0**-7)
    assert assess(1.0, np.ones(200), 8).p_value == 2.0**-7


def test_interval_and_p_value_agree():
    rng = np.random.default_rng(0)
    for shift in np.linspace(0, 4, 41):
        found = assess(shift, rng.normal(shift, 1, 500), 20)
        assert (found.p_value < 0.05) == (found.lower > 0)


@pytest.mark.parametrize(("speakers", "groups"), [(3, 1), (4, 2)])
def test_too_few_speakers_have_no_p_value(speakers, groups):
    found = assess(0.5, np.linspace(0, 1, 100), speakers, groups)
    assert (found.value, found.lower, found.p_value) == (0.5, None, None)


def test_a_difference_by_hand():
    # Samples 1.2 ± 0.3: bias 0.2; eight speakers in two groups have six degrees of freedom, t = 2.446912.
    error = 0.3 * np.sqrt(8 / 6)
    found = assess(1.0, np.array([0.9, 1.5]), speakers=8, groups=2)
    assert (found.lower, found.upper) == pytest.approx((0.8 - 2.446912 * error, 0.8 + 2.446912 * error), rel=1e-5)
    assert found.p_value == pytest.approx(2 * stats.t.sf(0.8 / error, 6))


def test_the_interval_holds_a_difference_with_a_large_bias():
    assert assess(1.0, np.array([2.99, 3.01]), 10).upper == 1
    assert assess(1.0, np.array([-1.01, -0.99]), 10).lower == 1


@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_what_is_not_finite_is_not_assessed(value):
    assert assess(value, np.ones(5), 10).p_value is None
    assert assess(1.0, np.array([1.0, value]), 10).p_value is None
    assert assess(1.0, np.empty(0), 10).p_value is None


def test_four_speakers_are_enough_for_a_p_value():
    assert assess(0.5, np.linspace(0, 1, 100), 4).p_value is not None
    assert assess(0.0, np.linspace(-1, 1, 101), 4).p_value == 1
