"""The two-sided Mann-Whitney U test.

U counts the pairs (x, y) with x > y, ties as half. For large samples or with ties, U is compared with a normal
distribution of mean nm/2 and the variance that ties leave, with continuity correction (Mann & Whitney, On a test of
whether one of two random variables is stochastically larger than the other, 1947); small samples without ties are
counted exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

_SMALL = 8


@dataclass(frozen=True)
class MannWhitney:
    """U of the first sample, and the two-sided p value of "neither tends to be larger"."""

    u: float
    p_value: float


def mann_whitney(x: ArrayLike, y: ArrayLike) -> MannWhitney:
    """Compare two samples.

    >>> mann_whitney([1, 1, 2], [1, 2, 2]).u
    3.0
    """
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    n, m = len(first), len(second)
    if not n or not m:
        raise ValueError("both samples need at least one value")
    _, place, counts = np.unique(np.concatenate((first, second)), return_inverse=True, return_counts=True)
    mean_rank = np.cumsum(counts) - (counts - 1) / 2
    u = float(mean_rank[place[:n]].sum() - n * (n + 1) / 2)
    if counts.max() == 1 and min(n, m) <= _SMALL:
        from scipy.stats import mannwhitneyu  # costs a second, which only small samples should pay

        return MannWhitney(u, float(mannwhitneyu(first, second, method="exact").pvalue))
    total = n + m
    ties = float((counts.astype(np.float64) ** 3 - counts).sum())
    variance = n * m / 12 * (total + 1 - ties / (total * (total - 1)))
    if variance <= 0:
        return MannWhitney(u, 1.0)
    z = max(0.0, abs(u - n * m / 2) - 0.5) / math.sqrt(variance)
    return MannWhitney(u, math.erfc(z / math.sqrt(2)))
