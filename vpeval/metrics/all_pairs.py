"""Voice similarity matrices of all pairs of utterances, whose scores are in memory and nowhere else.

The scores of one condition are one matrix; nothing of the size of its pairs is made beside it but a sorted copy. PAV
needs no more of the nontarget scores than how many lie between neighbouring target scores and at them, as those between
two target scores always share one block; and a block is a range of scores, found by a table (`levels`). Values are
those of `similarity.similarity_matrix`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vpeval.core.errors import InputError
from vpeval.metrics.levels import Levels
from vpeval.metrics.scores import Counts, Floats, PooledScores
from vpeval.metrics.similarity import matrix_of_sums

_ROWS = 256


@dataclass(frozen=True)
class AllScores:
    """``score[u, v]`` of utterances, those of speaker s from ``starts[s]`` to ``starts[s + 1]``.

    `is_symmetric` says that only the scores of u < v count.
    """

    score: Floats
    starts: Counts
    is_symmetric: bool


def similarity_of_all(scores: AllScores, names: Sequence[str], mode: str = "full") -> Floats:
    """The matrix of one condition; see `similarity.similarity_matrix`."""
    halved = scores.is_symmetric or mode == "vpc"
    thresholds, llr = _calibrate(scores, halved, names)
    total = np.zeros((len(names), len(names)))
    for speaker, (start, end) in enumerate(pairwise(scores.starts.tolist())):
        first = speaker if halved else 0
        begin = int(scores.starts[first])
        for row in range(start, end, _ROWS):
            rows = slice(row, min(row + _ROWS, end))
            values = _look_up(thresholds, llr, scores.score[rows, begin:])
            values[:, start - begin : end - begin][_left_out(rows, start, end, halved)] = 0
            sums = np.add.reduceat(values, scores.starts[first:-1] - begin, axis=1)
            total[speaker, first:] += sums.sum(axis=0)
    sizes = np.diff(scores.starts)
    count = np.outer(sizes, sizes)
    np.fill_diagonal(count, sizes * (sizes - 1) // (2 if halved else 1))
    if halved:
        count = np.triu(count)
        total, count = total + total.T, count + count.T
    return matrix_of_sums(total, count, names)


def _left_out(rows: slice, start: int, end: int, halved: bool) -> NDArray[np.bool_]:
    """Which pairs of `rows` with the utterances of the same speaker do not count."""
    first, second = np.arange(rows.start, rows.stop)[:, None], np.arange(start, end)
    return first >= second if halved else first == second


def _calibrate(scores: AllScores, halved: bool, names: Sequence[str]) -> tuple[Levels | None, Floats]:
    """Log-likelihood ratios by Laplace-smoothed PAV, ascending, and the scores from which each but the first holds."""
    parts = [slice(start, end) for start, end in pairwise(scores.starts.tolist())]
    if len(names) == 1:
        raise InputError(f"no pair of two speakers, only '{names[0]}'; two speakers or more are needed")
    level, at_level = _targets(scores.score, parts, halved)
    pooled = _pool(at_level, _edges(_nontargets(scores.score, parts, halved), level))
    llr = pooled.laplace_llr
    new = np.flatnonzero(np.diff(llr)) + 1
    bound, below = np.divmod(pooled.score[new].astype(np.int64) - 1, 2)
    # A block begins at a target score, or right after one where it begins with nontarget scores.
    starts = np.where(below, np.nextafter(level[bound], np.inf), level[bound])
    return Levels.of(starts) if len(new) else None, llr[np.concatenate(([0], new))]


def _targets(score: Floats, parts: Sequence[slice], halved: bool) -> tuple[Floats, Counts]:
    """The distinct scores of pairs of one speaker, ascending, and how often each is there."""
    targets = np.concatenate([score[own, own][~_left_out(own, own.start, own.stop, halved)] for own in parts])
    if not len(targets):
        raise InputError("no pair of two utterances of one speaker; score speakers with two utterances or more")
    return np.unique(targets, return_counts=True)


def _edges(others: Floats, level: Floats) -> Counts:
    """How many of the sorted nontarget scores are below each level, and up to it: level by level, then all."""
    edges = np.empty(2 * len(level) + 1, np.int64)
    edges[0:-1:2] = np.searchsorted(others, level, side="left")
    edges[1::2] = np.searchsorted(others, level, side="right")
    edges[-1] = len(others)
    return edges


def _pool(at_level: Counts, edges: Counts) -> PooledScores:
    """Counts in bins of ascending scores: below the first level, at it, between it and the next, and so on."""
    nontargets = np.diff(edges, prepend=0)
    targets = np.zeros_like(nontargets)
    targets[1::2] = at_level
    return PooledScores(np.arange(len(edges), dtype=np.float64), targets, nontargets).reweighted(targets, nontargets)


def _nontargets(score: Floats, parts: Sequence[slice], halved: bool) -> Floats:
    """The scores of pairs of two speakers, sorted."""
    sizes = np.array([part.stop - part.start for part in parts])
    pairs = (sizes.sum() ** 2 - (sizes**2).sum()) // (2 if halved else 1)
    found, end = np.empty(pairs), 0
    for part in parts:
        for beyond in (score[part, part.stop :], *([] if halved else [score[part, : part.start]])):
            found[end : end + beyond.size] = beyond.ravel()
            end += beyond.size
    found.sort()
    return found


def _look_up(thresholds: Levels | None, llr: Floats, scores: Floats) -> Floats:
    if thresholds is None:
        return np.full(scores.shape, llr[0])
    blocks = thresholds.gaps(thresholds.cells(scores))
    unclear = np.flatnonzero(blocks < 0)
    blocks.ravel()[unclear] = thresholds.near(scores.ravel()[unclear])[1]
    return llr[blocks]
