import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mpmath import mp
from scipy.stats import beta, norm, t

from vpeval.metrics.intervals import (
    FEWEST,
    mean_intervals,
    rate_interval,
    ratio_interval,
    share_intervals,
    studentised_interval,
)
from vpeval.metrics.resampling import Draws, ScoredTrials, SortedTrials, resample, resampled_eer_kaldi


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
        share_intervals(values[:, None])[0],
        rate_interval(0.1, samples, 8 * speakers, speakers, {}),
        ratio_interval(values, np.full(speakers, 10.0), 30),
        studentised_interval(0.1, samples, speakers, {}),
    ]
    for interval in found:
        assert (interval.lower, interval.upper) == (None, None)
        assert f"needs {FEWEST} or more" in interval.notes["no_interval"]


def test_no_resamples_are_no_interval_and_nothing_is_said_about_it():
    assert mean_intervals(np.ones((9, 2)), resamples=0)[1].notes == {}
    assert share_intervals(np.ones((9, 2)), resamples=0)[1].notes == {}
    assert rate_interval(0.1, np.empty(0), 80, 10, {}).notes == {}
    assert studentised_interval(0.1, np.empty(0), 10, {}).notes == {}


@given(st.floats(0, 1), st.integers(FEWEST, 40), st.integers(1, 50), st.integers(0, 2**32))
def test_an_interval_of_a_rate_holds_it_and_has_a_width(rate, speakers, utts, seed):
    samples = np.clip(np.random.default_rng(seed).normal(rate, 0.05, 30), 0, 1)
    found = rate_interval(rate, samples, speakers * utts, speakers, {})
    assert 0 <= found.lower <= rate <= found.upper <= 1
    assert found.upper > found.lower


def jeffreys(rate, worth, level):
    return beta.ppf(level, rate * worth + 0.5, (1 - rate) * worth + 0.5)


def worth(rate, variance, seen, each, independent, assumed=1.0):
    """The effective number of trials: a mean of the variance that was seen and of the one of correlated trials."""
    return each / ((seen * variance + 2.5 * assumed * each / independent) / (seen + 2.5))


def test_without_an_error_the_limit_is_that_of_the_trials_that_correlated_ones_are_worth():
    # 10 speakers with 11 trials each, of which a speaker's are worth 11 / (1 + 10 · 0.2).
    found = rate_interval(0.0, np.zeros(100), 110, 10, {})
    assert (found.lower, found.upper) == (0, pytest.approx(jeffreys(0, 110 / 3, 0.975), rel=1e-5))
    assert 0.05 < found.upper < 0.08


def test_numbers_that_do_not_differ_between_speakers_have_no_studentised_interval():
    found = studentised_interval(3.0, np.full(50, 3.0), 10, {})
    assert found.lower is None
    assert "do not differ" in found.notes["no_interval"]
    assert "infinite" in studentised_interval(np.inf, np.full(50, np.inf), 10, {}).notes["no_interval"]


def test_an_interval_of_errors_per_word_is_of_relative_standard_errors():
    # Four speakers of 100 words with 2, 4, 6 and 12 errors: 0.06, residuals -4, -2, 0 and 6, variance 56/400²·4/3.
    found = ratio_interval([2, 4, 6, 12], [100] * 4, 1000)
    student, variance = 3.182446, 56 / 400**2 * 4 / 3
    more = 25 / 400
    # The squared coefficient of variation of four speakers is averaged with 4, that of a fifth.
    relative = (4 * 4 * (variance + 1 / 400**2) / more**2 + 4) / 5 / 4
    lower, upper = np.exp(-student * np.sqrt(variance) / 0.06), np.exp(student * np.sqrt(relative) + relative)
    assert (found.lower, found.upper) == pytest.approx((0.06 * lower, more * upper), rel=1e-6)
    assert found.notes == {"interval": "log-normal, over speakers"}


def test_one_speaker_who_makes_all_errors_does_not_lift_the_limit_beyond_all_words():
    assert ratio_interval([50, 0, 0, 0], [100] * 4, 1000).upper == 1
    assert ratio_interval([90, 10, 10, 10], [100] * 4, 1000).upper == 1.8


def test_words_that_go_wrong_evenly_over_speakers_are_as_uncertain_as_single_words():
    # No speaker differs from another, so the variance is that of a Poisson number: 20 errors of 400 words.
    found = ratio_interval([5] * 4, [100] * 4, 1000)
    assert found.lower == pytest.approx(0.05 * np.exp(-3.182446 / np.sqrt(20)), rel=1e-6)


