"""1 - EER over the number of enrolment speakers, as linkability has it (Legal paper, Figure 1, row 3; ROCCH-EER).

Every test speaker brings one target score, against the true enrolment speaker, and N'-1 nontarget scores, as in
linkability. The EER is no mean over speakers, so it has no exact expectation over the draw: one seeded order of the
enrolment speakers is drawn, and the first N'-1 others in it are the nontargets of every test speaker. The sets are
nested, and N' = M uses all scores. Chance is 1/2.

An EER needs no more of the nontarget scores than how many lie below, at and above each target score. So the score
matrix is counted block by block and never held; one pass over it serves every N'.

The same pass tells the rivals of every test speaker by cosines: the scores above, and at, the own target score.

The L utterances of a test speaker may be drawn several times. The value, and every resample of test speakers, is then
the mean over the draws.

A resample of test speakers weights the counts. For the interval, more than `BINS` target scores are counted in as many
bins of neighbours: the EER of a resample then comes out too high, as its ROC keeps some points of the curve only. It
does so by less than the share of targets in a bin, 1/`BINS`, and by some 10⁻⁴ where scores spread; what the sample
itself loses in the bins is taken off every resample. The value is exact.

Scores of all pairs of inputs and references in float64, block by block: fast within a bound, and exact for some.

A cosine is taken as 1 - |x-y|²/2 = 1 - (|r|²+|q|²)/2 + r·q with the vectors r and q that are left without what all have
in common, so that it keeps its digits where vectors crowd. Pairs that the error of this product cannot tell apart are
compared by exact scores: angles, or scalar products summed in one order (see `vectors`).

Scores sorted into the gaps between given levels, at the cost of a table look-up instead of a search.

The range of the levels is cut into equal cells. A cell that no level comes near lies in one gap, whatever score falls
into it; scores in the other cells, a few percent, are compared with the one level that is near, or looked for where
there are several. Finding the cell of a score never decreases with the score, so that the answer is exact.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vpeval.core.arrays import Counts, Floats
from vpeval.core.seeds import generator
from vpeval.metrics.intervals import RESAMPLES, SpeakerInterval, multiplicities, rate_interval
from vpeval.metrics.ranks import Rivals, count_rivals
from vpeval.metrics.scores import PooledScores, eer_rocch, eers_rocch
from vpeval.metrics.vectors import (
    RESOLUTION,
    Similarity,
    Vectors,
    angles,
    common_scale,
    comparable,
    distinct_rows,
    pair_products,
)

Gaps = NDArray[np.int32]

_LEVEL_CELLS = 1 << 18
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
    def from_scores(cls, score: Floats, margin: float = 0.0) -> Levels:
        """The levels `score`, ascending; what is within `margin` of one takes a closer look."""
        reach = float(score[-1] - score[0]) + 2 * margin
        scale = (_LEVEL_CELLS - 3) / reach if reach > 0 and np.isfinite((_LEVEL_CELLS - 3) / reach) else 0.0
        empty = cls(score, margin, scale, np.empty(0, np.int32))
        low, high = empty.cells(score - margin), empty.cells(score + margin)
        change = np.zeros(_LEVEL_CELLS + 1, np.int64)
        np.add.at(change, low, 1)
        np.add.at(change, high + 1, -1)
        near = np.cumsum(change[:-1])
        begun = np.searchsorted(low, np.arange(_LEVEL_CELLS), side="right")
        gap = np.where(near == 0, begun, np.where(near == 1, -begun, _SEVERAL))  # ~(begun - 1) is -begun
        return cls(score, margin, scale, gap.astype(np.int32))

    def cells(self, scores: Floats) -> Gaps:
        """The cell of every score; cell 0 is below all levels."""
        position = scores - (self.score[0] - self.margin)
        with np.errstate(over="ignore"):  # infinite is above all levels, too
            position *= self.scale
        position += 1
        return np.clip(position, 0, _LEVEL_CELLS - 1, out=position).astype(np.int32)

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


@dataclass(frozen=True)
class References:
    """References made ready for any number of inputs: the distinct ones, and which of them each reference is.

    `column` is None where all differ. What all have in common is left out of `centred`.
    """

    y: Floats
    column: Counts | None
    centre: Floats
    centred: Floats
    squares: Floats
    similarity: Similarity

    @classmethod
    def from_vectors(cls, vectors: Vectors, similarity: Similarity) -> References:
        """References to compare by their cosines or scalar products."""
        if similarity == "euclidean":
            raise ValueError("score matrices are of cosines or scalar products")
        y = comparable(vectors, similarity, common_scale(vectors, vectors, similarity)[1])
        column = None
        if found := distinct_rows(y):
            first, column, _ = found
            y = y[first]
        centre = y.mean(axis=0) if similarity == "cosine" else np.zeros(y.shape[1])
        return cls(y, column, centre, y - centre, _squares(y - centre), similarity)

    def place(self, references: Counts) -> Counts:
        """Where these references are among the distinct ones."""
        return references if self.column is None else self.column[references]


def _squares(centred: Floats) -> Floats:
    return np.einsum("ij,ij->i", centred, centred)


@dataclass(frozen=True)
class ScoreMatrix:
    """Scores of inputs and distinct references: fast ones with an error bound, and exact ones with a tolerance.

    `group` tells which inputs are equal; it is None where all differ.
    """

    x: Floats
    group: Counts | None
    references: References
    half_squares: tuple[Floats, Floats]
    error: float

    @classmethod
    def from_vectors(cls, x_raw: Vectors, references: References) -> ScoreMatrix:
        """The matrix of inputs and references."""
        similarity = references.similarity
        x = comparable(x_raw, similarity, common_scale(x_raw, x_raw, similarity)[0])
        squares = [_squares(x - references.centre), references.squares]
        longest = sum(float(np.sqrt(s.max())) for s in squares)
        error = (x.shape[1] + 16) * 2.0**-52 * longest * (longest + 2.0**-50) + RESOLUTION * longest
        # A direction of zeros has the cosine 0 with all others, as if it were at a right angle to them.
        halves = [s / 2 + (~v.any(axis=1)) / 2 for v, s in zip((x, references.y), squares, strict=True)]
        if similarity == "product":
            halves = [np.zeros(len(x)), np.zeros(len(references.y))]
        found = distinct_rows(x)
        return cls(x, found[1] if found else None, references, (halves[0], halves[1]), error)

    def multiply(self, rows: slice, out: Floats) -> None:
        """Fill `out` with products of `rows` and all references."""
        np.matmul(self.x[rows] - self.references.centre, self.references.centred.T, out=out)

    def complete(self, rows: slice, out: Floats) -> Floats:
        """Turn the products of `rows` into scores within `error`; a few rows at a time stay in the cache."""
        out -= self.half_squares[0][rows, None]
        out -= self.half_squares[1]
        return out

    def fast_pairs(self, column: Counts) -> Floats:
        """The score of every input with one reference, as exact as float64 makes it."""
        product = pair_products(self.x - self.references.centre, self.references.centred[column])
        return product - self.half_squares[0] - self.half_squares[1][column]

    def exact(self, row: Counts, column: Counts) -> Floats:
        """Scores of pairs on a scale of their own: minus the angle, or the scalar product."""
        if self.references.similarity == "product":
            return pair_products(self.x[row], self.references.y[column])
        return -angles(self.x[row], self.references.y[column])

    @property
    def tolerance(self) -> float:
        """How far equal exact scores may be apart."""
        return RESOLUTION if self.references.similarity == "cosine" else 0.0


BINS = 128
"""Bins of target scores for intervals."""

_ROWS = 512
_BLOCK = 128
_CELLS = 1 << 22
_CACHED = 1 << 18
_PAIRS = 1 << 13


@dataclass(frozen=True)
class OneMinusEer:
    """1 - ROCCH-EER among `n_enroll` enrolment speakers."""

    n_enroll: int
    value: float
    interval: SpeakerInterval

    def __str__(self) -> str:
        """The value and its interval."""
        return f"1 - EER {self.value:.3f} {self.interval} at N' = {self.n_enroll}"


@dataclass(frozen=True)
class Compared:
    """1 - EER for every N', and in every draw the rivals of the test speakers among all enrolment speakers."""

    eers: list[OneMinusEer]
    rivals: list[Rivals]


