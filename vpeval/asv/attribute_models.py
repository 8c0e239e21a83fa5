"""Attackers on attributes: classifiers and regressors on embeddings, linear ones and kernel machines.

A linear classifier is the discriminant of normal classes with a common covariance, a linear regressor the best linear
predictor of a quantity. Both need no more than covariances: of the mean vectors of speakers (within classes, or all),
and of utterances around them. A test vector is the mean of L utterances, so that the covariance that it has is the one
of means plus that of utterances over L. The covariance is shrunk towards a multiple of the identity. All sums are kept
fold by fold: an attacker that may not know the speakers of some folds is estimated from the others without reading the
vectors again.

A linear attacker learns little from few speakers, and some attributes have no direction. So there is also kernel ridge
regression on single utterances, with Gaussian kernels as wide as vectors are apart and narrower, from at most
`MOST_ROWS` utterances; with more than `MANY_SPEAKERS` it is left out.

All amounts of shrinkage, widths and penalties give scores, which whoever uses them weighs or chooses from.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from vpeval.core.arrays import AnyFloats, Bools, Counts, Floats
from vpeval.embeddings.speaker_vectors import Embeddings
from vpeval.metrics.vectors import Similarity, directions

SHRINKAGE = (0.01, 0.1, 0.5, 1.0)
MOST_ROWS = 1500
MANY_SPEAKERS = 1000
_MOST_UTTS = 8
_NARROWER = (1.0, 3.0)
_PENALTIES = (0.1, 1.0)
_MOST_DIMENSIONS = 256
_TINY = 1e-12


@dataclass(frozen=True)
class TestVectors:
    """Vectors to be attacked, and their kernels where kernel machines attack them (width × vector × utterance)."""

    vectors: Floats
    kernels: Floats | None

    def __getitem__(self, rows: Counts) -> TestVectors:
        return TestVectors(self.vectors[rows], None if self.kernels is None else self.kernels[:, rows])


class Attacker(Protocol):
    """What gives scores, several kinds of them for every vector."""

    def __call__(self, seen: TestVectors) -> Floats:
        """Scores kind × vector × class (or the one quantity)."""


@dataclass(frozen=True)
class Combined:
    """Several attackers, whose scores are concatenated."""

    members: tuple[Attacker, ...]

    def __call__(self, seen: TestVectors) -> Floats:
        """The scores of all."""
        return np.concatenate([member(seen) for member in self.members])


@dataclass(frozen=True)
class Linear:
    """A score per amount of shrinkage and class (or of the quantity), linear in a vector."""

    centre: Floats
    weights: Floats
    offsets: Floats

    def __call__(self, seen: TestVectors) -> Floats:
        """Scores shrinkage × vector × class."""
        return (seen.vectors - self.centre) @ self.weights.swapaxes(1, 2) + self.offsets[:, None]


@dataclass(frozen=True)
class Speech:
    """What is known of the speech of some speakers: their mean vectors, and sums over utterances, fold by fold."""

    means: Floats
    folds: Counts
    within: Floats
    freedom: Floats
    utts: Floats

    def classifier(self, without: Collection[int], classes: Counts, n_classes: int, n_utts: int | None) -> Linear:
        """Discriminant scores of ``classes[s]``; all classes count as equally frequent."""
        who = self._others(without)
        means, of = self.means[who], classes[who]
        centres = np.stack([means[of == c].mean(axis=0) for c in range(n_classes)])
        centre = centres.mean(axis=0)
        residual = means - centres[of]
        covariance = residual.T @ residual / max(1, len(who) - n_classes) + self._rest(without, who, n_utts)
        weights = _weights(covariance, centres - centre)
        return Linear(centre, weights, -np.einsum("cd,hcd->hc", centres - centre, weights) / 2)

    def regressor(self, without: Collection[int], values: Floats, n_utts: int | None) -> Linear:
        """The best linear predictor of ``values[s]``, less their mean."""
        who = self._others(without)
        centre = self.means[who].mean(axis=0)
        residual, y = self.means[who] - centre, values[who] - values[who].mean()
        covariance = residual.T @ residual / len(who) + self._rest(without, who, n_utts)
        weights = _weights(covariance, (y @ residual / len(who))[None])
        return Linear(centre, weights, np.zeros(weights.shape[:2]))

    def _others(self, without: Collection[int]) -> Counts:
        return np.flatnonzero(~np.isin(self.folds, list(without)))

    def _rest(self, without: Collection[int], who: Counts, n_utts: int | None) -> Floats:
        """The covariance that a mean of `n_utts` utterances has around its speaker, beyond that of means of many."""
        others = [fold for fold in range(len(self.freedom)) if fold not in without]
        within = self.within[others].sum(axis=0) / max(1.0, float(self.freedom[others].sum()))
        share = 0.0 if n_utts is None else 1 / n_utts - float((1 / self.utts[who]).mean())
        return max(0.0, share) * within


def _weights(covariance: Floats, targets: Floats) -> Floats:
    """Σ⁻¹ times every target, for every shrinkage of Σ: shrinkage × target × dimension."""
    from scipy.linalg import cho_factor, cho_solve

    identity = np.eye(len(covariance))
    mean = max(float(np.trace(covariance)) / len(covariance), _TINY)
    shrunk = ((1 - h) * covariance + h * mean * identity for h in SHRINKAGE)
    factors = (cho_factor(one, overwrite_a=True, check_finite=False) for one in shrunk)
    return np.stack([cho_solve(factor, targets.T, check_finite=False).T for factor in factors])


@dataclass(frozen=True)
class Kernels:
    """Kernel ridge regression on single utterances, without those of any speakers.

    The inverse of a kernel matrix holds that of every part of it: what utterances weigh when others are left out takes
    no more than a system of equations of the size of those.
    """

    vectors: Floats
    owner: Counts
    widths: tuple[float, ...]
    inverses: tuple[Floats, ...]
    """Of the kernel matrix plus a penalty, for every width and penalty."""

    @classmethod
    def from_speech(cls, train: Embeddings, seed: int) -> Kernels:
        """From at most `MOST_ROWS` utterances, and few of a speaker, speakers being served in turn."""
        order = train.shuffled(seed, "utterances of kernels")
        turn = np.arange(len(order)) - train.starts[train.owners]
        served = order[np.argsort(turn, kind="stable")][: int(np.count_nonzero(turn < _MOST_UTTS))]
        rows = np.sort(served[:MOST_ROWS])
        vectors = train.vectors[rows].astype(np.float64)
        square = _distances(vectors, vectors)
        typical = float(np.median(square)) or 1.0
        widths = tuple(typical / narrow for narrow in _NARROWER)
        kernels = (np.exp(-square / width) for width in widths)
        inverses = tuple(_inverse(kernel, penalty) for kernel in kernels for penalty in _PENALTIES)
        return cls(vectors, train.owners[rows], widths, inverses)

    def evaluate(self, vectors: Floats) -> Floats:
        """Kernels of vectors with the utterances: width × vector × utterance."""
        square = _distances(vectors, self.vectors)
        return np.stack([np.exp(-square / width) for width in self.widths])

    def learn(self, targets: Floats) -> Learnt:
        """What is to be known of speakers (speaker × target)."""
        return Learnt(self, np.stack([inverse @ targets[self.owner] for inverse in self.inverses]))


@dataclass(frozen=True)
class Learnt:
    """Weights of utterances from which targets of all speakers were learnt: machine × utterance × target."""

    kernels: Kernels
    weights: Floats

    def machine(self, known: Bools, mix: Floats) -> Machine:
        """The same from speakers who are `known` alone, for mixtures of the targets (target × mixture)."""
        out = np.flatnonzero(~known[self.kernels.owner])
        weights = self.weights @ mix
        for weight, inverse in zip(weights, self.kernels.inverses, strict=True):
            # Whatever is wanted of those left out, they are to weigh nothing.
            rows = inverse[out]
            weight -= rows.T @ np.linalg.solve(rows[:, out], weight[out])
            weight[out] = 0
        return Machine(weights)


@dataclass(frozen=True)
class Machine:
    """Weights of utterances, for every width and penalty: machine × utterance × target."""

    weights: Floats

    def __call__(self, seen: TestVectors) -> Floats:
        """Scores machine × vector × target."""
        if seen.kernels is None:
            raise ValueError("a kernel machine needs the kernels of test vectors")
        kernels = np.repeat(seen.kernels, len(_PENALTIES), axis=0)
        found: Floats = kernels @ self.weights
        return found


def _inverse(kernel: Floats, penalty: float) -> Floats:
    from scipy.linalg import lapack

    matrix = kernel + penalty * np.eye(len(kernel))
    factor, failed = lapack.dpotrf(matrix, overwrite_a=True)
    upper, failed_too = lapack.dpotri(factor, overwrite_c=True)
    if failed or failed_too:
        raise ValueError("kernels of these vectors have no inverse")
    inverse: Floats = np.triu(upper) + np.triu(upper, 1).T
    return inverse


def _distances(x: Floats, y: Floats) -> Floats:
    return np.maximum(np.square(x).sum(axis=1)[:, None] + np.square(y).sum(axis=1) - 2 * x @ y.T, 0)


@dataclass(frozen=True)
class Space:
    """The space in which vectors are attacked: as they are, or their directions, in their main dimensions."""

    similarity: Similarity
    basis: Floats | None

    @classmethod
    def from_speech(cls, train: Embeddings, similarity: Similarity) -> Space:
        """From the utterances that attackers are trained on, without their speakers."""
        vectors = cls(similarity, None)(train.vectors)
        if vectors.shape[1] <= _MOST_DIMENSIONS:
            return cls(similarity, None)
        centred = vectors - vectors.mean(axis=0)
        _, basis = np.linalg.eigh(centred.T @ centred)
        return cls(similarity, basis[:, -_MOST_DIMENSIONS:])

    def __call__(self, vectors: AnyFloats) -> Floats:
        """Vectors in this space."""
        found = directions(vectors) if self.similarity == "cosine" else np.asarray(vectors, np.float64)
        return found if self.basis is None else found @ self.basis

    def project(self, speech: Embeddings) -> Embeddings:
        """Utterances with vectors of this space, as precise as they were."""
        return replace(speech, vectors=self(speech.vectors).astype(speech.vectors.dtype))


def collect(train: Embeddings, folds: Counts, n_folds: int) -> Speech:
    """The sums of the speakers of `train`, who are in ``folds[s]``; those in a fold below 0 are never held out."""
    means = np.add.reduceat(train.vectors, train.starts[:-1], axis=0, dtype=np.float64) / train.counts[:, None]
    fold_of = np.where(folds < 0, n_folds, folds)[train.owners]
    within = []
    for fold in range(n_folds + 1):
        rows = np.flatnonzero(fold_of == fold)
        part = train.vectors[rows] - means[train.owners[rows]]
        within.append(part.T @ part)
    freedom = np.zeros(n_folds + 1)
    np.add.at(freedom, np.where(folds < 0, n_folds, folds), train.counts - 1)
    return Speech(means, folds, np.stack(within), freedom, train.counts.astype(np.float64))
