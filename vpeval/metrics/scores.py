"""Target and nontarget scores, sorted and pooled once, and their equal error rates.

Every verification metric follows from the pooled scores.

A tie is one block: scores that are equal cannot be told apart, whatever their labels, so the pooled form keeps each
distinct score once, with its number of target and nontarget trials. Calibration is the pool-adjacent-violators
algorithm (PAV) on these counts: the best non-decreasing map from scores to posteriors (Brümmer & du Preez,
Application-independent evaluation of speaker detection, 2006). Its blocks are also the vertices of the ROC convex hull.

Counts may be weights of a resample: `reweighted` answers "what if trial i counted w[i] times" without another sort.

Equal error rate: three numbers with the same name.

With Pmiss(θ) = #(t ≤ θ)/Nt and Pfa(θ) = #(n > θ)/Nn (VoicePrivacy 2020 evaluation plan):

- `eer_kaldi` (VoicePrivacy 2020, 2022): scores as float32, both classes sorted; k/Nt with the smallest k in 0..Nt-2
  for which n[Nn-1-floor(Nn·k/Nt)] < t[k], else (Nt-1)/Nt. It can exceed 50 %; equal scores give (Nt-1)/Nt.
  `eer_kaldi_fair` is the same number without what raises it for no merit of the anonymiser: it rounds nothing, and
  where target and nontarget scores tie, which Kaldi counts as an error every time, it takes the mean of the values
  with ties decided for and against the targets. Equal scores give 50 %.
- `eer_threshold` (VoicePrivacy 2024, 2026): (Pfa+Pmiss)/2 at the first observed score θ that minimises |Pfa-Pmiss|.
- `eer_rocch` (Legal, VoicePrivacy "ROCCH-EER"): where the convex hull of the ROC meets Pmiss = Pfa; at most 50 %.

1-EER, as in Figure 1 of the Legal paper, is `1 - eer_rocch(pool(targets, nontargets)).value`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vpeval.core.arrays import Counts, Floats
from vpeval.metrics.intervals import Interval

N = TypeVar("N", np.int64, np.float64)


@dataclass(frozen=True)
class Blocks:
    """Runs of neighbouring distinct scores that share one PAV posterior, in ascending order."""

    size: Counts
    targets: Counts
    nontargets: Counts

    def llr(self, prior_log_odds: float) -> Floats:
        """The calibrated log-likelihood ratio of each block; infinite where a block holds one class only."""
        with np.errstate(divide="ignore"):
            return np.log(self.targets) - np.log(self.nontargets) - prior_log_odds


@dataclass(frozen=True)
class Hulls:
    """PAV blocks of samples of trials, in ascending order; those of a sample come one after the other."""

    targets: Counts
    nontargets: Counts
    starts: Counts
    """The first block of every sample."""

    @cached_property
    def n_targets(self) -> Counts:
        """Number of target trials of every sample."""
        return self.sums(self.targets)

    @cached_property
    def n_nontargets(self) -> Counts:
        """Number of nontarget trials of every sample."""
        return self.sums(self.nontargets)

    @cached_property
    def missed(self) -> Counts:
        """How many targets of its sample lie up to the end of every block."""
        return self._cumulated(self.targets)

    @cached_property
    def rejected(self) -> Counts:
        """How many nontargets of its sample lie up to the end of every block."""
        return self._cumulated(self.nontargets)

    @cached_property
    def prior_log_odds(self) -> Floats:
        """log(Nt / Nn) of every sample."""
        return np.log(self.n_targets / self.n_nontargets)

    @cached_property
    def llr(self) -> Floats:
        """The calibrated log-likelihood ratio of each block; infinite where a block holds one class only."""
        with np.errstate(divide="ignore"):
            return np.log(self.targets) - np.log(self.nontargets) - self.spread(self.prior_log_odds)

    def spread(self, values: NDArray[N]) -> NDArray[N]:
        """Values of samples, given to their blocks."""
        return np.repeat(values, np.diff(self.starts, append=len(self.targets)))

    def sums(self, values: NDArray[N]) -> NDArray[N]:
        """Sums of the values of blocks, over each sample."""
        return np.add.reduceat(values, self.starts)

    def _cumulated(self, counts: Counts) -> Counts:
        total = np.cumsum(counts)
        return total - self.spread(total[self.starts] - counts[self.starts])


@dataclass(frozen=True)
class PooledScores:
    """Distinct scores in ascending order with their numbers of target and nontarget trials (at least one of each)."""

    score: Floats
    targets: Counts
    nontargets: Counts

    def __str__(self) -> str:
        """How many scores there are, and in which range."""
        low, high = self.score[[0, -1]]
        return f"{self.n_targets} target and {self.n_nontargets} nontarget scores from {low:.4g} to {high:.4g}"

    @cached_property
    def n_targets(self) -> int:
        """Number of target trials."""
        return int(self.targets.sum())

    @cached_property
    def n_nontargets(self) -> int:
        """Number of nontarget trials."""
        return int(self.nontargets.sum())

    @cached_property
    def prior_log_odds(self) -> float:
        """log(Nt / Nn), which turns posterior into likelihood ratios."""
        return float(np.log(self.n_targets / self.n_nontargets))

    @cached_property
    def blocks(self) -> Blocks:
        """The PAV blocks of the pooled scores."""
        return _merge(Blocks(np.ones(len(self.score), dtype=np.int64), self.targets, self.nontargets))

    @cached_property
    def hull(self) -> Hulls:
        """The same blocks as those of one sample."""
        return Hulls(self.blocks.targets, self.blocks.nontargets, np.zeros(1, np.int64))

    @cached_property
    def laplace_llr(self) -> Floats:
        """Calibrated log-likelihood ratio of every distinct score, finite by Laplace's rule of succession.

        One virtual target and one virtual nontarget stand below all scores, and likewise above all scores.
        """
        blocks = self.blocks
        # Pooling is associative: the blocks of the real scores may be merged further instead of starting anew.
        padded = Blocks(
            np.concatenate(([0, 0], blocks.size, [0, 0])),
            np.concatenate(([1, 0], blocks.targets, [1, 0])),
            np.concatenate(([0, 1], blocks.nontargets, [0, 1])),
        )
        merged = _merge(padded)
        return np.repeat(merged.llr(self.prior_log_odds), merged.size)

    def reweighted(self, targets: Counts, nontargets: Counts) -> PooledScores:
        """The same scores with other counts; scores that no trial is left of are dropped."""
        kept = np.flatnonzero(targets + nontargets)
        return PooledScores(self.score[kept], targets[kept], nontargets[kept])


def pool(targets: ArrayLike, nontargets: ArrayLike) -> PooledScores:
    """Sort and pool target and nontarget scores (higher = more similar), given in any order.

    >>> pooled = pool([2.0, 1.0], [1.0, 0.0, 1.0])
    >>> pooled.score.tolist(), pooled.targets.tolist(), pooled.nontargets.tolist()
    ([0.0, 1.0, 2.0], [0, 1, 1], [1, 2, 0])
    """
    target_scores = np.asarray(targets, dtype=np.float64)
    nontarget_scores = np.asarray(nontargets, dtype=np.float64)
    if target_scores.size == 0 or nontarget_scores.size == 0:
        raise ValueError("at least one target and one nontarget score are needed")
    merged = np.sort(np.concatenate((target_scores, nontarget_scores)))
    if not np.isfinite(merged[[0, -1]]).all():  # NaN and +inf sort to the end, -inf to the start
        raise ValueError("scores must be finite")
    first = np.flatnonzero(np.concatenate(([True], merged[1:] != merged[:-1])))
    score = merged[first]
    # The rarer class is looked up; its sorted keys walk through memory in order, which is several times faster.
    fewer_targets = target_scores.size <= nontarget_scores.size
    rare = np.sort(target_scores if fewer_targets else nontarget_scores)
    rare_counts = np.bincount(np.searchsorted(score, rare), minlength=len(score))
    other_counts = np.diff(first, append=len(merged)) - rare_counts
    return PooledScores(score, *((rare_counts, other_counts) if fewer_targets else (other_counts, rare_counts)))


def _merge(blocks: Blocks) -> Blocks:
    """Merge neighbouring blocks until the posteriors do not decrease."""
    starts = pav_starts(blocks.targets, blocks.nontargets)
    return Blocks(*(np.add.reduceat(count, starts) for count in (blocks.size, blocks.targets, blocks.nontargets)))


def pav_starts(targets: Counts, nontargets: Counts) -> Counts:
    """Where the blocks start that ascending scores with so many trials (at least one each) are pooled into."""
    from scipy.optimize import isotonic_regression  # costs half a second, which --help should not pay

    total = targets + nontargets
    starts: Counts = isotonic_regression(targets / total, weights=total).blocks[:-1]
    return starts


@dataclass(frozen=True)
class Eer:
    """An equal error rate (a fraction) and the two error rates at its threshold."""

    value: float
    p_fa: float
    p_miss: float


def eer_kaldi(pooled: PooledScores) -> Eer:
    """The EER of Kaldi's compute-eer."""
    targets, opposite = _opposites(pooled, pooled.score.astype(np.float32))  # rounding keeps the order
    accepted = opposite[:-1] < targets[:-1]
    eer = (int(np.argmax(accepted)) if accepted.any() else len(targets) - 1) / len(targets)
    return Eer(eer, eer, eer)


