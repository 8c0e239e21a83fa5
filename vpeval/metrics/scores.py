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

import numpy as np
from numpy.typing import ArrayLike, NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


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
    def costs(self) -> tuple[Floats, Floats]:
        """log(1+e^-s) and log(1+e^s) of every distinct score s."""
        return np.logaddexp(0, -self.score), np.logaddexp(0, self.score)

    @cached_property
    def blocks(self) -> Blocks:
        """The PAV blocks of the pooled scores."""
        return _merge(Blocks(np.ones(len(self.score), dtype=np.int64), self.targets, self.nontargets))

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
        left = PooledScores(self.score[kept], targets[kept], nontargets[kept])
        if "costs" in vars(self):  # known already: logarithms take longer than all else of a resample
            vars(left)["costs"] = self.costs[0][kept], self.costs[1][kept]
        return left


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
    from scipy.optimize import isotonic_regression  # costs half a second, which --help should not pay

    total = blocks.targets + blocks.nontargets
    start = isotonic_regression(blocks.targets / total, weights=total).blocks[:-1]
    return Blocks(
        np.add.reduceat(blocks.size, start),
        np.add.reduceat(blocks.targets, start),
        np.add.reduceat(blocks.nontargets, start),
    )
