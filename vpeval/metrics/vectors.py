"""Vectors made comparable: what the metrics of embeddings share to order similarities exactly.

The similarity of an input x and a reference y is the cosine, the scalar product (with which a PLDA back end compares),
or minus the Euclidean distance. For each input they order the references like

    r·q_j + b_j   with   r = x - x̄,  q_j = y_j - ȳ  and  b_j = x̄·q_j (product) or (x̄ - ȳ)·q_j - |q_j|²/2 (distance);

a cosine orders as the distance of directions does. What all vectors have in common is thus gone before a product in
float32 is taken: its error bound shrinks with the vectors' differences, and voices that are all but alike are told
apart as well as any others. Pairs within that bound are computed once more in float64, as differences of vectors.

Directions are scaled by powers of two first, so that no finite vector over- or underflows. Two angles that differ by
less than `RESOLUTION` cannot be told apart by vectors of float64 numbers: they count as equal, so that ties survive any
scaling of the vectors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import NDArray

from vpeval.core.arrays import Counts, Floats
from vpeval.core.errors import refuse_unknown

Similarity = Literal["cosine", "product", "euclidean"]
Vectors = NDArray[np.floating]

RESOLUTION = 2.0**-48
"""The largest difference of two angles, in radians, that rounding alone can make."""

_ROWS = 4096
_SAFE = 2.0**400


def directions(vectors: Vectors) -> Floats:
    """Rows of length one; rows of zeros stay zero. Vectors that are not finite are a ValueError.

    >>> directions(np.array([[3e200, 4e200], [0, 0]])).round(12).tolist()
    [[0.6, 0.8], [0.0, 0.0]]
    """
    wide = np.asarray(vectors, np.float64)
    peak = np.abs(wide).max(axis=-1, keepdims=True, initial=0)
    if not np.isfinite(peak).all():
        raise ValueError("vectors must be finite")
    if ((peak > _SAFE) | ((peak < 1 / _SAFE) & (peak > 0))).any():
        wide = np.ldexp(wide, -np.frexp(peak)[1])
    norms = np.sqrt(np.square(wide).sum(axis=-1, keepdims=True))
    return wide / np.where(norms == 0, 1, norms)


def angles(x: Floats, y: Floats) -> Floats:
    """Angles between rows of length one, as exact near 0 and π as elsewhere (Kahan); π/2 to a row of zeros.

    >>> angles(np.array([1.0, 0.0]), np.array([[1.0, 1e-9], [0.0, 1.0]])).round(12).tolist()
    [1e-09, 1.570796326795]
    """
    return 2 * np.arctan2(_lengths(x - y), _lengths(x + y))


def pair_products(x: Vectors, y: Vectors) -> Floats:
    """x_i·y_i of every row in float64; each row is summed in the same order, so equal rows give equal products."""
    return (x.astype(np.float64) * y).sum(axis=-1)


@dataclass(frozen=True)
class Product:
    """Factors whose scalar products ``left[i] @ right[j]`` order the references j of every input i, in float32.

    The product of the factors is within ``error[i]`` of the true number.
    """

    left: NDArray[np.float32]
    right: NDArray[np.float32]
    error: Floats


def common_scale(x: Vectors, y: Vectors, similarity: Similarity) -> tuple[float, float]:
    """Powers of two to divide inputs and references by, so that their products stay in range; 1 for cosines."""
    refuse_unknown("similarity", similarity, get_args(Similarity))
    if similarity == "cosine":
        return 1.0, 1.0
    peaks = [float(np.abs(vectors).max(initial=0)) for vectors in (x, y)]
    if not np.isfinite(peaks).all():
        raise ValueError("vectors must be finite")
    if similarity == "euclidean":
        peaks = [max(peaks)] * 2
    scales = [2.0 ** np.clip(np.frexp(peak)[1], -1000, 1000) if peak else 1.0 for peak in peaks]
    return float(scales[0]), float(scales[1])


def comparable(vectors: Vectors, similarity: Similarity, scale: float = 1.0) -> Floats:
    """What is compared, in float64: directions, or the vectors themselves over `scale`."""
    return directions(vectors) if similarity == "cosine" else np.asarray(vectors, np.float64) / scale


def ordering_product(x: Vectors, y: Vectors, similarity: Similarity) -> Product:
    """Factors that order the rows of `y` for every row of `x`."""
    scale_x, scale_y = common_scale(x, y, similarity)
    mean_x, mean_y = _middle(x, similarity, scale_x), _middle(y, similarity, scale_y)
    dimension = x.shape[-1]
    left = np.ones((len(x), dimension + 1), np.float32)
    right = np.empty((len(y), dimension + 1), np.float32)
    spread_x, spread_y, bias = np.empty(len(x)), np.empty(len(y)), np.empty(len(y))
    longest_x = longest_y = 1.0
    for rows, wide in _blocks(x, similarity, scale_x):
        longest_x = max(longest_x, float(_lengths(wide).max()))
        wide -= mean_x
        spread_x[rows] = _lengths(wide)
        left[rows, :-1] = wide
    towards = mean_x if similarity == "product" else mean_x - mean_y
    for rows, wide in _blocks(y, similarity, scale_y):
        longest_y = max(longest_y, float(_lengths(wide).max()))
        zero = ~wide.any(axis=1)
        wide -= mean_y
        spread_y[rows] = _lengths(wide)
        bias[rows] = wide @ towards
        right[rows, :-1] = wide
        if similarity == "cosine":  # with a direction of zeros the cosine is 0, as if at a right angle
            bias[rows] -= zero / 2
    if similarity != "product":
        bias -= spread_y**2 / 2
    bias -= bias.mean()
    right[:, -1] = bias
    widest, farthest = float(spread_y.max()), float(np.abs(bias).max())
    in_float32 = (dimension + 8) * 2.0**-24 * (spread_x * widest + farthest) + dimension * 2.0**-120
    apart = spread_x + widest + float(_lengths(mean_x - mean_y))
    summed = longest_x * widest + longest_y * spread_x if similarity == "product" else apart**2
    in_float64 = (dimension + 16) * 2.0**-52 * summed + RESOLUTION * apart * (longest_x + longest_y)
    return Product(left, right, in_float32 + in_float64)


def distinct_rows(vectors: Floats) -> tuple[Counts, Counts, Counts] | None:
    """First places, group of every row, and sizes of the groups of equal rows; None where all rows differ."""
    factors = np.random.default_rng(0).integers(1, 2**63, vectors.shape[1], dtype=np.uint64) | np.uint64(1)
    bits = np.ascontiguousarray(vectors + 0.0).view(np.uint64)  # -0 and 0 are equal
    hashes = np.concatenate([(bits[i : i + _ROWS] * factors).sum(axis=1) for i in range(0, len(bits), _ROWS)])
    if len(np.unique(hashes)) == len(hashes):
        return None
    _, first, group, sizes = np.unique(vectors, axis=0, return_index=True, return_inverse=True, return_counts=True)
    return first, group.ravel(), sizes


def _blocks(vectors: Vectors, similarity: Similarity, scale: float) -> Iterator[tuple[slice, Floats]]:
    """The comparable rows, block by block; a block may be overwritten."""
    for start in range(0, len(vectors), _ROWS):
        rows = slice(start, start + _ROWS)
        yield rows, comparable(vectors[rows], similarity, scale)


def _middle(vectors: Vectors, similarity: Similarity, scale: float) -> Floats:
    """About the mean of the comparable rows: any point among them will do, so some thousand rows stand for all."""
    return comparable(vectors[:: 1 + len(vectors) // _ROWS], similarity, scale).mean(axis=0)


def _lengths(vectors: Floats) -> Floats:
    return np.sqrt(np.square(vectors).sum(axis=-1))