def eer_kaldi_fair(pooled: PooledScores) -> Eer:
    """The EER of Kaldi's compute-eer, but for rounding and ties: they raise no error rate.

    >>> from vpeval.metrics.scores import pool
    >>> eer_kaldi(pool([0, 0], [0, 0, 0])).value, eer_kaldi_fair(pool([0, 0], [0, 0, 0])).value
    (0.5, 0.5)
    >>> eer_kaldi(pool([0] * 12, [0] * 132)).value, eer_kaldi_fair(pool([0] * 12, [0] * 132)).value
    (0.9166666666666666, 0.5)
    """
    targets, opposite = _opposites(pooled, pooled.score)
    last = len(targets) - 1
    searched = slice(0, max(1, last))
    kept, lenient = opposite[searched] < targets[searched], opposite[searched] <= targets[searched]
    against = int(np.argmax(kept)) if kept.any() else last
    in_favour = int(np.argmax(lenient)) if lenient.any() else last
    if lenient.any() and not kept.any():
        against = len(targets)  # Kaldi's search ends one short of it
    eer = (in_favour + against) / 2 / len(targets)
    return Eer(eer, eer, eer)


def _opposites(pooled: PooledScores, score: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
    """The sorted target scores, and for the k-th of them the nontarget score that Kaldi compares it with."""
    targets, nontargets = np.repeat(score, pooled.targets), np.repeat(score, pooled.nontargets)
    k = np.arange(len(targets))
    return targets, nontargets[len(nontargets) - 1 - len(nontargets) * k // len(targets)]


def eer_threshold(pooled: PooledScores) -> Eer:
    """The EER at the observed score where the two error rates are closest.

    >>> from vpeval.metrics.scores import pool
    >>> eer_threshold(pool([1, 2, 3, 4], [0, 0, 1.5, 0]))
    Eer(value=0.25, p_fa=0.25, p_miss=0.25)
    """
    nt, nn = pooled.n_targets, pooled.n_nontargets
    misses = np.cumsum(pooled.targets)
    false_alarms = nn - np.cumsum(pooled.nontargets)
    # Compared as whole numbers, so that rounding never decides which threshold is the first minimum.
    best = np.argmin(np.abs(false_alarms * nt - misses * nn))
    p_fa, p_miss = float(false_alarms[best] / nn), float(misses[best] / nt)
    return Eer((p_fa + p_miss) / 2, p_fa, p_miss)


def eer_rocch(pooled: PooledScores) -> Eer:
    """The EER of the ROC convex hull.

    >>> from vpeval.metrics.scores import pool
    >>> eer_rocch(pool([0, 0], [0, 0, 0])).value
    0.5
    """
    eer = float(eers_of_hulls(pooled.hull)[0])
    return Eer(eer, eer, eer)


def eers_of_hulls(hulls: Hulls) -> Floats:
    """`eer_rocch` of samples whose hulls are known."""
    nt, nn = hulls.n_targets, hulls.n_nontargets
    # Nt·Nn·(Pmiss - Pfa) rises from -Nt·Nn to Nt·Nn along the hull; the EER lies on the segment that crosses zero.
    gap = hulls.missed * hulls.spread(nn) + hulls.rejected * hulls.spread(nt) - hulls.spread(nt * nn)
    before = hulls.sums((gap < 0).astype(np.int64))
    right = hulls.starts + before
    left = np.maximum(right - 1, 0)
    low, missed = np.where(before, gap[left], -nt * nn), np.where(before, hulls.missed[left], 0)
    share = low / (low - gap[right])
    return (missed + share * (hulls.missed[right] - missed)) / nt


def eers_rocch(targets: NDArray[np.number], nontargets: NDArray[np.number]) -> Floats:
    """`eer_rocch` of many samples at once: rows are samples, columns the counts of ascending scores.

    The EER of the hull is the largest error that the best threshold makes over all priors, so the hull need not be
    found as a whole: from the two ends of the ROC, a vertex at a time comes closer to where it meets Pmiss = Pfa.

    >>> eers_rocch(np.array([[0, 1, 1], [1, 1, 0]]), np.array([[2, 2, 0], [1, 1, 0]])).round(4).tolist()
    [0.25, 0.5]
    """
    start = np.zeros((len(targets), 1))
    p_miss = np.hstack((start, np.cumsum(targets, axis=1) / targets.sum(axis=1, keepdims=True)))
    p_fa = np.hstack((start + 1, 1 - np.cumsum(nontargets, axis=1) / nontargets.sum(axis=1, keepdims=True)))
    rows = np.arange(len(targets))
    left, right = np.zeros(len(rows), np.int64), np.full(len(rows), p_miss.shape[1] - 1)
    active = rows
    for _ in range(p_miss.shape[1]):
        miss, fa = p_miss[active], p_fa[active]
        here = np.arange(len(active))
        a, b = left[active], right[active]
        rise, fall = miss[here, b] - miss[here, a], fa[here, a] - fa[here, b]
        cost = fall[:, None] * miss + rise[:, None] * fa
        best = np.argmin(cost, axis=1)
        better = cost[here, best] < cost[here, a] - 1e-15
        active, best, here = active[better], best[better], here[better]
        if not len(active):
            break
        before = miss[here, best] < fa[here, best]
        left[active[before]] = best[before]
        right[active[~before]] = best[~before]
    above = p_fa[rows, left] - p_miss[rows, left]
    share = above / (above + p_miss[rows, right] - p_fa[rows, right])
    return p_miss[rows, left] + share * (p_miss[rows, right] - p_miss[rows, left])


def bengio_mariethoz(eer: Eer, n_targets: int, n_nontargets: int) -> Interval:
    """The 95 % interval of Bengio & Mariéthoz (A statistical significance test for person authentication, 2004).

    It takes trials for independent, which trials that share speakers are not: it is too narrow.
    """
    variance = eer.p_fa * (1 - eer.p_fa) / (4 * n_nontargets) + eer.p_miss * (1 - eer.p_miss) / (4 * n_targets)
    half = 1.96 * math.sqrt(variance)
    return Interval(max(0.0, eer.value - half), min(1.0, eer.value + half))
