"""Scores of all pairs of inputs and references in float64, block by block: fast within a bound, and exact for some.

A cosine is taken as 1 - |x-y|²/2 = 1 - (|r|²+|q|²)/2 + r·q with the vectors r and q that are left without what all have
in common, so that it keeps its digits where vectors crowd. Pairs that the error of this product cannot tell apart are
compared by exact scores: angles, or scalar products summed in one order (see `vectors`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

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


@dataclass(frozen=True)
class ScoreMatrix:
    """Scores of inputs and references: fast ones with an error bound, and exact ones with a tolerance."""

    x: Floats
    y: Floats
    centre: Floats
    half_squares: tuple[Floats, Floats]
    error: float
    similarity: Similarity

    @classmethod
    def of(cls, x_raw: Vectors, y_raw: Vectors, similarity: Similarity) -> ScoreMatrix:
        """The matrix of inputs and references by their cosines or scalar products."""
        if similarity == "euclidean":
            raise ValueError("score matrices are of cosines or scalar products")
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

    def multiply(self, rows: slice, out: Floats) -> None:
        """Fill `out` with products of `rows` and the first references, as many as it has columns."""
        np.matmul(self.x[rows] - self.centre, self.centred[: out.shape[1]].T, out=out)

    def complete(self, rows: slice, out: Floats) -> Floats:
        """Turn the products of `rows` into scores within `error`; a few rows at a time stay in the cache."""
        out -= self.half_squares[0][rows, None]
        out -= self.half_squares[1][: out.shape[1]]
        return out

    @cached_property
    def centred(self) -> Floats:
        """The references without what all have in common."""
        return self.y - self.centre

    def fast_pairs(self, owner: Counts) -> Floats:
        """The score of every input with one reference, as exact as float64 makes it."""
        product = pair_products(self.x - self.centre, self.centred[owner])
        return product - self.half_squares[0] - self.half_squares[1][owner]

    def exact(self, row: Counts, column: Counts) -> Floats:
        """Scores of pairs on a scale of their own: minus the angle, or the scalar product."""
        if self.similarity == "product":
            return pair_products(self.x[row], self.y[column])
        return -angles(self.x[row], self.y[column])

    @property
    def tolerance(self) -> float:
        """How far equal exact scores may be apart."""
        return RESOLUTION if self.similarity == "cosine" else 0.0
