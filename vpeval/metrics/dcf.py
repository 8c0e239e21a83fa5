"""Minimum detection cost (NIST SRE; C_miss = C_fa = 1).

minDCF(p) = min over θ of p·Pmiss(θ) + (1-p)·Pfa(θ), divided by min(p, 1-p), the cost of the better constant decision;
"accept all" and "reject all" are among the thresholds, so it never exceeds 1.
"""

from __future__ import annotations

import numpy as np

from vpeval.metrics.scores import Floats, Hulls, PooledScores


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
