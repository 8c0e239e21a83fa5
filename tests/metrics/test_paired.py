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
