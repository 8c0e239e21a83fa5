"""Ranks of the true references, and their histograms if speakers count more or less often.

A matrix speakers × ranks would hold a few inputs a row among tens of thousands of zeros. So the inputs are kept, sorted
by rank, and a histogram is a sum of weights over runs of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vpeval.metrics.ranks import Rivals
from vpeval.metrics.vectors import Counts

Floats = NDArray[np.float64]
Ties = Literal["mid", "strict"]

_NOISE = 1e-12
"""What may be left of a difference of sums of shares of inputs."""


@dataclass(frozen=True)
class Ranks:
    """The ranks, from 0, that the true reference of every input shares: ``first[i]`` to ``last[i]`` of `n_references`.

    ``owner[i]`` is the speaker of input i, one of `n_speakers`.
    """

    first: Counts
    last: Counts
    owner: Counts
    n_speakers: int
    n_references: int

    @classmethod
    def of(cls, rivals: Rivals, owner: Counts, n_speakers: int, n_references: int, ties: Ties = "mid") -> Ranks:
        """The ranks by a rule for ties: all ranks of the tie block, or its last one."""
        last = rivals.above + rivals.tied
        return cls(last if ties == "strict" else rivals.above, last, owner, n_speakers, n_references)

    @cached_property
    def inputs(self) -> Counts:
        """Inputs per speaker."""
        return np.bincount(self.owner, minlength=self.n_speakers)

    @cached_property
    def identified(self) -> Floats:
        """The share of each speaker's inputs whose true reference comes first."""
        share = (self.first == 0) / (self.last + 1)
        return np.bincount(self.owner, share, self.n_speakers) / self.inputs

    @cached_property
    def means(self) -> Floats:
        """The mean rank, from 1, of each speaker's true references."""
        middle = (self.first + self.last) / 2 + 1
        return np.bincount(self.owner, middle, self.n_speakers) / self.inputs

    def histograms(self, weights: ArrayLike) -> Floats:
        """How often each rank is that of a true reference if speaker s counts ``weights[r, s]`` times; a row per r.

        >>> Ranks(np.array([0, 1]), np.array([0, 2]), np.array([0, 1]), 2, 3).histograms([[1, 0], [1, 1]]).tolist()
        [[1.0, 0.0, 0.0], [1.0, 0.5, 0.5]]
        """
        rows = np.asarray(weights, np.float64)
        histograms = np.zeros((len(rows), self.n_references))
        for histogram, weight in zip(histograms, rows, strict=True):
            self._add_single(histogram, weight)
            self._add_tied(histogram, weight)
        return histograms

    @cached_property
    def _single(self) -> tuple[Counts, Counts, Counts]:
        """Inputs without ties, by rank: their owners, where each rank begins among them, and which ranks there are."""
        alone = np.flatnonzero(self.first == self.last)
        alone = alone[np.argsort(self.last[alone], kind="stable")]
        ranks = self.last[alone]
        starts = np.flatnonzero(np.diff(ranks, prepend=-1))
        return self.owner[alone], starts, ranks[starts]

    @cached_property
    def _tied(self) -> Counts:
        return np.flatnonzero(self.first != self.last)

    @cached_property
    def _covered(self) -> NDArray[np.bool_]:
        """The ranks that some tie block covers."""
        edges = np.bincount(self.first[self._tied], minlength=self.n_references + 1)
        edges -= np.bincount(self.last[self._tied] + 1, minlength=self.n_references + 1)
        return np.cumsum(edges)[:-1] > 0

    def _add_single(self, histogram: Floats, weight: Floats) -> None:
        owner, starts, ranks = self._single
        if len(starts):
            histogram[ranks] += np.add.reduceat(weight[owner], starts)

    def _add_tied(self, histogram: Floats, weight: Floats) -> None:
        """Spread each input evenly over its block: what begins at a rank less what ended before it."""
        tied = self._tied
        if not len(tied):
            return
        first, after = self.first[tied], self.last[tied] + 1
        share = weight[self.owner[tied]] / (after - first)
        size = self.n_references + 1
        spread = np.cumsum(np.bincount(first, share, size) - np.bincount(after, share, size))[:-1]
        histogram += np.where(self._covered & (spread > _NOISE), spread, 0)
