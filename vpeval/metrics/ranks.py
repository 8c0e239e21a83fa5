"""Rivals of the true reference: how many other references are as similar to an input as its own, or more.

For inputs x_i and references y_j the similarity is s_ij = cos(x_i, y_j), s_ij = x_i·y_j (with which a PLDA back end
compares) or s_ij = -|x_i - y_j| (which orders like x_i·y_j - |y_j|²/2). One blocked matrix product settles all pairs
except those within its rounding error of s_ii; these are computed again in float64, pair by pair. So equal
references tie exactly, and the counts depend neither on the block size nor on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Similarity = Literal["cosine", "product", "euclidean"]
Vectors = NDArray[np.floating]
Counts = NDArray[np.int64]

_BLOCK = 512
_PAIRS = 1 << 15


@dataclass(frozen=True)
class Rivals:
    """Per input, over the references j that are not its own: #{s_ij > s_ii} and #{s_ij = s_ii}."""

    above: Counts
    tied: Counts


def count_rivals(references: Vectors, inputs: Vectors, owner: Counts, similarity: Similarity = "cosine") -> Rivals:
    """Count the rivals of every input; ``references[owner[i]]`` is the true reference of ``inputs[i]``."""
    if similarity == "cosine":
        references, inputs = unit_rows(references), unit_rows(inputs)
    bias = -0.5 * pair_products(references, references)
    longest = np.sqrt(-2 * bias.min())
    above = np.zeros(len(inputs), np.int64)
    tied = np.zeros(len(inputs), np.int64)
    # Fresh memory for every block would cost more than the product itself.
    buffer = np.empty((_BLOCK, len(references)), references.dtype)
    masks = np.empty((2, *buffer.shape), bool)
    for start in range(0, len(inputs), _BLOCK):
        block = slice(start, start + _BLOCK)
        x, own = inputs[block], owner[block]
        scores = np.matmul(x, references.T, out=buffer[: len(x)])
        if similarity == "euclidean":
            scores += bias.astype(scores.dtype)
        true = scores[np.arange(len(x)), own][:, None]
        # Twice the error bound of one score, as both sides of a comparison carry it.
        length = np.sqrt(pair_products(x, x))[:, None] + (longest if similarity == "euclidean" else 0)
        margin = (2 * rounding(x) * longest * length).astype(scores.dtype)
        surely = np.greater(scores, true + margin, out=masks[0, : len(x)])
        maybe = np.greater_equal(scores, true - margin, out=masks[1, : len(x)])
        above[block] = np.count_nonzero(surely, axis=1)
        close = np.flatnonzero(np.not_equal(surely, maybe, out=maybe))
        rows, columns = np.divmod(close, len(references))
        others = columns != own[rows]
        _settle(references, x, own, rows[others], columns[others], similarity, above[block], tied[block])
    return Rivals(above, tied)


def unit_rows(vectors: NDArray[np.floating]) -> NDArray[np.float32]:
    """Rows scaled to length one; rows of zeros stay zero."""
    norms = np.sqrt(np.einsum("...d,...d->...", vectors, vectors))
    return (vectors / np.where(norms == 0, 1, norms)[..., None]).astype(np.float32, copy=False)


def pair_products(x: Vectors, y: Vectors) -> NDArray[np.float64]:
    """x_i·y_i of every row in float64; each row is summed in the same order, so equal rows give equal products."""
    return (x.astype(np.float64) * y).sum(axis=-1)


def rounding(vectors: Vectors) -> float:
    """Error bound of a scalar product in the precision of `vectors`, were both factors of length one."""
    return float((vectors.shape[-1] + 2) * np.finfo(vectors.dtype).eps / 2)


def _settle(
    references: Vectors,
    inputs: Vectors,
    owner: Counts,
    rows: Counts,
    columns: Counts,
    similarity: Similarity,
    above: Counts,
    tied: Counts,
) -> None:
    """Add the pairs that are too close to call in float32 to the counts `above` and `tied`."""
    for start in range(0, len(rows), _PAIRS):
        i, j = rows[start : start + _PAIRS], columns[start : start + _PAIRS]
        rival = _exact(inputs[i], references[j], similarity)
        true = _exact(inputs[i], references[owner[i]], similarity)
        above += np.bincount(i[rival > true], minlength=len(above))
        tied += np.bincount(i[rival == true], minlength=len(tied))


def _exact(x: Vectors, y: Vectors, similarity: Similarity) -> NDArray[np.float64]:
    if similarity != "euclidean":
        return pair_products(x, y)
    difference = x.astype(np.float64) - y
    return -np.square(difference).sum(axis=-1)
