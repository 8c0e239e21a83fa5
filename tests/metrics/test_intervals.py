import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp

from vpeval.metrics.intervals import (
    FEWEST,
    mean_intervals,
    rate_interval,
    ratio_interval,
    studentised_interval,
)


def clopper_pearson(events, trials):
    """The limits by bisection on binomial tails of high precision."""
    with mp.workdps(30):

        def at_least(p):
            return mp.fsum(mp.binomial(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(events, trials + 1))

        def at_most(p):
            return mp.fsum(mp.binomial(trials, k) * p**k * (1 - p) ** (trials - k) for k in range(events + 1))

        lower = 0 if events == 0 else mp.findroot(lambda p: at_least(p) - 0.025, (0, 1), solver="bisect", verify=False)
        upper = (
            1 if events == trials else mp.findroot(lambda p: at_most(p) - 0.025, (0, 1), solver="bisect", verify=False)
        )
    return float(lower), float(upper)


@pytest.mark.parametrize(("events", "trials"), [(0, 5), (5, 5), (1, 12), (6, 12), (0, 40), (30, 40)])
def test_speakers_of_zero_and_one_have_the_exact_binomial_limits(events, trials):
    values = np.r_[np.ones(events), np.zeros(trials - events)][:, None]
    (found,) = mean_intervals(values, resamples=100_000)
    assert (found.lower, found.upper) == pytest.approx(clopper_pearson(events, trials), abs=0.004)


@given(st.lists(st.floats(0, 1), min_size=FEWEST, max_size=30))
def test_an_interval_of_a_mean_holds_it_and_has_a_width(values):
    (found,) = mean_intervals(np.array(values)[:, None], resamples=200)
    assert 0 <= found.lower <= np.mean(values) + 1e-12
    assert np.mean(values) - 1e-12 <= found.upper <= 1
    assert found.upper - found.lower > 1 / (2 * len(values))


def test_a_rare_victim_who_was_not_met_is_reckoned_with():
    # Forty speakers at 5 %: one in thirty others may be found for certain.
    (found,) = mean_intervals(np.full((40, 1), 0.05), resamples=20_000)
    assert found.upper > 0.05 + 0.95 / 30


@pytest.mark.parametrize("speakers", range(1, FEWEST))
def test_too_few_speakers_have_none_and_the_reason(speakers):
    values, samples = np.linspace(0, 1, speakers), np.linspace(0, 0.5, 50)
    found = [
        mean_intervals(values[:, None])[0],
        rate_interval(0.1, samples, 8 * speakers, speakers, {}),
        ratio_interval(values, np.full(speakers, 10.0), 30),
        studentised_interval(0.1, samples, speakers, {}),
    ]
    for interval in found:
        assert (interval.lower, interval.upper) == (None, None)
        assert f"needs {FEWEST} or more" in interval.notes["no_interval"]


def test_no_resamples_are_no_interval_and_nothing_is_said_about_it():
    assert mean_intervals(np.ones((9, 2)), resamples=0)[1].notes == {}
    assert rate_interval(0.1, np.empty(0), 80, 10, {}).notes == {}
    assert studentised_interval(0.1, np.empty(0), 10, {}).notes == {}


@given(st.floats(0, 1), st.integers(FEWEST, 40), st.integers(1, 50), st.integers(0, 2**32))
def test_an_interval_of_a_rate_holds_it_and_has_a_width(rate, speakers, utts, seed):
    samples = np.clip(np.random.default_rng(seed).normal(rate, 0.05, 30), 0, 1)
    found = rate_interval(rate, samples, speakers * utts, speakers, {})
    assert 0 <= found.lower <= rate <= found.upper <= 1
    assert found.upper > found.lower


def test_without_an_error_the_limit_is_the_binomial_one_for_the_trials_that_correlated_ones_are_worth():
    # 10 speakers with 11 trials each, of which a speaker's are worth 11 / (1 + 10 · 0.1) = 5.5.
    found = rate_interval(0.0, np.zeros(100), 110, 10, {})
    assert (found.lower, found.upper) == (0, pytest.approx(1 - 0.025 ** (1 / 55)))


def test_numbers_that_do_not_differ_between_speakers_have_no_studentised_interval():
    found = studentised_interval(3.0, np.full(50, 3.0), 10, {})
    assert found.lower is None
    assert "do not differ" in found.notes["no_interval"]
    assert "infinite" in studentised_interval(np.inf, np.full(50, np.inf), 10, {}).notes["no_interval"]
