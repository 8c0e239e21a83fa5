"""Scores sorted into the gaps between given levels, at the cost of a table look-up instead of a search.

The range of the levels is cut into equal cells. A cell that no level comes near lies in one gap, whatever score falls
into it; scores in the other cells, a few percent, are compared with the one level that is near, or looked for where
there are several. Finding the cell of a score never decreases with the score, so that the answer is exact.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.metrics.vectors import Counts, Floats

Gaps = NDArray[np.int32]

_CELLS = 1 << 18
_SEVERAL = np.iinfo(np.int32).min


@dataclass(frozen=True)
class Levels:
    """Ascending levels, and the gap of every cell: the number of levels below it.

    It is negative where it takes a closer look: ``~k`` where level k alone is near, or `_SEVERAL`.
    """

    score: Floats
    margin: float
    scale: float
    gap: Gaps

    @classmethod
    def of(cls, score: Floats, margin: float = 0.0) -> Levels:
        """The levels `score`, ascending; what is within `margin` of one takes a closer look."""
        reach = float(score[-1] - score[0]) + 2 * margin
        scale = (_CELLS - 3) / reach if reach > 0 and np.isfinite((_CELLS - 3) / reach) else 0.0
        empty = cls(score, margin, scale, np.empty(0, np.int32))
        low, high = empty.cells(score - margin), empty.cells(score + margin)
        change = np.zeros(_CELLS + 1, np.int64)
        np.add.at(change, low, 1)
        np.add.at(change, high + 1, -1)
        near = np.cumsum(change[:-1])
        begun = np.searchsorted(low, np.arange(_CELLS), side="right")
        gap = np.where(near == 0, begun, np.where(near == 1, -begun, _SEVERAL))  # ~(begun - 1) is -begun
        return cls(score, margin, scale, gap.astype(np.int32))

    def cells(self, scores: Floats) -> Gaps:
        """The cell of every score; cell 0 is below all levels."""
        position = scores - (self.score[0] - self.margin)
        with np.errstate(over="ignore"):  # infinite is above all levels, too
            position *= self.scale
        position += 1
        return np.clip(position, 0, _CELLS - 1, out=position).astype(np.int32)

    def gaps(self, cells: Gaps) -> Gaps:
        """The gap of every cell, or a negative number."""
        return np.take(self.gap, cells)

    def near(self, scores: Floats, gaps: Gaps) -> tuple[Counts, Counts]:
        """For every score the number of levels that are surely below it, and of those that are not surely above.

        `gaps` are those of their cells, all negative.
        """
        level = ~gaps.astype(np.int64)
        several = np.flatnonzero(gaps == _SEVERAL)
        level[several] = 0
        nearest = self.score[level]
        low, high = level + (nearest < scores - self.margin), level + (nearest <= scores + self.margin)
        low[several] = np.searchsorted(self.score, scores[several] - self.margin, side="left")
        high[several] = np.searchsorted(self.score, scores[several] + self.margin, side="right")
        return low, high
