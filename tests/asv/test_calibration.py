import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from vpeval.asv.backend import fit_calibration
from vpeval.metrics.score_metrics import cllr, min_cllr
from vpeval.metrics.scores import pool


def test_gaussian_scores_get_their_true_log_likelihood_ratio():
    # N(2, 1) against N(0, 1): the log-likelihood ratio of score s is 2 s - 2
    rng = np.random.default_rng(0)
    line = fit_calibration(rng.normal(2, 1, 20000), rng.normal(0, 1, 20000))
    assert (line.slope, line.offset) == pytest.approx((2, -2), abs=0.06)


def test_unequal_numbers_of_trials_do_not_shift_the_ratio():
    rng = np.random.default_rng(1)
    line = fit_calibration(rng.normal(2, 1, 1000), rng.normal(0, 1, 50000))
    assert (line.slope, line.offset) == pytest.approx((2, -2), abs=0.2)


def test_the_line_is_that_of_a_weighted_logistic_regression():
    rng = np.random.default_rng(2)
    targets, nontargets = rng.normal(0.6, 0.2, 4000), rng.normal(0.2, 0.2, 9000)
    other = LogisticRegression(C=1e9, class_weight="balanced", tol=1e-10)
    other.fit(np.concatenate((targets, nontargets))[:, None], np.repeat([1, 0], [4000, 9000]))
    line = fit_calibration(targets, nontargets)
    assert (line.slope, line.offset) == pytest.approx((other.coef_[0, 0], other.intercept_[0]), rel=0.02)


def test_calibrated_cosines_cost_hardly_more_than_the_minimum():
    rng = np.random.default_rng(3)
    targets, nontargets = rng.normal(0.6, 0.15, 3000), rng.normal(0.1, 0.15, 30000)
    line = fit_calibration(targets, nontargets)
    before, after = pool(targets, nontargets), pool(line(targets), line(nontargets))
    assert cllr(before) > 0.8
    assert min_cllr(after) <= cllr(after) < min_cllr(after) + 0.02


def test_separated_scores_have_a_finite_slope():
    line = fit_calibration(np.array([0.8, 0.9]), np.array([0.1, 0.2]))
    assert 0 < line.slope < 100


def test_scores_the_wrong_way_round_say_nothing():
    line = fit_calibration(np.array([0.1, 0.2]), np.array([0.8, 0.9]))
    assert line.slope == 0