def compare_all(
    enroll: Vectors,
    tests: Sequence[Vectors],
    owner: Counts,
    n_enroll: Sequence[int],
    resamples: int = RESAMPLES,
    seed: int = 0,
    similarity: Similarity = "cosine",
) -> Compared:
    """1 - EER for every N' ≥ 2 in `n_enroll`, and the rivals of `ranks.count_rivals`.

    `tests` are the vectors of the same speakers in each draw. ``enroll[owner[i]]`` is the true speaker of
    ``test[i]``; `similarity` is the cosine or the scalar product.
    """
    order = generator(seed, "one minus eer").permutation(len(enroll))
    references = References.from_vectors(enroll[order], similarity)
    place = np.argsort(order)[owner]
    found = []
    for test in tests:
        eers_of_draw, rivals = _compare(references, test, place, n_enroll, resamples, seed)
        if similarity != "cosine":
            # Products that are rounded may tie where the product with the difference of two references has a sign.
            rivals = count_rivals(enroll, test, owner, similarity)
        found.append((eers_of_draw, rivals))
    notes = {"resamples": resamples, "seed": seed}
    eers = []
    for n in n_enroll:
        values = np.mean([eers_of_draw[n].value for eers_of_draw, _ in found])
        samples = np.mean([eers_of_draw[n].samples for eers_of_draw, _ in found], axis=0)
        eers.append(_with_interval(n, float(values), samples, len(owner), notes))
    return Compared(eers, [rivals for _, rivals in found])


