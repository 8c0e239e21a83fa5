"""Cost of log-likelihood ratios (Brümmer & du Preez, Application-independent evaluation of speaker detection, 2006).

Cllr = ½ [mean over targets of log2(1+e^-s) + mean over nontargets of log2(1+e^s)], in bits; the scores s are read as
log-likelihood ratios. min Cllr is the Cllr after the best monotone calibration (PAV, no Laplace smoothing): it
depends on the order of the scores only and lies in [0, 1].
"""

from __future__ import annotations

import numpy as np

from vpeval.metrics.scores import Counts, Floats, PooledScores


def cllr(pooled: PooledScores) -> float:
    """Cllr of the scores as they are.

    >>> from vpeval.metrics.scores import pool
    >>> cllr(pool([0.0], [0.0]))
    1.0
    """
    return _mean_cost(*pooled.costs, pooled.targets, pooled.nontargets, prior=0.5)


def min_cllr(pooled: PooledScores) -> float:
    """Cllr of the PAV-calibrated scores; infinite log-likelihood ratios, always right, cost nothing."""
    blocks = pooled.blocks
    return cross_entropy(blocks.llr(pooled.prior_log_odds), blocks.targets, blocks.nontargets)


def cross_entropy(llr: Floats, targets: Counts, nontargets: Counts, prior_log_odds: float = 0.0) -> float:
    """Empirical cross-entropy in bits at a prior; Cllr is its value at prior log-odds 0."""
    costs = np.logaddexp(0, -prior_log_odds - llr), np.logaddexp(0, prior_log_odds + llr)
    return _mean_cost(*costs, targets, nontargets, prior=1 / (1 + np.exp(-prior_log_odds)))


def _mean_cost(of_miss: Floats, of_alarm: Floats, targets: Counts, nontargets: Counts, prior: float) -> float:
    t, n = np.flatnonzero(targets), np.flatnonzero(nontargets)  # elsewhere 0 × inf would be NaN instead of no cost
    # Not a scalar product of BLAS, whose threads would spin at every resample, and whose last digit depends on them.
    miss = (of_miss[t] * targets[t]).sum() / targets.sum()
    false_alarm = (of_alarm[n] * nontargets[n]).sum() / nontargets.sum()
    return float((prior * miss + (1 - prior) * false_alarm) / np.log(2))
