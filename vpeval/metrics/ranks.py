"""Rivals of the true reference: how many other references are as similar to an input as its own, or more.

One blocked matrix product in float32 settles all pairs except those within its error bound of the true reference
(`vectors.ordering_product`); these are computed again in float64, pair by pair. So the counts are exact for any finite
vectors, however alike or however long, and depend neither on the block size nor on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.metrics.vectors import (
    RESOLUTION,
    Counts,
    Floats,
    Similarity,
    Vectors,
    angles,
    common_scale,
    comparable,
    distinct_rows,
    ordering_product,
    pair_products,
)

_BLOCK = 512
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
    all_differ = groups is None
    product = ordering_product(inputs, references, similarity)
    right = product.right.T
    above = np.zeros(len(inputs), np.int64)
    tied = sizes[owner] - 1
    # Fresh memory for every block would cost more than the product itself.
    buffer = np.empty((_BLOCK, len(y)), np.float32)
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
        above[block] = np.count_nonzero(surely, axis=1) if all_differ else surely @ sizes
        rows, columns = np.divmod(np.flatnonzero(np.not_equal(surely, maybe, out=maybe)), len(y))
        others = columns != own[rows]
        x = comparable(inputs[block], similarity, scale_x)
        _settle(x, y, own, rows[others], columns[others], similarity, sizes, Rivals(above[block], tied[block]))
    return Rivals(above, tied)


def _settle(
    x: Floats, y: Floats, own: Counts, rows: Counts, columns: Counts, similarity: Similarity, sizes: Counts, out: Rivals
) -> None:
    """Add the pairs that float32 cannot tell from the true one to the counts `out`."""
    for start in range(0, len(rows), _PAIRS):
        i, j = rows[start : start + _PAIRS], columns[start : start + _PAIRS]
        ahead, level = _compare(x[i], y[j], y[own[i]], similarity)
        np.add.at(out.above, i[ahead], sizes[j[ahead]])
        np.add.at(out.tied, i[level], sizes[j[level]])


def _compare(
    x: Floats, rival: Floats, true: Floats, similarity: Similarity
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
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
