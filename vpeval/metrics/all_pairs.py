"""Voice similarity matrices of all pairs of utterances, whose scores are in memory and nowhere else.

The scores of a condition are one matrix; a second one holds the *cell* of every score on a grid of equal steps. PAV is
the convex hull below a path that goes right by one for every trial and up by one for every target, in the order of the
scores. The numbers of targets and nontargets in cells give the path at their ends. Inside a cell, it runs nowhere below
the corner of all nontargets first and all targets then: where that corner is above the hull of the ends, no score of
the cell can bend the hull, and all of them count as one. Other cells are open, and their scores, a few percent, are
looked at one by one. So nothing of the size of the pairs is sorted, and values are those of
`similarity.similarity_matrix`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vpeval.core.arrays import Bools, Counts, Floats
from vpeval.core.errors import TooFew
from vpeval.metrics.scores import PooledScores, pav_starts, pool
from vpeval.metrics.similarity import matrix_of_sums

Cells = NDArray[np.int32]
Flags = Bools

_ROWS = 256
_CELLS = 1 << 20
_SAMPLE = 1 << 20
_ENDS = (0.005, 0.995)
_SLACK = 1e-3
"""Targets by which a hull may be off for rounding; it opens cells that need not be open, and never the reverse."""


@dataclass(frozen=True)
class _Grid:
    """Cells of equal steps from `low` on; the first and the last hold what lies beyond as well."""

    low: float
    scale: float

    @classmethod
    def over(cls, low: float, high: float) -> _Grid:
        with np.errstate(over="ignore", divide="ignore"):
            scale = np.float64(_CELLS - 1) / (np.float64(high) - low)
        return cls(low, float(scale) if np.isfinite(scale) else 0.0)

    def __call__(self, scores: Floats) -> Cells:
        """The cell of every score; it never decreases with the score."""
        position = scores - self.low
        with np.errstate(over="ignore"):  # infinite is beyond, too
            position *= self.scale
        return np.clip(position, 0, _CELLS - 1, out=position).astype(np.int32)


@dataclass(frozen=True)
class AllScores:
    """``score[u, v]`` of utterances, those of speaker s from ``starts[s]`` to ``starts[s + 1]``.

    `is_symmetric` says that only the scores of u < v count.
    """

    score: Floats
    starts: Counts
    is_symmetric: bool
    buffer: Cells | None = None
    """Memory for the cells, if there is any: new memory costs as much as filling it."""

    @property
    def parts(self) -> list[slice]:
        """The utterances of every speaker."""
        return [slice(start, end) for start, end in pairwise(self.starts.tolist())]

    @property
    def regions(self) -> list[tuple[slice, slice]]:
        """All scores that count, and more, some rows at a time."""
        return [
            (slice(row, min(row + _ROWS, part.stop)), slice(part.start if self.is_symmetric else 0, None))
            for part in self.parts
            for row in range(part.start, part.stop, _ROWS)
        ]

    @cached_property
    def grid(self) -> _Grid:
        """A grid over all but the outermost of them.

        One utterance that sounds like no other must not stretch it until all other scores share a few cells.
        """
        step = 1 + self.score.size // _SAMPLE
        some = np.concatenate([self.score[region].ravel()[::step] for region in self.regions])
        low, high = np.quantile(some, _ENDS)
        return _Grid.over(float(low), float(high))

    @cached_property
    def cell(self) -> Cells:
        """Their cells."""
        cells = np.empty(self.score.shape, np.int32) if self.buffer is None else self.buffer
        for region in self.regions:
            cells[region] = self.grid(self.score[region])
        return cells

    def own(self, part: slice, halved: bool) -> Flags:
        """Which pairs of two utterances of a speaker count."""
        first, second = np.arange(part.start, part.stop)[:, None], np.arange(part.start, part.stop)
        return first < second if halved else first != second

    def of_others(self, halved: bool) -> Iterator[tuple[slice, slice]]:
        """The regions of pairs of two speakers."""
        for part in self.parts:
            yield part, slice(part.stop, None)
            if not halved:
                yield part, slice(0, part.start)


def similarity_of_all(scores: AllScores, names: Sequence[str], mode: str = "full") -> Floats:
    """The matrix of one condition; see `similarity.similarity_matrix`."""
    halved = scores.is_symmetric or mode == "vpc"
    calibration = _calibrate(scores, halved, names)
    total = np.zeros((len(names), len(names)))
    for speaker, part in enumerate(scores.parts):
        first = speaker if halved else 0
        begin = int(scores.starts[first])
        left_out = ~scores.own(part, halved)
        for row in range(part.start, part.stop, _ROWS):
            rows = slice(row, min(row + _ROWS, part.stop))
            values = calibration(scores.score[rows, begin:], scores.cell[rows, begin:])
            of_speaker = values[:, part.start - begin : part.stop - begin]
            of_speaker[left_out[rows.start - part.start : rows.stop - part.start]] = 0
            sums = np.add.reduceat(values, scores.starts[first:-1] - begin, axis=1)
            total[speaker, first:] += sums.sum(axis=0)
    sizes = np.diff(scores.starts)
    count = np.outer(sizes, sizes)
    np.fill_diagonal(count, sizes * (sizes - 1) // (2 if halved else 1))
    if halved:
        count = np.triu(count)
        total, count = total + total.T, count + count.T
    return matrix_of_sums(total, count, names)


@dataclass(frozen=True)
class _Calibration:
    """Log-likelihood ratios of cells, NaN where one has several; there, scores from a `step` on have the next."""

    of_cell: Floats
    step: Floats
    of_step: Floats

    def __call__(self, scores: Floats, cells: Cells) -> Floats:
        """Those of scores."""
        values = np.take(self.of_cell, cells)
        if len(self.step):
            unclear = np.flatnonzero(np.isnan(values))
            place = np.searchsorted(self.step, np.take(scores, unclear), side="right")
            values.ravel()[unclear] = self.of_step[place]
        return values


def _calibrate(scores: AllScores, halved: bool, names: Sequence[str]) -> _Calibration:
    """Laplace-smoothed PAV on the pairs that count."""
    if len(names) == 1:
        raise TooFew(f"no pair of two speakers, only '{names[0]}'; two speakers or more are needed")
    own = [(part, scores.own(part, halved)) for part in scores.parts]
    targets = _count(scores.cell[part, part][counts] for part, counts in own)
    if not targets.any():
        raise TooFew("no pair of two utterances of one speaker; score speakers with two utterances or more")
    nontargets = _count(scores.cell[region].ravel() for region in scores.of_others(halved))
    is_open = _may_bend(targets, nontargets)
    closed = np.flatnonzero((targets + nontargets > 0) & ~is_open)
    looked_at = _pool_open(scores, halved, own, is_open)
    cells = np.concatenate((closed, scores.grid(looked_at.score)))
    order = np.argsort(cells, kind="stable")
    pooled = PooledScores(
        order.astype(np.float64),
        np.concatenate((targets[closed], looked_at.targets))[order],
        np.concatenate((nontargets[closed], looked_at.nontargets))[order],
    )
    llr, cells = pooled.laplace_llr, cells[order]
    first = np.flatnonzero(np.diff(cells, prepend=-1))
    last = np.append(first[1:], len(cells)) - 1
    of_cell = np.full(_CELLS, np.nan)
    of_cell[cells[first]] = np.where(llr[first] == llr[last], llr[first], np.nan)
    of_score = llr[order >= len(closed)]
    starts = np.flatnonzero(np.diff(of_score, prepend=-np.inf))
    return _Calibration(of_cell, looked_at.score[starts[1:]], of_score[starts])


def _count(parts: Iterable[Cells]) -> Counts:
    """How many are in each cell; several small parts are counted together."""
    total, waiting, size = np.zeros(_CELLS, np.int64), list[Cells](), 0
    for part in parts:
        waiting.append(part)
        size += len(part)
        if size >= _CELLS:
            total += np.bincount(np.concatenate(waiting), minlength=_CELLS)
            waiting, size = [], 0
    return total + np.bincount(np.concatenate(waiting), minlength=_CELLS) if waiting else total


def _may_bend(targets: Counts, nontargets: Counts) -> Flags:
    """Which cells may hold a vertex of the hull between their ends."""
    some = np.flatnonzero(targets + nontargets)
    t, n = targets[some], nontargets[some]
    right, up = np.cumsum(t + n), np.cumsum(t)
    ends = np.append(pav_starts(t, n)[1:], len(some)) - 1
    hull_right, hull_up = (np.concatenate(([0], along[ends])) for along in (right, up))
    corner_right, corner_up = right - t, up - t
    is_open = np.zeros(len(targets), bool)
    is_open[some] = (t > 0) & (n > 0) & (corner_up < np.interp(corner_right, hull_right, hull_up) + _SLACK)
    return is_open


def _pool_open(scores: AllScores, halved: bool, own: Sequence[tuple[slice, Flags]], is_open: Flags) -> PooledScores:
    """The scores of open cells, which hold both classes."""
    if not is_open.any():
        return PooledScores(np.empty(0), np.empty(0, np.int64), np.empty(0, np.int64))
    targets = [scores.score[part, part][counts & is_open[scores.cell[part, part]]] for part, counts in own]
    others = [scores.score[region][is_open[scores.cell[region]]] for region in scores.of_others(halved)]
    return pool(np.concatenate(targets), np.concatenate(others))