@dataclass(frozen=True)
class _Sampled:
    """An EER, and those of resamples."""

    value: float
    samples: Floats


def _compare(
    references: References, test: Vectors, place: Counts, n_enroll: Sequence[int], resamples: int, seed: int
) -> tuple[dict[int, _Sampled], Rivals]:
    """The EER for every N', and the rivals, in one draw; `place` is where the references of the test speakers are."""
    matrix = ScoreMatrix.from_vectors(test, references)
    targets = _Targets.from_matrix(matrix, references.place(place))
    weights = multiplicities(len(test), resamples, generator(seed, "one minus eer resamples"))
    target_sums = _target_sums(weights, targets)
    # What each N' adds to the next smaller one: counts per bin, and per resample and coarse bin.
    sizes = sorted(set(n_enroll))
    part_of = np.repeat(np.arange(len(sizes)), np.diff([0, *(n - 1 for n in sizes)]))
    added = np.zeros((len(sizes), targets.n_bins), np.int64)
    sums = np.zeros((len(sizes), *target_sums.shape))
    rivals = Rivals(np.zeros(len(test), np.int64), np.zeros(len(test), np.int64))
    for start in range(0, len(test), _ROWS):
        chunk = slice(start, min(start + _ROWS, len(test)))
        per_row = np.zeros((len(sizes), chunk.stop - chunk.start, targets.n_coarse), np.float32)
        for rows, bins in _blocks(matrix, chunk, place, targets):
            for row, found, own in zip(range(rows.start, rows.stop), bins, targets.own[rows].tolist(), strict=True):
                rivals.above[row] = np.count_nonzero(found > own)
                rivals.tied[row] = np.count_nonzero(found == own)
            bins = bins[:, : len(part_of)]
            added += np.bincount((bins + part_of * targets.n_bins).ravel(), minlength=added.size).reshape(added.shape)
            if resamples:
                per_row[:, rows.start - start : rows.stop - start] = _per_row(bins, part_of, len(sizes), targets)
        _add_weighted(weights[:, chunk], per_row, sums)
    counted = zip(sizes, np.cumsum(added, axis=0), np.cumsum(sums, axis=0), strict=True)
    return {n: _eer(targets, counts, (target_sums, others)) for n, counts, others in counted}, rivals


