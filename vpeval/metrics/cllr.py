"""Cost of log-likelihood ratios (Brümmer & du Preez, Application-independent evaluation of speaker detection, 2006).

Cllr = ½ [mean over targets of log2(1+e^-s) + mean over nontargets of log2(1+e^s)], in bits; the scores s are read as
log-likelihood ratios. min Cllr is the Cllr after the best monotone calibration (PAV, no Laplace smoothing): it
depends on the order of the scores only and lies in [0, 1].

Minimum detection cost (NIST SRE; C_miss = C_fa = 1).

minDCF(p) = min over θ of p·Pmiss(θ) + (1-p)·Pfa(θ), divided by min(p, 1-p), the cost of the better constant decision;
"accept all" and "reject all" are among the thresholds, so it never exceeds 1.

Curves behind the verification numbers, as data for figures.

DET: the corners of the staircase (Pfa, Pmiss), from "accept all" to "reject all" (Martin et al., The DET curve, 1997).
ECE: empirical cross-entropy over the prior log-odds, natural logarithm (Ramos & Gonzalez-Rodriguez, Reliable support:
measuring calibration of likelihood ratios, 2013): without evidence (default), of the scores as they are (actual),
and after PAV calibration (minimum). The area between default and minimum over the prior is ZEBRA's population value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vpeval.core.arrays import Counts, Floats
from vpeval.metrics.scores import Hulls, PooledScores


def cllr(pooled: PooledScores) -> float:
    """Cllr of the scores as they are.

    >>> from vpeval.metrics.scores import pool
    >>> cllr(pool([0.0], [0.0]))
    1.0
    """
    t, n = np.flatnonzero(pooled.targets), np.flatnonzero(pooled.nontargets)
    # Not scalar products of BLAS, whose last digits depend on its threads.
    miss = (np.logaddexp(0, -pooled.score[t]) * pooled.targets[t]).sum() / pooled.n_targets
    alarm = (np.logaddexp(0, pooled.score[n]) * pooled.nontargets[n]).sum() / pooled.n_nontargets
    return float((0.5 * miss + 0.5 * alarm) / np.log(2))


def min_cllr(pooled: PooledScores) -> float:
    """Cllr of the PAV-calibrated scores; infinite log-likelihood ratios, always right, cost nothing."""
    return float(min_cllrs(pooled.hull)[0])


def min_cllrs(hulls: Hulls) -> Floats:
    """`min_cllr` of samples whose hulls are known."""
    with np.errstate(invalid="ignore"):  # 0 × inf is no cost
        miss = np.where(hulls.targets > 0, hulls.targets * np.logaddexp(0, -hulls.llr), 0)
        alarm = np.where(hulls.nontargets > 0, hulls.nontargets * np.logaddexp(0, hulls.llr), 0)
    return (hulls.sums(miss) / hulls.n_targets + hulls.sums(alarm) / hulls.n_nontargets) / (2 * np.log(2))


def cross_entropy(llr: Floats, targets: Counts, nontargets: Counts, prior_log_odds: Floats) -> Floats:
    """Empirical cross-entropy in bits at every prior; Cllr is its value at prior log-odds 0."""
    kept = (np.flatnonzero(counts) for counts in (targets, nontargets))  # elsewhere, 0 × inf would be no cost
    (miss, t), (alarm, n) = (
        (sign * llr[some], counts[some] / counts.sum())
        for sign, counts, some in zip((-1, 1), (targets, nontargets), kept, strict=True)
    )
    costs = [((_softplus(miss - x) * t).sum(), (_softplus(alarm + x) * n).sum()) for x in prior_log_odds.tolist()]
    of_miss, of_alarm = np.array(costs).T
    prior = 1 / (1 + np.exp(-prior_log_odds))
    found: Floats = (prior * of_miss + (1 - prior) * of_alarm) / np.log(2)
    return found


def _softplus(x: Floats) -> Floats:
    """log(1+e^x), several times as fast as `np.logaddexp` and as exact next to 1."""
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def min_dcf(pooled: PooledScores, p_target: float) -> float:
    """Normalised minimum detection cost at the target prior `p_target`.

    >>> from vpeval.metrics.scores import pool
    >>> min_dcf(pool([1, 1], [0, 0]), 0.01), min_dcf(pool([0], [0]), 0.01)
    (0.0, 1.0)
    """
    return float(min_dcfs(pooled.hull, p_target)[0])


def min_dcfs(hulls: Hulls, p_target: float) -> Floats:
    """`min_dcf` of samples whose hulls are known."""
    # A linear cost is least at a vertex of the convex hull of the ROC, that is between two PAV blocks.
    p_miss, p_reject = hulls.missed / hulls.spread(hulls.n_targets), hulls.rejected / hulls.spread(hulls.n_nontargets)
    cost = np.minimum.reduceat(p_target * p_miss + (1 - p_target) * (1 - p_reject), hulls.starts)
    accept_all = 1 - p_target
    return np.minimum(cost, accept_all) / min(p_target, 1 - p_target)


@dataclass(frozen=True)
class DetCurve:
    """Points of a DET curve; the threshold rises from point to point."""

    p_fa: Floats
    p_miss: Floats


@dataclass(frozen=True)
class EceCurves:
    """Cross-entropies in bits at each prior log-odds."""

    prior_log_odds: Floats
    default: Floats
    actual: Floats
    minimum: Floats


def det_curve(pooled: PooledScores, max_points: int = 2000) -> DetCurve:
    """The corners of the DET staircase; more than `max_points` are subsample_ranks to equal steps on logit axes."""
    misses = np.concatenate(([0], np.cumsum(pooled.targets)))
    false_alarms = np.concatenate((np.cumsum(pooled.nontargets[::-1])[::-1], [0]))
    # A point between two steps in the same direction lies on a straight line and shows nothing.
    straight = ((misses[2:] == misses[:-2]) | (false_alarms[2:] == false_alarms[:-2])).nonzero()[0] + 1
    misses, false_alarms = np.delete(misses, straight), np.delete(false_alarms, straight)
    p_fa, p_miss = false_alarms / pooled.n_nontargets, misses / pooled.n_targets
    if len(p_fa) > max_points:
        length = _logit_steps(p_fa, pooled.n_nontargets) + _logit_steps(p_miss, pooled.n_targets)
        path = np.concatenate(([0], np.cumsum(length)))
        kept = np.unique(np.searchsorted(path, np.linspace(0, path[-1], max_points)))
        p_fa, p_miss = p_fa[kept], p_miss[kept]
    return DetCurve(p_fa, p_miss)


def ece_curves(pooled: PooledScores, limit: float = 7.0, points: int = 141) -> EceCurves:
    """The three ECE curves over prior log-odds from -limit to limit."""
    prior_log_odds = np.linspace(-limit, limit, points)
    blocks = pooled.blocks
    no_evidence, one = np.zeros(1), np.ones(1, dtype=np.int64)
    return EceCurves(
        prior_log_odds,
        default=cross_entropy(no_evidence, one, one, prior_log_odds),
        actual=cross_entropy(pooled.score, pooled.targets, pooled.nontargets, prior_log_odds),
        minimum=cross_entropy(pooled.hull.llr, blocks.targets, blocks.nontargets, prior_log_odds),
    )


def _logit_steps(p: Floats, trials: int) -> Floats:
    """Distances between neighbouring points on a logit axis; 0 and 1 stand half a trial away from the ends."""
    inside = np.clip(p, 0.5 / trials, 1 - 0.5 / trials)
    return np.abs(np.diff(np.log(inside / (1 - inside))))
