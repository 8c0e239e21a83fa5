import math

import numpy as np
import pytest
from hypothesis import given
from oracles import error_rates, score_sets
from scipy.special import logit

from vpeval.metrics.score_metrics import cllr, det_curve, ece_curves, min_cllr
from vpeval.metrics.scores import pool


def staircase_corners(targets, nontargets):
    """The points of the staircase without those that lie between two steps in the same direction."""
    points = error_rates(targets, nontargets)
    inner = [
        here
        for before, here, after in zip(points, points[1:], points[2:], strict=False)
        if before[0] != after[0] and before[1] != after[1]
    ]
    return [points[0], *inner, points[-1]]


@given(score_sets)
def test_det_points_are_the_corners_of_the_staircase(scores):
    curve = det_curve(pool(*scores))
    points = np.array([curve.p_fa, curve.p_miss]).T
    assert points == pytest.approx(np.array(staircase_corners(*scores)))
    assert points[0].tolist() == [1, 0]
    assert points[-1].tolist() == [0, 1]


def test_det_curve_by_hand():
    curve = det_curve(pool([1, 3, 4, 5], [0, 2]))
    assert curve.p_fa.tolist() == [1, 0.5, 0.5, 0, 0]
    assert curve.p_miss.tolist() == [0, 0, 0.25, 0.25, 1]


def test_long_det_curves_are_thinned_and_keep_their_ends():
    rng = np.random.default_rng(0)
    pooled = pool(rng.normal(1, 1, 4000), rng.normal(size=20_000))
    full, thin = det_curve(pooled, 10**6), det_curve(pooled, 300)
    assert len(full.p_fa) > 3000
    assert 150 < len(thin.p_fa) <= 300
    assert (thin.p_fa[0], thin.p_miss[-1]) == (1, 1)
    assert (np.diff(thin.p_fa) <= 0).all()
    assert (np.diff(thin.p_miss) >= 0).all()
    kept = np.interp(full.p_miss, thin.p_miss, thin.p_fa)
    assert np.abs(kept - full.p_fa).max() < 0.02


@given(score_sets)
def test_ece_curves_pass_through_cllr_and_keep_their_order(scores):
    pooled = pool(*scores)
    curves = ece_curves(pooled, points=29)
    assert curves.prior_log_odds[14] == 0
    assert curves.default[14] == pytest.approx(1)
    assert curves.actual[14] == pytest.approx(cllr(pooled))
    assert curves.minimum[14] == pytest.approx(min_cllr(pooled))
    assert (curves.minimum <= curves.default + 1e-12).all()
    assert (curves.minimum <= curves.actual + 1e-12).all()


def test_the_default_curve_is_the_binary_entropy():
    curves = ece_curves(pool([1.0], [0.0]))
    assert (curves.prior_log_odds[0], curves.prior_log_odds[-1]) == (-7, 7)
    p = 1 / (1 + math.exp(-curves.prior_log_odds[100]))
    assert curves.default[100] == pytest.approx(-p * math.log2(p) - (1 - p) * math.log2(1 - p))


def test_thinned_det_curves_have_points_at_equal_steps_on_logit_axes():
    rng = np.random.default_rng(1)
    pooled = pool(rng.normal(1, 1, 300), rng.normal(size=500))
    full, thin = det_curve(pooled, 10**6), det_curve(pooled, 40)
    # 0 and 1 have no logit; they stand half a trial from the end.
    x = logit(np.clip(full.p_fa, 1 / 1000, 1 - 1 / 1000))
    y = logit(np.clip(full.p_miss, 1 / 600, 1 - 1 / 600))
    path = [float(np.abs(np.diff(x))[:k].sum() + np.abs(np.diff(y))[:k].sum()) for k in range(len(x))]
    kept = sorted({next(k for k, way in enumerate(path) if way >= path[-1] * n / 39 - 1e-12) for n in range(40)})
    assert thin.p_fa.tolist() == full.p_fa[kept].tolist()
    assert thin.p_miss.tolist() == full.p_miss[kept].tolist()
