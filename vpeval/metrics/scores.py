"""Target and nontarget scores, sorted and pooled once; every verification metric follows from this structure.

A tie is one block: scores that are equal cannot be told apart, whatever their labels, so the pooled form keeps each
distinct score once, with its number of target and nontarget trials. Calibration is the pool-adjacent-violators
algorithm (PAV) on these counts: the best non-decreasing map from scores to posteriors (Brümmer & du Preez,
Application-independent evaluation of speaker detection, 2006). Its blocks are also the vertices of the ROC convex hull.

Counts may be weights of a resample: `reweighted` answers "what if trial i counted w[i] times" without another sort.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vpeval.core.arrays import Counts, Floats

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
