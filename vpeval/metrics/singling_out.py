"""Legal singling out π_sing: how often a predicate isolates exactly one of N speakers.

Vauquier et al., Legally validated evaluation framework for voice anonymization, Interspeech 2025. For an enrolment
speaker, N test speakers are drawn, the enrolment speaker among them. Test speaker i has K_i vectors; in a fold one is
the test vector and K_i - 1 are calibration. With r = Σ(K_i - 1)/N the threshold is the mean of the ⌊r⌋-th and the next
highest calibration similarity to the enrolment vector, which is the paper's rule both for K = 10 (9th and 10th) and for
fewer vectors ((K-1)-th and K-th). The attack succeeds iff exactly one of the N test vectors is strictly above the
threshold, whoever it belongs to. There are max K_i folds; in fold f the test vector of speaker i is number f mod K_i.

Chance. If all scores are exchangeable, the probability that exactly one of the N test scores exceeds the ⌊r⌋-th of
R = Σ(K_i - 1) calibration scores is, with q = ⌊r⌋,

    q · N/(N+R) · Π_{k<q} (R-k)/(N+R-1-k)   →   (M/(M+1))^(M+1) for K = M + 1 and large N,

0.3487 for M = 9 (0.3577 at N = 20), not the e⁻¹ = 0.3679 that the paper quotes for a predicate of weight 1/N. For large
N the value is the same at the next calibration score; a threshold between the two adds about 0.001 for M = 9, and more
for few vectors (up to 0.03 for M = 1).

Only the highest scores of a row decide. They are found by a matrix product and computed again in float64 pair by pair,
so that equal vectors tie exactly; a row whose order statistics could lie outside the kept scores is repeated with more
of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.core.seeds import generator
from vpeval.metrics.ranks import Counts, Similarity, Vectors, pair_products, rounding, unit_rows

_KEEP = 64
_GROUP = 32
_BLOCK = 1 << 25


@dataclass(frozen=True)
class SinglingOut:
    """Success rates over the folds, one row per value of N and one column per enrolment speaker."""

    n_speakers: tuple[int, ...]
    per_speaker: NDArray[np.float64]
    chance: NDArray[np.float64]

    @property
    def values(self) -> NDArray[np.float64]:
        """π_sing for every N."""
        return self.per_speaker.mean(axis=1)


def singling_out(
    enroll: Vectors,
    owner: Counts,
    folds: Vectors,
    counts: Counts,
    n_speakers: Sequence[int],
    seed: int = 0,
    draw: int = 0,
    similarity: Similarity = "cosine",
) -> SinglingOut:
    """One draw of test speakers for every enrolment speaker and every N in `n_speakers`.

    ``folds[k, i]`` is vector k of test speaker i, of which the first ``counts[i]`` ≥ 2 are meant; ``owner[e]`` is the
    test speaker who is enrolment speaker e. The speakers drawn for a smaller N are among those drawn for a larger one.
    `similarity` is the cosine or the scalar product.
    """
    n_folds, n_all, dimension = folds.shape
    if not all(2 <= n <= n_all for n in n_speakers) or counts.min() < 2:
        raise ValueError("singling out needs 2 ≤ N ≤ number of test speakers, and two vectors per test speaker")
    if similarity == "cosine":
        enroll, folds = unit_rows(enroll), unit_rows(folds)
    longest = float(np.sqrt(np.einsum("fsd,fsd->fs", folds, folds).max()))
    everyone = np.arange(n_all)
    absent = np.arange(n_folds)[:, None] >= counts
    rng = generator(seed, f"singling out draw {draw}")
    success = np.empty((len(n_speakers), len(enroll)))
    chance = np.empty_like(success)
    step = min(len(enroll), max(1, _BLOCK // (n_folds * n_all)))
    buffer = np.empty((step, n_folds * n_all), folds.dtype)
    for start in range(0, len(enroll), step):
        x = enroll[start : start + step]
        block = np.matmul(x, folds.reshape(-1, dimension).T, out=buffer[: len(x)])
        for e, scores in enumerate(block.reshape(-1, n_folds, n_all), start=start):
            if absent.any():
                scores[absent] = -np.inf
            order = _order(n_all, int(owner[e]), rng) if min(n_speakers) < n_all else everyone
            for place, n in enumerate(n_speakers):
                drawn = order[:n] if n < n_all else slice(None)
                part = _Part(scores[:, drawn], everyone[drawn], counts[drawn])
                success[place, e] = _isolates(enroll[e], folds, longest, part).mean()
                chance[place, e] = _chance(n, part.calibration)
    return SinglingOut(tuple(n_speakers), success, chance.mean(axis=1))


@dataclass(frozen=True)
class _Part:
    """The drawn test speakers: scores fold × speaker, who they are, and how many vectors each has."""

    scores: Vectors
    names: Counts
    counts: Counts

    @property
    def calibration(self) -> int:
        """Number of calibration scores in a fold: Σ(K_i - 1)."""
        return int(self.counts.sum()) - len(self.counts)


def _order(n_all: int, first: int, rng: np.random.Generator) -> Counts:
    """All test speakers in a random order, but `first` comes first."""
    order = rng.permutation(n_all)
    return np.concatenate(([first], order[order != first]))


def _isolates(x: Vectors, folds: Vectors, longest: float, part: _Part) -> NDArray[np.bool_]:
    """Whether the attack with enrolment vector `x` succeeds, per fold; `longest` is the length of a test vector."""
    fold = np.arange(part.counts.max())[:, None]
    q = part.calibration // len(part.counts)
    error = rounding(x) * longest * float(np.sqrt(pair_products(x, x)))
    keep = _KEEP
    while True:
        cut = _cut(part.scores, keep)
        vector, speaker = np.divmod(np.flatnonzero(part.scores >= cut - 2 * error), len(part.counts))
        present = vector < part.counts[speaker]
        vector, speaker = vector[present], speaker[present]
        exact = pair_products(x, folds[vector, part.names[speaker]])
        best = np.argsort(-exact, kind="stable")
        vector, speaker, exact = vector[best], speaker[best], exact[best]
        is_test = fold % part.counts[speaker] == vector
        rank = np.cumsum(~is_test, axis=1)
        upper, lower = exact[np.argmax(rank >= q, axis=1)], exact[np.argmax(rank > q, axis=1)]
        # What was not kept is, computed exactly, below cut - error: the order statistics are right if they are not.
        if (rank[:, -1] > q).all() and (lower >= cut - error).all():
            threshold = (upper + lower) / 2
            return np.count_nonzero(is_test & (exact > threshold[:, None]), axis=1) == 1
        keep *= 4


def _cut(scores: Vectors, keep: int) -> float:
    """A score that at least `keep` of the scores reach, not far below the highest such score."""
    flat = scores.ravel()
    if keep >= len(flat):
        return -np.inf
    # The keep-th highest of the maxima of disjoint groups is a lower bound, found in a fraction of the time.
    groups = len(flat) // _GROUP
    if groups > 2 * keep:
        flat = flat[: groups * _GROUP].reshape(_GROUP, groups).max(axis=0)
    return float(np.partition(flat, -keep)[-keep])


def _chance(n: int, calibration: int) -> float:
    """Probability of success if all scores are exchangeable."""
    q = calibration // n
    k = np.arange(q)
    return float(q * n / (n + calibration) * np.prod((calibration - k) / (n + calibration - 1 - k)))