@dataclass(frozen=True)
class _Targets:
    """The distinct target scores, which of them each test speaker has, and bins around them.

    Bin 2k holds what lies between the levels k - 1 and k, bin 2k + 1 what is at level k; `coarse` is the bin of each
    for resamples.
    """

    levels: Levels
    exact: Floats
    level_of: Counts
    coarse: Counts

    @classmethod
    def from_matrix(cls, matrix: ScoreMatrix, owner: Counts) -> _Targets:
        """The target scores of a matrix; `owner` is the distinct reference of every input."""
        exact = matrix.exact(np.arange(len(owner)), owner)
        order = np.argsort(exact, kind="stable")
        new = np.concatenate(([True], np.diff(exact[order]) > 2 * matrix.tolerance))
        level_of = np.empty(len(owner), np.int64)
        level_of[order] = np.cumsum(new) - 1
        first = order[new]
        # Scores that differ exactly may be equal, or in another order, as far as the fast product can tell.
        fast = np.maximum.accumulate(matrix.fast_pairs(owner)[first])
        n = len(first)
        coarse = np.arange(2 * n + 1)
        if n > BINS:
            coarse = np.append(np.repeat(np.arange(n) * BINS // n, 2), BINS)
        return cls(Levels.from_scores(fast, 2 * matrix.error), exact[first], level_of, coarse)

    @property
    def own(self) -> Counts:
        """The bin of the target score of every test speaker."""
        return 2 * self.level_of + 1

    @property
    def n_bins(self) -> int:
        """Number of bins."""
        return len(self.coarse)

    @property
    def n_coarse(self) -> int:
        """Number of bins for resamples."""
        return int(self.coarse[-1]) + 1


def _blocks(
    matrix: ScoreMatrix, chunk: slice, place: Counts, targets: _Targets
) -> Iterator[tuple[slice, NDArray[np.int32]]]:
    """The bins of the scores of some rows with all references but their own, a few rows at a time.

    A product pays for many rows; what is made of the scores stays in the cache for few. Of equal rows and equal
    references, which have equal bins, one is looked at.
    """
    width = len(matrix.references.y)
    buffer = np.empty((max(1, min(_BLOCK, _CELLS // width)), width))
    step = max(1, _CACHED // width)
    for start in range(chunk.start, chunk.stop, len(buffer)):
        end = min(start + len(buffer), chunk.stop)
        matrix.multiply(slice(start, end), buffer[: end - start])
        for first in range(start, end, step):
            rows = slice(first, min(first + step, end))
            scores = matrix.complete(rows, buffer[first - start : rows.stop - start])
            if matrix.group is None:
                bins = _bins(matrix, np.arange(first, rows.stop), targets, scores)
            else:
                _, some, same = np.unique(matrix.group[rows], return_index=True, return_inverse=True)
                bins = _bins(matrix, first + some, targets, scores[some])[same]
            if matrix.references.column is not None:
                bins = np.take(bins, matrix.references.column, axis=1)
            for row, column in zip(bins, place[rows].tolist(), strict=True):
                row[column:-1] = row[column + 1 :]
            yield rows, bins[:, :-1]


def _bins(matrix: ScoreMatrix, rows: Counts, targets: _Targets, scores: Floats) -> NDArray[np.int32]:
    """The bin of every score of `rows` with the distinct references."""
    bins = targets.levels.gaps(targets.levels.cells(scores))
    unclear = np.flatnonzero(bins < 0)
    gaps = bins.ravel()[unclear]
    bins *= 2
    for start in range(0, len(unclear), _CELLS):
        part = unclear[start : start + _CELLS]
        low, high = targets.levels.near(scores.ravel()[part], gaps[start : start + _CELLS])
        bins.ravel()[part] = 2 * low
        part = part[low < high]
        for begin in range(0, len(part), _PAIRS):
            pairs = part[begin : begin + _PAIRS]
            row, column = np.divmod(pairs, scores.shape[1])
            exact = matrix.exact(rows[row], column)
            level = np.searchsorted(targets.exact, exact - matrix.tolerance, side="left")
            reached = targets.exact[np.minimum(level, len(targets.exact) - 1)] <= exact + matrix.tolerance
            bins.ravel()[pairs] = 2 * level + ((level < len(targets.exact)) & reached)
    return bins


def _per_row(bins: NDArray[np.int32], part_of: Counts, parts: int, targets: _Targets) -> Counts:
    """How many scores of each part and row are in each coarse bin; `part_of` is the part of every column."""
    keys = np.take(targets.coarse, bins)
    keys += (np.arange(len(bins))[:, None] * parts + part_of) * targets.n_coarse
    counts = np.bincount(keys.ravel(), minlength=len(bins) * parts * targets.n_coarse)
    return counts.reshape(len(bins), parts, -1).swapaxes(0, 1)


def _target_sums(weights: Counts, targets: _Targets) -> Floats:
    """Target scores per resample and coarse bin."""
    places = targets.coarse[targets.own]
    keys = np.arange(len(weights))[:, None] * targets.n_coarse + places
    sums = np.bincount(keys.ravel(), weights.ravel(), minlength=len(weights) * targets.n_coarse)
    return sums.reshape(len(weights), targets.n_coarse).astype(np.float64)


def _add_weighted(weights: Counts, counts: NDArray[np.float32], sums: Floats) -> None:
    """Add the counts of rows by the weights of resamples; exact, so that no order of adding can show."""
    heaviest = int(weights.sum(axis=1).max(initial=0))
    exact = {kind: weights.astype(kind) for kind in (np.float32, np.float64)}
    for total, part in zip(sums, counts, strict=True):
        kind = np.float32 if heaviest * float(part.max()) < 2**24 else np.float64
        total += exact[kind] @ part.astype(kind, copy=False)


def _eer(targets: _Targets, counts: Counts, sums: tuple[Floats, Floats]) -> _Sampled:
    own = np.bincount(targets.own, minlength=targets.n_bins)
    score = np.arange(targets.n_bins, dtype=np.float64)
    eer = eer_rocch(PooledScores(score, own, counts).reweighted(own, counts)).value
    samples = np.empty(0)
    if len(sums[0]):
        binned = [np.bincount(targets.coarse, kind)[None] for kind in (own, counts)]
        samples = np.clip(eers_rocch(*sums) + (eer - eers_rocch(*binned)[0]), 0, 0.5)
    return _Sampled(eer, samples)


def _with_interval(n: int, eer: float, samples: Floats, speakers: int, notes: Mapping[str, int]) -> OneMinusEer:
    # A target score more on the wrong side takes the threshold along, so that the rate rises by half of it.
    found = rate_interval(eer, samples, speakers, speakers, notes, highest=0.5, weight=0.5, bias=2)
    if found.lower is not None and found.upper is not None:
        found = replace(found, lower=1 - found.upper, upper=1 - found.lower)
    return OneMinusEer(n, 1 - eer, found)
