"""Scores sorted into the gaps between given levels, at the cost of a table look-up instead of a search.

The range of the levels is cut into equal cells. A cell that no level comes near lies in one gap, whatever score falls
into it; only scores in the other cells, a few percent, have to be looked at one by one. Finding the cell of a score
never decreases with the score, so that the answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.metrics.vectors import Counts, Floats

_CELLS = 1 << 18


@dataclass(frozen=True)
class Levels:
    """Ascending levels, and the gap of every cell: the number of levels below, or -1 where it takes a closer look."""

    score: Floats
    margin: float
    scale: float
    gap: NDArray[np.int32]

    @classmethod
    def of(cls, score: Floats, margin: float = 0.0) -> Levels:
        """The levels `score`, ascending; what is within `margin` of one takes a closer look."""
        reach = float(score[-1] - score[0]) + 2 * margin
        scale = (_CELLS - 3) / reach if reach > 0 and np.isfinite((_CELLS - 3) / reach) else 0.0
        empty = cls(score, margin, scale, np.empty(0, np.int32))
        low, high = empty.cells(score - margin), empty.cells(score + margin)
        near = np.zeros(_CELLS + 1, np.int64)
        np.add.at(near, low, 1)
        np.add.at(near, high + 1, -1)
        gap = np.searchsorted(low, np.arange(_CELLS), side="right")
        gap[np.cumsum(near[:-1]) > 0] = -1
        return cls(score, margin, scale, gap.astype(np.int32))

    def cells(self, scores: Floats) -> NDArray[np.int32]:
        """The cell of every score; cell 0 is below all levels."""
        position = scores - (self.score[0] - self.margin)
        with np.errstate(over="ignore"):  # infinite is above all levels, too
            position *= self.scale
        position += 1
        return np.clip(position, 0, _CELLS - 1, out=position).astype(np.int32)

    def gaps(self, cells: NDArray[np.int32]) -> NDArray[np.int32]:
        """The gap of every cell, or -1."""
        return np.take(self.gap, cells)

    def near(self, scores: Floats) -> tuple[Counts, Counts]:
        """For every score the number of levels that are surely below it, and of those that are not surely above."""
        low = np.searchsorted(self.score, scores - self.margin, side="left")
        return low, np.searchsorted(self.score, scores + self.margin, side="right")