@pytest.mark.parametrize("speakers", [5, 12, 40])
@pytest.mark.parametrize("shape", [0.7, 1, 4, "lognormal"])
def test_intervals_of_errors_per_word_hold_the_truth_if_few_speakers_make_most_of_the_errors(shape, speakers):
    # Rates of speakers are gamma distributed around 20 % (shape 1 is an exponential distribution), or log-normal.
    rng = np.random.default_rng([speakers, len(str(shape))])
    words = rng.integers(100, 200, (1500, speakers))
    lognormal = shape == "lognormal"
    worse = np.exp(rng.normal(-0.5, 1, words.shape)) if lognormal else rng.gamma(shape, 1 / shape, words.shape)
    errors = rng.poisson(0.2 * worse * words)
    found = [ratio_interval(top, bottom, 15 * speakers) for top, bottom in zip(errors, words, strict=True)]
    assert np.mean([interval.lower <= 0.2 <= interval.upper for interval in found]) >= (0.92 if lognormal else 0.93)
    spread = np.ptp(np.quantile(errors.sum(axis=1) / words.sum(axis=1), [0.025, 0.975]))
    assert (
        np.median([interval.upper - interval.lower for interval in found]) / spread
        < {5: 3.5, 12: 1.6, 40: 1.3}[speakers]
    )


def test_without_an_error_a_whole_utterance_may_still_go_wrong():
    # 3.69 over the number of utterances: (1 - p)^n is 0.025 there.
    assert ratio_interval([0] * 5, [1000] * 5, 100).upper == pytest.approx(0.0369, abs=1e-4)
    assert ratio_interval([0] * 5, [1000] * 5, 100).lower == 0
    assert ratio_interval([0] * 5, [1000] * 5, 0).upper == pytest.approx(3.69, abs=0.01), "no utterance counts as one"
    assert ratio_interval([0] * 5, [0] * 5, 10).notes == {"no_interval": "nothing to divide by"}


def test_a_studentised_interval_is_that_of_student_less_the_bias():
    # Samples 1 ± 1 around a value of 1.5: standard error √(4/3), bias -0.5, t = 3.182446 for three degrees of freedom.
    reach = 3.182446 * np.sqrt(4 / 3)
    found = studentised_interval(1.5, np.array([0.0, 2.0]), 4, {"seed": 7})
    assert (found.lower, found.upper) == pytest.approx((2 - reach, 2 + reach), rel=1e-6)
    assert found.notes == {"interval": "studentised speaker bootstrap", "seed": 7}
    cut = studentised_interval(1.5, np.array([0.0, 2.0]), 4, {}, low=0.0, high=3.0)
    assert (cut.lower, cut.upper) == (0, 3)


def test_a_studentised_interval_holds_a_value_with_a_large_bias():
    found = studentised_interval(1.0, np.array([2.9, 3.0, 3.1]), 30, {})
    assert found.lower < -0.5 and found.upper == 1
    found = studentised_interval(1.0, np.array([-1.1, -1.0, -0.9]), 30, {})
    assert found.lower == 1 and found.upper > 2.5


@pytest.mark.parametrize("rate", [0.002, 0.1, 0.5, 0.998])
def test_an_interval_of_a_rate_has_the_limits_of_an_effective_number_of_trials(rate):
    # Two samples at rate ± d: the variance is d². Student's quantile has a degree of freedom more than speakers err.
    variance, smooth = 0.02**2, (1000 * rate + 0.5) / 1001
    each, seen, independent = smooth * (1 - smooth), 1000 * min(rate, 1 - rate), 1000 / (1 + 99 * 0.2)
    student = t.ppf(0.975, 1 + rate**2 / (variance + rate**2 / 10))
    largest = min(variance * (student / 1.959964) ** 2, max(each / 10, variance))
    found = rate_interval(rate, np.array([rate - 0.02, rate + 0.02]), 1000, 10, {})
    assert found.lower == pytest.approx(
        min(rate, jeffreys(rate, worth(rate, variance, seen, each, independent), 0.025)), rel=1e-5
    )
    upper = jeffreys(rate, worth(rate, largest, seen, each, independent), 0.975)
    assert found.upper == pytest.approx(min(1, max(upper, rate + 0.02 * student)), rel=1e-5)


@pytest.mark.parametrize("values", [[0, 0, 0, 1, 1], [0.2, 0.4, 0.1, 0.9], [0] * 7 + [1], [0.5] * 6])
@pytest.mark.parametrize("trials", [None, 80])
def test_an_interval_of_a_share_has_the_limits_of_an_effective_number_of_trials(values, trials):
    (found,) = share_intervals(np.array(values, float)[:, None], trials=trials)
    n, mean, variance = len(values), np.mean(values), np.var(values, ddof=1) / len(values)
    total = trials or n
    smooth = (total * mean + 0.5) / (total + 1)
    each, independent = smooth * (1 - smooth), total / (1 + (total / n - 1) * 0.2)
    right, wrong = (share**2 / (variance + share**2 / n) for share in (mean, 1 - mean))
    seen = max(min(right, wrong), min(mean, 1 - mean) * total)
    assumed = (t.ppf(0.975, 2 * (n - 1)) / 1.959964) ** 2
    ends = []
    for spread, level in ((wrong, 0.025), (right, 0.975)):
        student = t.ppf(0.975, min(n - 1, 1 + spread))
        largest = min(variance * (student / 1.959964) ** 2, max(assumed * each / n, variance))
        ends.append(jeffreys(mean, worth(mean, largest, seen, each, independent, assumed), level))
    assert (found.lower, found.upper) == pytest.approx(ends, rel=1e-5)


