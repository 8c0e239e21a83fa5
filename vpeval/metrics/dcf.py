"""Minimum detection cost (NIST SRE; C_miss = C_fa = 1).

minDCF(p) = min over θ of p·Pmiss(θ) + (1-p)·Pfa(θ), divided by min(p, 1-p), the cost of the better constant decision;
"accept all" and "reject all" are among the thresholds, so it never exceeds 1.
"""

from __future__ import annotations

import numpy as np

from vpeval.metrics.scores import PooledScores


def min_dcf(pooled: PooledScores, p_target: float) -> float:
    """Normalised minimum detection cost at the target prior `p_target`.

    >>> from vpeval.metrics.scores import pool
    >>> min_dcf(pool([1, 1], [0, 0]), 0.01), min_dcf(pool([0], [0]), 0.01)
    (0.0, 1.0)
    """
    # A linear cost is least at a vertex of the convex hull of the ROC, that is between two PAV blocks.
    p_miss = np.concatenate(([0], np.cumsum(pooled.blocks.targets))) / pooled.n_targets
    p_reject = np.concatenate(([0], np.cumsum(pooled.blocks.nontargets))) / pooled.n_nontargets
    cost = p_target * p_miss + (1 - p_target) * (1 - p_reject)
    return float(cost.min() / min(p_target, 1 - p_target))
