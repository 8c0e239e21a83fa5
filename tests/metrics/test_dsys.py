import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracles import pav_llrs, score_sets

from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.score_metrics import dsys, dsys_null, dsys_pav, edges_of_bins, level_of_strangers, number_of_bins
from vpeval.metrics.scores import pool
from vpeval.metrics.verification import verification


def reference(targets, nontargets):
    """The published estimator, written with numpy's histogram and trapezoid."""
    pooled = np.r_[targets, nontargets]
    edges = np.linspace(pooled.min(), pooled.max(), min(len(targets) // 10, 100) + 1)
    centres = (edges[1:] + edges[:-1]) / 2
    y1 = np.histogram(targets, edges, density=True)[0]
    y2 = np.histogram(nontargets, edges, density=True)[0]
    d = [max(0, (a - b) / (a + b)) if a + b else 0 for a, b in zip(y1, y2, strict=True)]
    return np.trapezoid(d * y1, centres)


@given(st.integers(0, 10**6), st.integers(20, 1200), st.integers(1, 400), st.sampled_from([1, 2, 6]))
def test_dsys_is_the_reference_estimator(seed, n_targets, n_nontargets, digits):
    rng = np.random.default_rng(seed)
    targets = rng.normal(1, 1, n_targets).round(digits)
    nontargets = rng.normal(size=n_nontargets).round(digits)
    assert dsys(pool(targets, nontargets)) == pytest.approx(reference(targets, nontargets), abs=1e-9)


def test_half_of_the_end_bin_is_lost():
    # Ten targets in each of the 20 bins of [0, 20], one nontarget below: only the last bin is halved.
    targets = np.repeat(np.arange(1, 20) + 0.5, 10)
    pooled = pool(np.r_[targets, np.full(10, 20.0)], [0.0])
    assert dsys(pooled) == pytest.approx(1 - 0.1 / 2)


@pytest.mark.parametrize("n_targets", [1, 9, 10, 19])
def test_fewer_than_twenty_targets_give_zero(n_targets):
    pooled = pool(np.arange(n_targets) + 10.0, np.arange(10.0))
    assert dsys(pooled) == 0
    assert dsys_null(pooled).mean == 0


def test_equal_scores_give_zero_instead_of_nan():
    pooled = pool(np.ones(100), np.ones(100))
    assert dsys(pooled) == 0
    assert dsys_null(pooled).interval.upper == 0


def test_the_null_level_is_that_of_shuffled_labels():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=3000)
    null = dsys_null(pool(scores[:500], scores[500:]), permutations=2000)
    shuffled = []
    for _ in range(300):
        rng.shuffle(scores)
        shuffled.append(dsys(pool(scores[:500], scores[500:])))
    assert null.mean == pytest.approx(np.mean(shuffled), abs=4 * np.std(shuffled) / np.sqrt(300))
    assert null.interval.lower == pytest.approx(np.quantile(shuffled, 0.025), abs=0.01)
    assert null.interval.upper == pytest.approx(np.quantile(shuffled, 0.975), abs=0.01)
    assert 0.05 < null.mean < 0.11  # what scores without information give at 500 targets


def test_the_null_level_is_reproducible():
    pooled = pool(np.arange(100.0), np.arange(50.0, 400.0))
    assert dsys_null(pooled, seed=1) == dsys_null(pooled, seed=1)
    assert dsys_null(pooled, seed=1) != dsys_null(pooled, seed=2)


@given(score_sets)
def test_calibrated_dsys_is_the_integral_over_the_likelihood_ratios_of_pav(scores):
    llr, _ = pav_llrs(*scores)
    shares = [1.0 if np.isposinf(x) else float(np.tanh(max(x, 0) / 2)) for x in llr]
    assert dsys_pav(pool(*scores)) == pytest.approx(sum(shares) / len(shares), abs=1e-12)


def calibrated(n, utts, shift, seed, pair=0.7):
    """`dsys_calibrated` of n speakers against each other; scores vary with the pair of speakers."""
    rng = np.random.default_rng(seed)
    enroll, utt = np.divmod(np.arange(n * n * utts), n * utts)
    speaker = utt // utts
    score = rng.normal(0, pair, (n, n))[enroll, speaker] + rng.normal(size=len(enroll)) + shift * (enroll == speaker)
    records = verification(ScoredTrials(score, enroll == speaker, enroll, speaker), 0)
    return next(record.value for record in records if record.metric == "dsys_calibrated")


@pytest.mark.parametrize(("n", "utts"), [(2, 1), (2, 20), (4, 10), (40, 1), (12, 8)])
def test_separated_scores_are_fully_linkable_at_any_sample_size(n, utts):
    assert calibrated(n, utts, shift=1000, seed=0) == 1


@pytest.mark.parametrize(("n", "utts"), [(4, 10), (12, 8), (30, 4)])
def test_indistinguishable_scores_are_not_linkable_at_any_sample_size(n, utts):
    values = [calibrated(n, utts, shift=0, seed=seed) for seed in range(20)]
    # Half of the samples lie above the level of strangers by luck.
    assert np.median(values) < 0.05
    assert np.mean(values) < 0.08


def test_the_published_estimator_does_not_see_that_forty_targets_are_separated():
    assert dsys(pool(np.full(40, 1.0), np.zeros(400))) < 0.6
    assert dsys_pav(pool(np.full(40, 1.0), np.zeros(400))) == 1


def test_equal_scores_are_not_linkable():
    trials = ScoredTrials(np.ones(36), np.eye(6, dtype=bool).ravel(), *np.divmod(np.arange(36), 6))
    assert verification(trials, 0)[-1].value == 0


def three_strangers(a, b):
    """Three speakers with an utterance each; strangers one place further score `a`, two places further `b`."""
    enroll, speaker = np.divmod(np.arange(9), 3)
    return np.choose((speaker - enroll) % 3, [9.0, a, b]), enroll == speaker, enroll, speaker


def test_strangers_change_places_as_a_whole_from_three_speakers_on():
    # Two orders leave nobody in place. In one the strangers taken for targets score above all others, in one below.
    found = {level_of_strangers(*three_strangers(1.0, 2.0), permutations=1, seed=seed) for seed in range(20)}
    assert found == {0.0, 1.0}
    both = level_of_strangers(*three_strangers(1.0, 2.0), permutations=400)
    assert both == pytest.approx(0.5, abs=0.1)


def test_single_labels_are_shuffled_where_a_pair_of_speakers_did_not_meet():
    score, is_target, enroll, speaker = (column[:8] for column in three_strangers(1.0, 2.0))
    is_target = is_target | ((enroll == 2) & (speaker == 0))
    found = {level_of_strangers(score, is_target, enroll, speaker, permutations=1, seed=seed) for seed in range(20)}
    assert not found <= {0.0, 1.0}


def test_scores_that_span_the_range_of_numbers_are_put_into_even_bins():
    found = edges_of_bins(np.array(-1.6e308), np.array(1.6e308), 4)
    assert found == pytest.approx([-1.6e308, -0.8e308, 0, 0.8e308, 1.6e308])
    assert edges_of_bins(np.array([0.0, 1.0]), np.array([2.0, 5.0]), 2).tolist() == [[0, 1, 2], [1, 3, 5]]


@pytest.mark.parametrize(("targets", "bins"), [(9, 0), (20, 2), (999, 99), (1000, 100), (5000, 100)])
def test_there_is_a_bin_for_ten_targets_and_there_are_a_hundred_at_most(targets, bins):
    assert number_of_bins(np.array(targets)) == bins
