from math import log2

import numpy as np
import pytest
from scipy.stats import spearmanr

from vpeval.metrics.inference import class_weights, entropy, information, rank_correlation


def test_information_is_entropy_less_cross_entropy_on_a_small_channel():
    # A voice says the sex rightly in 3 of 4 cases; 2 of 3 speakers are women. All twelve cases, each once.
    prior = np.array([2 / 3, 1 / 3])
    channel = np.array([[3 / 4, 1 / 4], [1 / 4, 3 / 4]])
    cases = [(sex, recognised) for sex, recognised in [(0, 0)] * 6 + [(0, 1)] * 2 + [(1, 0)] * 1 + [(1, 1)] * 3]
    joint = prior[:, None] * channel
    posteriors = np.array([joint[:, recognised] / joint[:, recognised].sum() for _, recognised in cases])
    truth = np.array([sex for sex, _ in cases])
    exact = sum(joint[s, h] * log2(joint[s, h] / (prior[s] * joint[:, h].sum())) for s in (0, 1) for h in (0, 1))
    assert information(posteriors, truth, prior).mean() == pytest.approx(exact)
    assert entropy(prior) == pytest.approx(2 / 3 * log2(3 / 2) + 1 / 3 * log2(3))


def test_repeating_the_prior_gives_nothing_and_being_sure_and_right_the_entropy():
    prior, truth = np.array([0.5, 0.25, 0.25]), np.array([0, 0, 1, 2])
    assert information(np.tile(prior, (4, 1)), truth, prior).tolist() == [0] * 4
    assert information(np.eye(3)[truth], truth, prior).mean() == pytest.approx(entropy(prior)) == 1.5


def test_rank_correlation_is_spearmans():
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 5, 30).astype(float), rng.integers(0, 5, 30).astype(float)
    assert rank_correlation(x, y) == pytest.approx(spearmanr(x, y).statistic)
    assert rank_correlation(np.ones(4), np.arange(4.0)) == 0


def test_weights_let_every_class_count_the_same():
    truth = np.array([0] * 9 + [1])
    right = np.array([1] * 9 + [0])
    assert (class_weights(truth) * right).mean() == pytest.approx(0.5)
