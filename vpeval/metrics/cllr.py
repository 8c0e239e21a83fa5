"""Cost of log-likelihood ratios (Brümmer & du Preez, Application-independent evaluation of speaker detection, 2006).

Cllr = ½ [mean over targets of log2(1+e^-s) + mean over nontargets of log2(1+e^s)], in bits; the scores s are read as
log-likelihood ratios. min Cllr is the Cllr after the best monotone calibration (PAV, no Laplace smoothing): it
depends on the order of the scores only and lies in [0, 1].
"""

from __future__ import annotations

import numpy as np

from vpeval.metrics.scores import Counts, Floats, Hulls, PooledScores


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
