"""Rivals and ranks of the true reference: how many other references are as similar to an input as its own, or more.

One blocked matrix product in float32 settles all pairs except those within its error bound of the true reference
(`vectors.ordering_product`); these are computed again in float64, pair by pair. So the counts are exact for any finite
vectors, however alike or however long, and depend neither on the block size nor on the number of threads.

Ranks of the true references, and their histograms if speakers count more or less often.

A matrix speakers × ranks would hold a few inputs a row among tens of thousands of zeros. So the inputs are kept, sorted
by rank, and a histogram is a sum of weights over runs of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from vpeval.core.arrays import Bools, Counts, Floats
from vpeval.core.errors import refuse_unknown
from vpeval.metrics.vectors import (
    RESOLUTION,
    Product,
    Similarity,
    Vectors,
    angles,
    common_scale,
    comparable,
    distinct_rows,
    ordering_product,
    pair_products,
)

_CHUNK = 1 << 16
_BLOCK = 256
_PAIRS = 1 << 13


@dataclass(frozen=True)
class Rivals:
    """Per input, over the references j that are not its own: #{s_ij > s_ii} and #{s_ij = s_ii}."""

    above: Counts
    tied: Counts


def count_rivals(references: Vectors, inputs: Vectors, owner: Counts, similarity: Similarity = "cosine") -> Rivals:
    """Count the rivals of every input; ``references[owner[i]]`` is the true reference of ``inputs[i]``.

    The similarity is the cosine, the scalar product, or minus the distance (``euclidean``).
    """
    scale_x, scale_y = common_scale(inputs, references, similarity)
    y = comparable(references, similarity, scale_y)
    sizes = np.ones(len(y), np.int64)
    # Equal references, as of an anonymiser with one voice for all, are compared once.
    if groups := distinct_rows(y):
        first, group, sizes = groups
        y, references, owner = y[first], references[first], group[owner]
    above = np.zeros(len(inputs), np.int64)
    tied = sizes[owner] - 1
    # The factors of the product are made for some inputs at a time: those of a million would fill memory once more.
    for start in range(0, len(inputs), _CHUNK):
        part = slice(start, start + _CHUNK)
        product = ordering_product(inputs[part], references, similarity)
        out = Rivals(above[part], tied[part])
        _count(product, inputs[part], y, owner[part], similarity, scale_x, None if groups is None else sizes, out)
    return Rivals(above, tied)


def count_rivals_within(
    references: Vectors, inputs: Vectors, owner: Counts, groups: Counts, similarity: Similarity = "cosine"
) -> Rivals:
    """Count only those rivals that are in the group of the true reference; reference j is in ``groups[j]``."""
    above, tied = np.zeros(len(inputs), np.int64), np.zeros(len(inputs), np.int64)
    place = np.empty(len(references), np.int64)
    for group in np.unique(groups[owner]):
        members, concerned = np.flatnonzero(groups == group), np.flatnonzero(groups[owner] == group)
        place[members] = np.arange(len(members))
        found = count_rivals(references[members], inputs[concerned], place[owner[concerned]], similarity)
        above[concerned], tied[concerned] = found.above, found.tied
    return Rivals(above, tied)


def _count(
    product: Product,
    inputs: Vectors,
    y: Floats,
    owner: Counts,
    similarity: Similarity,
    scale: float,
    sizes: Counts | None,
    out: Rivals,
) -> None:
    """Add the rivals among the references `y`, which stand for `sizes` equal ones each (None: for one), to `out`."""
    right = product.right.T
    # Fresh memory for every block would cost more than the product itself.
    buffer = np.empty((min(_BLOCK, len(inputs)), len(y)), np.float32)
    masks = np.empty((2, *buffer.shape), bool)
    for start in range(0, len(inputs), _BLOCK):
        block = slice(start, start + _BLOCK)
        own = owner[block]
        scores = np.matmul(product.left[block], right, out=buffer[: len(own)])
        true = scores[np.arange(len(own)), own][:, None]
        # Twice the error bound of one score, as both sides of a comparison carry it.
        margin = (2 * product.error[block, None]).astype(np.float32)
        surely = np.greater(scores, true + margin, out=masks[0, : len(own)])
        maybe = np.greater_equal(scores, true - margin, out=masks[1, : len(own)])
        out.above[block] = np.count_nonzero(surely, axis=1) if sizes is None else surely @ sizes
        rows, columns = np.divmod(np.flatnonzero(np.not_equal(surely, maybe, out=maybe)), len(y))
        others = columns != own[rows]
        x = comparable(inputs[block], similarity, scale)
        counted = np.ones(len(y), np.int64) if sizes is None else sizes
        part = Rivals(out.above[block], out.tied[block])
        _settle(x, y, own, rows[others], columns[others], similarity, counted, part)


def _settle(
    x: Floats, y: Floats, own: Counts, rows: Counts, columns: Counts, similarity: Similarity, sizes: Counts, out: Rivals
) -> None:
    """Add the pairs that float32 cannot tell from the true one to the counts `out`."""
    for start in range(0, len(rows), _PAIRS):
        i, j = rows[start : start + _PAIRS], columns[start : start + _PAIRS]
        ahead, level = _compare(x[i], y[j], y[own[i]], similarity)
        np.add.at(out.above, i[ahead], sizes[j[ahead]])
        np.add.at(out.tied, i[level], sizes[j[level]])


def _compare(x: Floats, rival: Floats, true: Floats, similarity: Similarity) -> tuple[Bools, Bools]:
    """Whether each x is more similar to its rival than to its true reference, and whether equally similar."""
    if similarity == "product":
        lead = pair_products(x, rival - true)
        return lead > 0, lead == 0
    if similarity == "cosine":
        lead, tolerance = angles(x, true) - angles(x, rival), np.full(len(x), RESOLUTION)
    else:
        far, near = (np.sqrt(np.square(x - y).sum(axis=1)) for y in (true, rival))
        lead, tolerance = far - near, RESOLUTION * np.sqrt(np.square(x).sum(axis=1) + np.square(true).sum(axis=1))
    return lead > tolerance, np.abs(lead) <= tolerance


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
    def from_rivals(
        cls, rivals: Rivals, owner: Counts, n_speakers: int, n_references: int, ties: Ties = "mid"
    ) -> Ranks:
        """The ranks by a rule for ties: all ranks of the tie block, or its last one."""
        refuse_unknown("rule for ties", ties, get_args(Ties))
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
    def _covered(self) -> Bools:
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
