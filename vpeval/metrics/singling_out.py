"""Legal singling out π_sing: how often a predicate isolates exactly one of N speakers.

Vauquier et al., Legally validated evaluation framework for voice anonymization, Interspeech 2025. For an enrolment
speaker, N test speakers are drawn, the enrolment speaker among them. Test speaker i has K_i vectors; in a fold one is
the test vector and K_i - 1 are calibration. With r = Σ(K_i - 1)/N the threshold is the mean of the ⌊r⌋-th and the next
highest calibration similarity to the enrolment vector, which is the paper's rule both for K = 10 (9th and 10th) and for
fewer vectors ((K-1)-th and K-th). The attack succeeds iff exactly one of the N test vectors is strictly above the
threshold, whoever it belongs to. There are max K_i folds; in fold f the test vector of speaker i is number f mod K_i.

Chance. If all scores are exchangeable, the number a of test scores above the q-th of the R = Σ(K_i - 1) calibration
scores, q = ⌊r⌋, and the number g between it and the next have the probability

    P(a, g) = C(q-1+a, a) · C(N-a-g+R-q-1, R-q-1) / C(N+R, N),

and a test score between the two is above their mean as often as below it where scores lie evenly between neighbours. So
the attack succeeds by chance with probability Σ_g 2^-g·(P(1, g) + g·P(0, g)): 0.350 for K = 10 and large N (0.359 at
N = 20), 0.278 for K = 2 (0.287 at N = 20), not the e⁻¹ = 0.368 that the paper quotes for a predicate of weight 1/N. For
scores with normal or exponential tails, which are not quite even between neighbours, it was off by up to 0.011 in
simulations.

Side information. An attacker who knows an attribute of the person looks only at those of the N who share it, for the
threshold and for the attack. One group for all is the plain metric; where nobody of the N shares the attribute, it
isolates the person by itself.

Only the highest scores of a row decide. They are found by a matrix product and computed again in float64 pair by pair
(see `vectors`), so that equal vectors tie exactly; a row whose order statistics could lie outside the kept scores is
repeated with more of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from vpeval.core.arrays import Bools, Counts, Floats
from vpeval.core.seeds import generator
from vpeval.metrics.intervals import SpeakerInterval, rate_lines, share_intervals
from vpeval.metrics.vectors import (
    RESOLUTION,
    Similarity,
    Vectors,
    common_scale,
    comparable,
    ordering_product,
    pair_products,
)

_KEEP = 32
_GROUP = 32
_BLOCK = 1 << 25
_FEW = 1 << 22


@dataclass(frozen=True)
class SinglingOut:
    """Success rates over the folds, one row per value of N and one column per enrolment speaker."""

    n_speakers: tuple[int, ...]
    per_speaker: Floats
    chance_per_speaker: Floats

    def __str__(self) -> str:
        """A line for every N."""
        return rate_lines("singling out", "N", self.n_speakers, self.values, self.chance)

    def intervals(self) -> list[SpeakerInterval]:
        """95 % intervals of the values, over enrolment speakers."""
        return share_intervals(self.per_speaker.T)

    @property
    def chance(self) -> Floats:
        """What exchangeable scores give for every N."""
        return self.chance_per_speaker.mean(axis=1)

    @property
    def values(self) -> Floats:
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
    everyone = [np.zeros(folds.shape[1], np.int64)]
    return singling_out_within(enroll, owner, folds, counts, n_speakers, everyone, seed, draw, similarity)[0]


def singling_out_within(
    enroll: Vectors,
    owner: Counts,
    folds: Vectors,
    counts: Counts,
    n_speakers: Sequence[int],
    partitions: Sequence[Counts],
    seed: int = 0,
    draw: int = 0,
    similarity: Similarity = "cosine",
) -> list[SinglingOut]:
    """The same for every partition of the test speakers into groups: of those drawn, the group of the owner counts.

    ``partitions[p][i]`` is the group of test speaker i; all partitions see the same draw.
    """
    n_folds, n_all, dimension = folds.shape
    if not all(2 <= n <= n_all for n in n_speakers) or counts.min() < 2:
        raise ValueError("singling out needs 2 ≤ N ≤ number of test speakers, and two vectors per test speaker")
    if similarity == "euclidean":
        raise ValueError("singling out compares by cosines or scalar products")
    flat = folds.reshape(-1, dimension)
    present = np.flatnonzero(np.arange(n_folds)[:, None] < counts)
    used = flat if len(present) == len(flat) else flat[present]
    product = ordering_product(enroll, used, similarity)
    scale_x, scale_y = common_scale(enroll, used, similarity)
    x = comparable(enroll, similarity, scale_x)
    # The same few vectors are compared again and again: where all of them fit, they are made comparable once.
    y = comparable(flat, similarity, scale_y).reshape(folds.shape) if flat.size <= _FEW else None

    def exact(e: int, vector: Counts, speaker: Counts) -> Floats:
        some = comparable(folds[vector, speaker], similarity, scale_y) if y is None else y[vector, speaker]
        return _similarity(x[e], some, similarity)

    everyone = np.arange(n_all)
    rng = generator(seed, f"singling out draw {draw}")
    success = np.empty((len(partitions), len(n_speakers), len(enroll)))
    chance = np.empty_like(success)
    step = min(len(enroll), max(1, _BLOCK // len(used)))
    buffer = np.empty((step, len(used)), np.float32)
    of_all = np.full(len(flat), -np.inf, np.float32)
    for start in range(0, len(enroll), step):
        left = product.left[start : start + step]
        block = np.matmul(left, product.right.T, out=buffer[: len(left)])
        for e, row in enumerate(block, start=start):
            if len(used) < len(flat):
                of_all[present] = row
            scores = (row if len(used) == len(flat) else of_all).reshape(n_folds, n_all)
            order = _order(n_all, int(owner[e]), rng) if min(n_speakers) < n_all else everyone
            for place, n in enumerate(n_speakers):
                chosen = order[:n] if n < n_all else everyone
                for p, groups in enumerate(partitions):
                    drawn = chosen[groups[chosen] == groups[owner[e]]]
                    if len(drawn) == 1:
                        # Whoever shares the attribute with nobody is isolated by it.
                        success[p, place, e] = chance[p, place, e] = 1
                        continue
                    some = slice(None) if len(drawn) == n_all else drawn
                    part = _Part(scores[:, some], drawn, counts[drawn], float(product.error[e]))
                    success[p, place, e] = _isolates(part, partial(exact, e)).mean()
                    chance[p, place, e] = _chance(len(drawn), part.calibration)
    return [SinglingOut(tuple(n_speakers), s, c) for s, c in zip(success, chance, strict=True)]


@dataclass(frozen=True)
class _Part:
    """The drawn test speakers: scores fold × speaker with their error, who they are, how many vectors each has."""

    scores: Vectors
    names: Counts
    counts: Counts
    error: float

    @property
    def calibration(self) -> int:
        """Number of calibration scores in a fold: Σ(K_i - 1)."""
        return int(self.counts.sum()) - len(self.counts)


def _order(n_all: int, first: int, rng: np.random.Generator) -> Counts:
    """All test speakers in a random order, but `first` comes first."""
    order = rng.permutation(n_all)
    return np.concatenate(([first], order[order != first]))


def _isolates(part: _Part, exact: Callable[[Counts, Counts], Floats]) -> Bools:
    """Whether the attack succeeds, per fold; `exact` gives the similarities of vectors of speakers."""
    n_folds = int(part.counts.max())
    fold = np.arange(n_folds)[:, None]
    is_whole = int(part.counts.min()) == n_folds
    q = part.calibration // len(part.counts)
    keep = _KEEP
    while True:
        cut = _cut(part.scores, keep)
        kept = np.flatnonzero(part.scores >= cut - 2 * part.error)
        vector, speaker = np.divmod(kept, len(part.counts))
        if not is_whole:
            present = vector < part.counts[speaker]
            kept, vector, speaker = kept[present], vector[present], speaker[present]
        similarity = exact(vector, part.names[speaker])
        best = np.argsort(-similarity, kind="stable")
        vector, similarity = vector[best], similarity[best]
        is_test = fold == vector if is_whole else fold % part.counts[speaker[best]] == vector
        rank = np.cumsum(~is_test, axis=1)
        upper, lower = np.argmax(rank >= q, axis=1), np.argmax(rank > q, axis=1)
        # What was not kept is below cut - error: the order statistics are right if they are surely not.
        if (rank[:, -1] > q).all() and (part.scores.ravel()[kept[best[lower]]] >= cut).all():
            threshold = (similarity[upper] + similarity[lower]) / 2
            beyond = threshold + RESOLUTION * np.sqrt(np.abs(2 * threshold))
            return np.count_nonzero(is_test & (similarity > beyond[:, None]), axis=1) == 1
        keep *= 4


def _similarity(x: Floats, y: Floats, similarity: Similarity) -> Floats:
    """Scalar products, or cosines less one: computed as a distance, they keep their digits where vectors crowd."""
    if similarity == "product":
        return pair_products(x, y)
    both = (x.any() & y.any(axis=-1)).astype(np.float64)
    return (both - 1) / 2 - np.square(x - y).sum(axis=-1) / 2


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


@cache
def _chance(n: int, calibration: int) -> float:
    """Probability of success if all scores are exchangeable and lie evenly between their neighbours."""
    q = calibration // n
    total = n + calibration
    # P(0, 0) and P(1, 0); then P(a, g+1) / P(a, g) = (n-a-g) / (total-a-g-q-1), with a factor ½ for the mean.
    k = np.arange(q + 1)
    none = float(np.prod((calibration - k) / (total - k)))
    p = {0: none, 1: none * q * n / (total - q - 1)}
    chance = 0.0
    for g in range(n + 1):
        chance += p[1] + g * p[0]
        p = {a: p[a] / 2 * (n - a - g) / (total - a - g - q - 1) if n > a + g else 0.0 for a in p}
        if not any(p.values()):
            break
    return chance
