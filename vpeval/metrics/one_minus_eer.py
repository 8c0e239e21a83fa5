"""1 - EER over the number of enrolment speakers, beside linkability (Legal paper, Figure 1, row 3; ROCCH-EER).

Every test speaker brings one target score, against the true enrolment speaker, and N'-1 nontarget scores, as in
linkability. The EER is no mean over speakers, so it has no exact expectation over the draw: one seeded order of the
enrolment speakers is drawn, and the first N'-1 others in it are the nontargets of every test speaker. The sets are
nested, and N' = M uses all scores. Chance is 1/2.

An EER needs no more of the nontarget scores than how many lie below, at and above each target score, so the score
matrix is counted block by block and never held. A cosine is taken as 1 - |x-y|²/2 = 1 - (|r|²+|q|²)/2 + r·q with the
vectors r and q that are left without what all have in common, so that it keeps its digits where vectors crowd; scores
that the error of this product cannot tell from a target score are computed again as angles (see `vectors`). A resample
of test speakers weights the counts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from vpeval.core.seeds import generator
from vpeval.metrics.bootstrap import multiplicities
from vpeval.metrics.eer import eer_rocch
from vpeval.metrics.intervals import SpeakerInterval, rate_interval
from vpeval.metrics.scores import PooledScores
from vpeval.metrics.vectors import (
    RESOLUTION,
    Counts,
    Floats,
    Similarity,
    Vectors,
    angles,
    common_scale,
    comparable,
    pair_products,
)

_BLOCK = 256


@dataclass(frozen=True)
class OneMinusEer:
    """1 - ROCCH-EER among `n_enroll` enrolment speakers."""

    n_enroll: int
    value: float
    interval: SpeakerInterval


def one_minus_eer(
    enroll: Vectors,
    test: Vectors,
    owner: Counts,
    n_enroll: Sequence[int],
    resamples: int = 1000,
    seed: int = 0,
    similarity: Similarity = "cosine",
) -> list[OneMinusEer]:
    """1 - EER for every N' ≥ 2 in `n_enroll`; ``enroll[owner[i]]`` is the true speaker of ``test[i]``.

    `similarity` is the cosine or the scalar product.
    """
    order = generator(seed, "one minus eer").permutation(len(enroll))
    matrix = _Matrix.of(test, enroll[order], similarity)
    owner = np.argsort(order)[owner]
    levels, level_of = _levels(matrix, owner)
    weights = multiplicities(len(test), resamples, generator(seed, "one minus eer resamples"))
    weights = np.vstack((np.ones_like(level_of), weights)).astype(np.float64)
    targets = np.zeros((len(weights), 2 * len(levels.score) + 1))
    np.add.at(targets.T, 2 * level_of + 1, weights.T)

    results = []
    for n in n_enroll:
        nontargets = np.zeros_like(targets)
        for start in range(0, len(test), _BLOCK):
            rows = np.arange(start, min(start + _BLOCK, len(test)))
            columns = np.arange(n - 1) + (np.arange(n - 1) >= np.minimum(owner[rows], n - 1)[:, None])
            counts = _bins(matrix, rows, columns, levels)
            nontargets += weights[:, start : start + _BLOCK] @ counts
        results.append(_summarise(n, targets, nontargets, {"resamples": resamples, "seed": seed}))
    return results


@dataclass(frozen=True)
class _Matrix:
    """Scores of inputs and references: fast ones with an error bound, and exact ones with a tolerance."""

    x: Floats
    y: Floats
    centre: Floats
    half_squares: tuple[Floats, Floats]
    error: float
    similarity: Similarity

    @classmethod
    def of(cls, x_raw: Vectors, y_raw: Vectors, similarity: Similarity) -> _Matrix:
        if similarity == "euclidean":
            raise ValueError("1 - EER compares by cosines or scalar products")
        scales = common_scale(x_raw, y_raw, similarity)
        x, y = (comparable(v, similarity, scale) for v, scale in zip((x_raw, y_raw), scales, strict=True))
        both = np.concatenate((x, y))
        centre = both.mean(axis=0) if similarity == "cosine" else np.zeros(x.shape[1])
        squares = [np.square(v - centre).sum(axis=1) for v in (x, y)]
        longest = sum(float(np.sqrt(s.max())) for s in squares)
        error = (x.shape[1] + 16) * 2.0**-52 * longest * (longest + 2.0**-50) + RESOLUTION * longest
        # A direction of zeros has the cosine 0 with all others, as if it were at a right angle to them.
        halves = [s / 2 + (~v.any(axis=1)) / 2 for v, s in zip((x, y), squares, strict=True)]
        if similarity == "product":
            halves = [np.zeros(len(x)), np.zeros(len(y))]
        return cls(x, y, centre, (halves[0], halves[1]), error, similarity)

    def fast(self, rows: Counts, n: int) -> Floats:
        """Scores of `rows` with the first `n` references, within `error`."""
        product = (self.x[rows] - self.centre) @ (self.y[:n] - self.centre).T
        return product - self.half_squares[0][rows, None] - self.half_squares[1][None, :n]

    def exact(self, row: Counts, column: Counts) -> Floats:
        """Scores of pairs on a scale of their own: minus the angle, or the scalar product."""
        if self.similarity == "product":
            return pair_products(self.x[row], self.y[column])
        return -angles(self.x[row], self.y[column])

    @property
    def tolerance(self) -> float:
        """How far equal exact scores may be apart."""
        return RESOLUTION if self.similarity == "cosine" else 0.0


@dataclass(frozen=True)
class _Levels:
    """The distinct target scores, ascending: as the fast product gives them, and exactly."""

    score: Floats
    exact: Floats


def _levels(matrix: _Matrix, owner: Counts) -> tuple[_Levels, Counts]:
    """The levels, and that of every input."""
    rows = np.arange(len(owner))
    exact = matrix.exact(rows, owner)
    distance = pair_products(matrix.x - matrix.centre, matrix.y[owner] - matrix.centre)
    fast = distance - matrix.half_squares[0] - matrix.half_squares[1][owner]
    order = np.argsort(exact, kind="stable")
    new = np.concatenate(([True], np.diff(exact[order]) > 2 * matrix.tolerance))
    level_of = np.empty(len(owner), np.int64)
    level_of[order] = np.cumsum(new) - 1
    first = order[new]
    return _Levels(fast[first], exact[first]), level_of


def _bins(matrix: _Matrix, rows: Counts, columns: Counts, levels: _Levels) -> Floats:
    """Scores per row below the first level, at it, between it and the second, at that, and so on, above the last."""
    n = int(columns.max()) + 1
    scores = np.take_along_axis(matrix.fast(rows, n), columns, axis=1)
    order = np.argsort(scores, axis=1)
    counts = np.empty((len(rows), 2 * len(levels.score) + 1))
    edges = np.zeros(2 * len(levels.score) + 2, np.int64)
    edges[-1] = scores.shape[1]
    margin = 2 * matrix.error
    for i, out in enumerate(counts):
        ranked = scores[i, order[i]]
        low = np.searchsorted(ranked, levels.score - margin, side="left")
        high = np.searchsorted(ranked, levels.score + margin, side="right")
        below, at = low.copy(), np.zeros_like(low)
        if (close := np.flatnonzero(low < high)).size:
            # The places from `low` to `high` are too close to call: which of them are below the level, which at it?
            level = np.repeat(close, (high - low)[close])
            place = np.concatenate([np.arange(low[c], high[c]) for c in close])
            exact = matrix.exact(rows[i], columns[i, order[i, place]])
            lead = exact - levels.exact[level]
            np.add.at(below, level[lead < -matrix.tolerance], 1)
            np.add.at(at, level[np.abs(lead) <= matrix.tolerance], 1)
        edges[1:-1:2] = below
        edges[2:-1:2] = below + at
        out[:] = np.diff(edges)
    return counts


def _summarise(n: int, targets: Floats, nontargets: Floats, drawn: Mapping[str, int]) -> OneMinusEer:
    bins = np.arange(targets.shape[1], dtype=np.float64)
    empty = np.zeros(len(bins), np.int64)
    pooled = PooledScores(bins, empty, empty)
    eers = [
        eer_rocch(pooled.reweighted(t.astype(np.int64), c.astype(np.int64))).value
        for t, c in zip(targets, nontargets, strict=True)
    ]
    speakers = int(targets[0].sum())
    found = rate_interval(eers[0], np.array(eers[1:]), speakers, speakers, drawn, highest=0.5)
    if found.lower is not None and found.upper is not None:
        found = replace(found, lower=1 - found.upper, upper=1 - found.lower)
    return OneMinusEer(n, 1 - eers[0], found)
