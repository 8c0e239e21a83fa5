"""1 - EER over the number of enrolment speakers, beside linkability (Legal paper, Figure 1, row 3; ROCCH-EER).

Every test speaker brings one target score, against the true enrolment speaker, and N'-1 nontarget scores, as in
linkability. The EER is no mean over speakers, so it has no exact expectation over the draw: one seeded order of the
enrolment speakers is drawn, and the first N'-1 others in it are the nontargets of every test speaker. The sets are
nested, and N' = M uses all scores. Chance is 1/2.

An EER needs no more of the nontarget scores than how many lie below, at and above each target score, so the score
matrix is counted block by block and never held. A resample of test speakers weights these counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.core.seeds import generator
from vpeval.metrics.bootstrap import Interval, multiplicities, percentile_interval
from vpeval.metrics.eer import eer_rocch
from vpeval.metrics.ranks import Counts, Similarity, Vectors, pair_products, unit_rows
from vpeval.metrics.scores import PooledScores

_BLOCK = 256
# Scores are rounded to this share of the largest possible one, far above the noise of a product, so that equal vectors
# tie. It is a power of two.
_STEPS = {np.dtype(np.float32): 2.0**-20, np.dtype(np.float64): 2.0**-40}


@dataclass(frozen=True)
class OneMinusEer:
    """1 - ROCCH-EER among `n_enroll` enrolment speakers."""

    n_enroll: int
    value: float
    interval: Interval | None


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
    enroll, owner = enroll[order], np.argsort(order)[owner]
    if similarity == "cosine":
        enroll, test = unit_rows(enroll), unit_rows(test)
    step = _step(enroll, test)
    own = pair_products(test, enroll[owner]).astype(enroll.dtype)
    levels, level_of = np.unique(_rounded(own, step), return_inverse=True)
    weights = multiplicities(len(test), resamples, generator(seed, "one minus eer resamples"))
    weights = np.vstack((np.ones_like(level_of), weights)).astype(np.float64)
    targets = np.zeros((len(weights), 2 * len(levels) + 1))
    np.add.at(targets.T, 2 * level_of + 1, weights.T)

    results = []
    for n in n_enroll:
        nontargets = np.zeros_like(targets)
        for start in range(0, len(test), _BLOCK):
            block = slice(start, start + _BLOCK)
            scores = _rounded(test[block] @ enroll[:n].T, step)
            others = np.arange(n) != np.minimum(owner[block], n - 1)[:, None]
            nontargets += weights[:, block] @ _bins(scores[others].reshape(-1, n - 1), levels)
        results.append(_summarise(n, targets, nontargets))
    return results


def _step(enroll: Vectors, test: Vectors) -> float:
    lengths = [np.sqrt(pair_products(vectors, vectors).max()) for vectors in (enroll, test)]
    return float(_STEPS[enroll.dtype] * 2.0 ** np.rint(np.log2(lengths[0] * lengths[1])))


def _rounded(scores: Vectors, step: float) -> Vectors:
    """Whole numbers of steps."""
    return np.rint(scores / scores.dtype.type(step))


def _bins(scores: Vectors, levels: Vectors) -> NDArray[np.float64]:
    """Scores per row below the first level, at it, between it and the second, at that, and so on, above the last."""
    counts = np.empty((len(scores), 2 * len(levels) + 1))
    edges = np.zeros(2 * len(levels) + 2, np.int64)
    edges[-1] = scores.shape[1]
    for row, out in zip(np.sort(scores, axis=1), counts, strict=True):
        edges[1:-1:2] = np.searchsorted(row, levels, side="left")
        edges[2:-1:2] = np.searchsorted(row, levels, side="right")
        out[:] = np.diff(edges)
    return counts


def _summarise(n: int, targets: NDArray[np.float64], nontargets: NDArray[np.float64]) -> OneMinusEer:
    bins = np.arange(targets.shape[1], dtype=np.float64)
    empty = np.zeros(len(bins), np.int64)
    pooled = PooledScores(bins, empty, empty)
    values = [
        1 - eer_rocch(pooled.reweighted(t.astype(np.int64), c.astype(np.int64))).value
        for t, c in zip(targets, nontargets, strict=True)
    ]
    return OneMinusEer(n, values[0], percentile_interval(values[1:]) if len(values) > 1 else None)
