from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from vpeval.embeddings.plda import Plda, Prior, fit, gather


def covariance(dimension, seed, scale=1.0):
    root = np.random.default_rng(seed).standard_normal((dimension, 2 * dimension))
    return scale * root @ root.T / (2 * dimension)


def draw(plda, counts, seed=0):
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(len(counts)), counts)
    speakers = rng.multivariate_normal(plda.mean, plda.between, len(counts))
    return speakers[owners] + rng.multivariate_normal(np.zeros(len(plda.mean)), plda.within, len(owners)), owners


def joint(plda, vectors):
    """Log-density of vectors of one speaker, as one long Gaussian vector."""
    n = len(vectors)
    wide = np.kron(np.ones((n, n)), plda.between) + np.kron(np.eye(n), plda.within)
    return multivariate_normal(np.tile(plda.mean, n), wide).logpdf(np.concatenate(vectors))


@pytest.fixture
def model():
    return Plda(np.array([0.5, -1.0, 2.0, 0.0]), covariance(4, 1, 2.0), covariance(4, 2, 0.7))


@pytest.mark.parametrize("count", range(1, 8))
def test_llr_is_the_ratio_of_the_joint_gaussians(model, count):
    rng = np.random.default_rng(count)
    enroll = [rng.multivariate_normal(model.mean, 3 * np.eye(4), count) for _ in range(5)]
    trials = rng.multivariate_normal(model.mean, 3 * np.eye(4), 6)
    ours = model.llr(np.array([rows.mean(axis=0) for rows in enroll]), np.full(5, count), trials)
    for row, vectors in zip(ours, enroll, strict=True):
        for score, trial in zip(row, trials, strict=True):
            exact = joint(model, [*vectors, trial]) - joint(model, list(vectors)) - joint(model, [trial])
            assert score == pytest.approx(exact, abs=1e-8)


def test_speakers_with_different_numbers_of_utterances_are_scored_each_with_its_own(model):
    enroll, trials = np.random.default_rng(0).standard_normal((2, 3, 4))
    together = model.llr(enroll, np.array([1, 4, 7]), trials)
    for row, vector, count in zip(together, enroll, (1, 4, 7), strict=True):
        assert row == pytest.approx(model.llr(vector[None], np.array([count]), trials)[0])


def test_one_dimension_by_hand():
    # B = W = 1, n = 1, m = t = 1: N(1; 1/2, 3/2) against N(1; 0, 2)
    plda = Plda(np.zeros(1), np.eye(1), np.eye(1))
    by_hand = -0.5 * np.log(1.5) - 0.25 / 3 + 0.5 * np.log(2) + 0.25
    assert plda.llr(np.ones((1, 1)), np.array([1]), np.ones((1, 1)))[0, 0] == pytest.approx(by_hand)


def test_without_variation_between_speakers_every_score_is_zero(model):
    flat = Plda(model.mean, np.zeros((4, 4)), model.within)
    assert flat.llr(np.ones((2, 4)), np.array([1, 5]), np.zeros((3, 4))) == pytest.approx(np.zeros((2, 3)), abs=1e-12)


def test_log_likelihood_is_that_of_the_joint_gaussians(model):
    counts = [1, 3, 3, 5]
    vectors, owners = draw(model, counts)
    exact = sum(joint(model, list(vectors[owners == speaker])) for speaker in range(4))
    assert model.log_likelihood(gather(vectors, owners)) == pytest.approx(exact, abs=1e-9)


@settings(max_examples=15)
@given(st.lists(st.integers(1, 6), min_size=3, max_size=10), st.integers(0, 99), st.sampled_from([0.0, 5.0]))
def test_every_iteration_of_em_climbs(counts, seed, weight):
    true = Plda(np.zeros(3), covariance(3, seed, 2.0), covariance(3, seed + 1))
    vectors, owners = draw(true, [*counts, 6, 6], seed)
    climbed = fit(gather(vectors, owners), iterations=15, prior=Prior(weight, weight)).objective
    assert all(after >= before - 1e-8 * abs(before) for before, after in pairwise(climbed))


def test_em_recovers_the_covariances(model):
    vectors, owners = draw(model, [4] * 3000, seed=3)
    found = fit(gather(vectors, owners), iterations=60).plda
    assert found.mean == pytest.approx(model.mean, abs=0.1)
    assert np.linalg.norm(found.between - model.between) < 0.06 * np.linalg.norm(model.between)
    assert np.linalg.norm(found.within - model.within) < 0.03 * np.linalg.norm(model.within)


def test_em_ends_where_the_likelihood_is_greatest(model):
    vectors, owners = draw(model, [5] * 40, seed=4)
    stats = gather(vectors, owners)
    best = fit(stats, iterations=500).plda
    top = best.log_likelihood(stats)
    for seed in range(4):
        nudge = covariance(4, seed, 0.05)
        for other in (
            Plda(best.mean, best.between + nudge, best.within),
            Plda(best.mean, best.between, best.within + nudge),
        ):
            assert other.log_likelihood(stats) < top


def test_a_strong_prior_makes_both_covariances_isotropic(model):
    vectors, owners = draw(model, [5] * 6)
    found = fit(gather(vectors, owners), prior=Prior(1e9, 1e9)).plda
    for matrix in (found.between, found.within):
        assert matrix == pytest.approx(np.eye(4) * matrix[0, 0], rel=1e-6, abs=1e-6)


def test_fewer_speakers_than_dimensions_give_a_usable_model():
    rng = np.random.default_rng(0)
    vectors, owners = rng.standard_normal((12, 30)), np.repeat(np.arange(3), 4)
    found = fit(gather(vectors, owners), prior=Prior(30, 30))
    assert np.isfinite(found.objective).all()
    assert np.isfinite(found.plda.llr(vectors[:3], np.ones(3, int), vectors)).all()
