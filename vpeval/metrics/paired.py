"""Tests: two systems on the same speech, many tests at once, two samples, and the ranks of a listener.

Two systems on the same speech: how far apart they are, and whether that may be chance.

Both are measured on the same speakers, and a resample draws the same speakers for both (see `resampling`), so that what
is common to both cancels. A difference is assessed by its standard error over resamples: value less bias, over the
standard error, against Student's distribution with a degree of freedom less per group of speakers than there are
speakers. p can be as small as the speakers allow, whatever the number of resamples; a share of resamples cannot be
below 1/resamples, which no correction for many tests survives. It is never below 2^(1-speakers), which a sign test
reaches if all speakers agree: tails beyond that are those of Student's distribution and not of the speakers. From six
speakers on, p is below 0.05 where the interval is clear of 0, and only there.

Holm's correction for many tests (A simple sequentially rejective multiple test procedure, 1979).

It keeps the chance of any false alarm among all tests at the level, whatever their dependence.

The two-sided Mann-Whitney U test.

U counts the pairs (x, y) with x > y, ties as half. For large samples or with ties, U is compared with a normal
distribution of mean nm/2 and the variance that ties leave, with continuity correction (Mann & Whitney, On a test of
whether one of two random variables is stochastically larger than the other, 1947); small samples without ties are
counted exactly.

Normalised ranks of one listener's scores (Rosenberg & Ramabhadran, Bias and statistical significance in evaluating
speech synthesis with mean opinion scores, 2017; VoicePrivacy 2020 supplement, section 4.2).

The scores of a listener are sorted, equal ones share the mean of their ranks, and a score becomes (rank - 1) / n: a
number from 0 to 1 that no longer depends on which part of the scale the listener likes to use.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from vpeval.core.arrays import Floats, Indices
from vpeval.metrics.intervals import FEWEST


@dataclass(frozen=True)
class Assessed:
    """A difference with its 95 % interval and the two-sided p value of "no difference"; None where there is none."""

    value: float
    lower: float | None = None
    upper: float | None = None
    p_value: float | None = None


def assess(value: float, samples: Floats, speakers: int, groups: int = 1) -> Assessed:
    """Assess a difference by its values for resampled speakers, who were drawn within each of `groups`.

    >>> assess(0.0, np.zeros(100), speakers=10)
    Assessed(value=0.0, lower=0.0, upper=0.0, p_value=1.0)
    """
    freedom = speakers - groups
    if freedom < FEWEST - 1 or not len(samples) or not np.isfinite(value) or not np.isfinite(samples).all():
        return Assessed(value)
    least = 2.0 ** (1 - speakers)
    error = float(np.std(samples)) * np.sqrt(speakers / freedom)
    if error <= 1e-12 * max(1.0, abs(value)):
        return Assessed(value, value, value, least if value else 1.0)
    from scipy.special import stdtr, stdtrit

    centre = 2 * value - float(np.mean(samples))
    reach = float(stdtrit(freedom, 0.975)) * error
    p = max(least, min(1.0, 2 * float(stdtr(freedom, -abs(centre) / error))))
    return Assessed(value, min(value, centre - reach), max(value, centre + reach), p)


def holm(p_values: ArrayLike) -> Floats:
    """Holm's corrected p values, in the order given.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03]).tolist()]
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, (len(p) - np.arange(len(p))) * p[order]))
    return corrected


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


def normalised_ranks(scores: ArrayLike) -> Floats:
    """(average rank - 1) / n of every score.

    >>> normalised_ranks([2, 1, 2, 10, 4, 5, 6, 4, 5, 7]).tolist()
    [0.15, 0.0, 0.15, 0.9, 0.35, 0.55, 0.7, 0.35, 0.55, 0.8]
    """
    values = np.asarray(scores, dtype=np.float64)
    return ranks_within(values, np.zeros(len(values), dtype=np.intp))


def ranks_within(scores: ArrayLike, owner: Indices) -> Floats:
    """Normalised ranks of the scores of each owner by themselves."""
    values = np.asarray(scores, dtype=np.float64)
    if not len(values):
        return np.empty(0)
    order = np.lexsort((values, owner))
    sorted_values, sorted_owner = values[order], owner[order]
    new_owner = np.concatenate(([True], sorted_owner[1:] != sorted_owner[:-1]))
    new_score = new_owner | np.concatenate(([True], sorted_values[1:] != sorted_values[:-1]))
    first, owner_first = np.flatnonzero(new_score), np.flatnonzero(new_owner)
    size = np.diff(first, append=len(values))
    of_owner = np.cumsum(new_owner)[first] - 1
    total = np.diff(owner_first, append=len(values))[of_owner]
    shared = (first - owner_first[of_owner] + (size - 1) / 2) / total
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(shared, size)
    return ranks