@given(st.lists(st.floats(0, 1), min_size=FEWEST, max_size=30))
def test_an_interval_of_a_share_holds_it_and_has_a_width(values):
    (found,) = share_intervals(np.array(values)[:, None])
    assert 0 <= found.lower <= np.mean(values) + 1e-12
    assert np.mean(values) - 1e-12 <= found.upper <= 1
    assert found.upper - found.lower > 1 / (4 * len(values))


def test_a_weighted_share_counts_speakers_by_their_weights():
    values = np.array([[0.0], [0.0], [1.0], [1.0]])
    (equal,) = share_intervals(values, weights=[7, 7, 7, 7])
    (plain,) = share_intervals(values)
    assert (equal.lower, equal.upper) == pytest.approx((plain.lower, plain.upper))
    (more,) = share_intervals(values, weights=[1, 1, 3, 3])
    assert equal.lower < more.lower < 0.75 < more.upper


@pytest.mark.parametrize("speakers", [5, 12, 40])
@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5])
@pytest.mark.parametrize("kind", ["alike", "all or nothing"])
def test_intervals_of_shares_hold_the_truth_and_are_not_much_wider_than_needed(kind, rate, speakers):
    rng = np.random.default_rng([speakers, int(100 * rate)])
    alike = 2 if kind == "alike" else 0.1
    values = rng.binomial(20, rng.beta(alike * rate, alike * (1 - rate), (2000, speakers))) / 20
    found = share_intervals(values.T)
    assert np.mean([interval.lower <= rate <= interval.upper for interval in found]) >= 0.93
    spread = np.ptp(np.quantile(values.mean(axis=1), [0.025, 0.975]))
    width = np.mean([interval.upper - interval.lower for interval in found]) / spread
    assert width < (2.6 if rate == 0.05 else 1.6 if speakers == 5 else 1.35)


@pytest.mark.parametrize(
    ("speakers", "shift", "widest"), [(5, 3.0, 1.8), (5, 1.0, 1.6), (12, 3.0, 1.6), (12, 0.8, 1.5)]
)
def test_intervals_of_equal_error_rates_hold_the_truth_and_are_not_much_wider_than_needed(speakers, shift, widest):
    # Scores vary with the enrolled speaker, the one who speaks, their pair and chance: by 0.25 three times, and by 1.
    true = float(norm.cdf(-shift / 2 / np.sqrt(1.75)))
    rng = np.random.default_rng([speakers, int(10 * shift)])
    enroll, utt = np.divmod(np.arange(speakers**2 * 8), speakers * 8)
    speaker = utt // 8
    own = enroll == speaker
    found, values = [], []
    for k in range(200):
        score = rng.normal(0, 1, len(enroll)) + 0.5 * rng.normal(0, 1, (speakers, speakers))[enroll, speaker]
        score += 0.5 * rng.normal(0, 1, speakers)[enroll] + 0.5 * rng.normal(0, 1, speakers)[speaker]
        trials = ScoredTrials(np.where(own, score + shift, score), own, enroll, speaker)
        rows = SortedTrials.from_trials(trials)
        samples, whole = resample(rows, Draws(speakers, k)(100), [resampled_eer_kaldi])
        values.append(resample(rows, np.ones((1, speakers), int), [resampled_eer_kaldi])[0].item())
        found.append(rate_interval(values[-1], samples[whole, 0], speakers * 8, speakers, {}))
    held = np.mean([interval.lower <= true <= interval.upper for interval in found])
    assert held >= 0.92  # 0.93 less what 200 samples may be off by
    width = np.mean([interval.upper - interval.lower for interval in found])
    assert 0.95 < width / np.ptp(np.quantile(values, [0.025, 0.975])) < widest


def test_what_few_trials_flatter_the_attacker_by_is_added_to_the_upper_limit():
    # Resamples are below the rate by 0.05, so the rate is taken for 0.05 too low.
    plain, biased = (rate_interval(0.2, np.array([m - 0.01, m + 0.01]), 500, 20, {}) for m in (0.2, 0.15))
    assert biased.upper > plain.upper + 0.04
    assert biased.lower == plain.lower


def test_errors_that_weigh_more_are_fewer():
    # One trial in four counts: limits of 25 trials instead of 100; no more than the end of the scale.
    found = rate_interval(0.0, np.zeros(9), 100, 100, {}, weight=4)
    assert found.upper == pytest.approx(jeffreys(0, 25, 0.975), rel=1e-5)
    assert rate_interval(0.4, np.array([0.1, 0.7]), 100, 100, {}, highest=0.5).upper == 0.5


def test_the_end_of_the_scale_is_within_reach_where_there_is_nothing_to_find():
    # Of scores without information a min Cllr is a little below 1.
    assert rate_interval(0.97, np.array([0.94, 0.96]), 100, 10, {}, bias=2).upper == 1


def test_a_mean_on_another_scale_has_the_same_interval_on_that_scale():
    values = np.random.default_rng(0).random((12, 3))
    for one, other in zip(mean_intervals(values), mean_intervals(5 + 10 * values, 5, 15), strict=True):
        assert (5 + 10 * one.lower, 5 + 10 * one.upper) == pytest.approx((other.lower, other.upper))
