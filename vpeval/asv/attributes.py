"""Attackers on attributes: classifiers and regressors on embeddings, linear ones and kernel machines.

A linear classifier is the discriminant of normal classes with a common covariance, a linear regressor the best linear
predictor of a quantity. Both need no more than covariances: of the mean vectors of speakers (within classes, or all),
and of utterances around them. A test vector is the mean of L utterances, so that the covariance that it has is the one
of means plus that of utterances over L. The covariance is shrunk towards a multiple of the identity. All sums are kept
fold by fold: an attacker that may not know the speakers of some folds is estimated from the others without another look
at the vectors.

Few speakers tell a linear attacker little, and some attributes have no direction. Beside it stands kernel ridge
regression on single utterances, with Gaussian kernels as wide as vectors are apart and narrower, from at most
`MOST_ROWS` utterances; with more than `MANY_SPEAKERS` it is left out.

All amounts of shrinkage, widths and penalties give scores, of which whoever uses them chooses.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from vpeval.embeddings.directory import Embeddings, unit
from vpeval.metrics.vectors import Counts, Similarity, Vectors

Floats = NDArray[np.float64]

SHRINKAGE = (0.01, 0.1, 0.5, 1.0)
MOST_ROWS = 1500
MANY_SPEAKERS = 1000
_MOST_UTTS = 8
_NARROWER = (1.0, 3.0)
_PENALTIES = (0.1, 1.0)
_MOST_DIMENSIONS = 256
_TINY = 1e-12


class Attacker(Protocol):
    """What gives scores, several kinds of them for every vector."""

    def __call__(self, vectors: Floats) -> Floats:
        """Scores kind × vector × class (or the one quantity)."""


@dataclass(frozen=True)
class Several:
    """Attackers beside each other."""

    members: tuple[Attacker, ...]

    def __call__(self, vectors: Floats) -> Floats:
        """The scores of all."""
        return np.concatenate([member(vectors) for member in self.members])


@dataclass(frozen=True)
class Linear:
    """A score per amount of shrinkage and class (or of the quantity), linear in a vector."""

    centre: Floats
    weights: Floats
    offsets: Floats

    def __call__(self, vectors: Floats) -> Floats:
        """Scores shrinkage × vector × class."""
        return np.einsum("nd,hcd->hnc", vectors - self.centre, self.weights) + self.offsets[:, None]


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
    values, basis = np.linalg.eigh(covariance)
    mean = max(float(values.mean()), _TINY)
    rotated = targets @ basis
    return np.stack([rotated / ((1 - h) * np.maximum(values, 0) + h * mean) @ basis.T for h in SHRINKAGE])


@dataclass(frozen=True)
class Utterances:
    """Single utterances to learn from: vectors, the speaker of each, and the folds of speakers."""

    vectors: Floats
    owner: Counts
    folds: Counts

    @classmethod
    def some(cls, train: Embeddings, folds: Counts, seed: int) -> Utterances:
        """At most `MOST_ROWS` utterances, and few of a speaker, speakers being served in turn."""
        order = train.shuffled(seed, "utterances of kernels")
        turn = np.arange(len(order)) - train.starts[train.owners]
        served = order[np.argsort(turn, kind="stable")][: int(np.count_nonzero(turn < _MOST_UTTS))]
        rows = np.sort(served[:MOST_ROWS])
        return cls(train.vectors[rows].astype(np.float64), train.owners[rows], folds)

    def machine(self, without: Collection[int], targets: Floats) -> Attacker:
        """Kernel machines for the targets of speakers (speaker × target), which add up to 0 over speakers."""
        rows = np.flatnonzero(~np.isin(self.folds[self.owner], list(without)))
        return _Kernels.fitted(self.vectors[rows], targets[self.owner[rows]])


@dataclass(frozen=True)
class _Kernels:
    """Kernel machines: for every width and penalty the weights of the utterances that were learnt from."""

    vectors: Floats
    widths: tuple[float, ...]
    weights: tuple[Floats, ...]

    @classmethod
    def fitted(cls, vectors: Floats, targets: Floats) -> _Kernels:
        from scipy.linalg import cho_factor, cho_solve

        square = _distances(vectors, vectors)
        typical = float(np.median(square)) or 1.0
        widths = tuple(typical / narrow for narrow in _NARROWER)
        weights: list[Floats] = []
        for width in widths:
            kernel = np.exp(-square / width)
            for penalty in _PENALTIES:
                factor = cho_factor(kernel + penalty * np.eye(len(kernel)), check_finite=False)
                weights.append(cho_solve(factor, targets, check_finite=False))
        return cls(vectors, widths, tuple(weights))

    def __call__(self, vectors: Floats) -> Floats:
        """Scores by every machine."""
        square = _distances(vectors, self.vectors)
        weights = iter(self.weights)
        scores = []
        for width in self.widths:
            kernel = np.exp(-square / width)
            scores += [kernel @ next(weights) for _ in _PENALTIES]
        return np.stack(scores)


def _distances(x: Floats, y: Floats) -> Floats:
    return np.maximum(np.square(x).sum(axis=1)[:, None] + np.square(y).sum(axis=1) - 2 * x @ y.T, 0)


@dataclass(frozen=True)
class Space:
    """Where the vectors of an encoder are looked at: as they are, or their directions, in their main dimensions."""

    similarity: Similarity
    basis: Floats | None

    @classmethod
    def of(cls, train: Embeddings, similarity: Similarity) -> Space:
        """Of the utterances that attackers are trained on, without a look at whose they are."""
        vectors = cls(similarity, None)(train.vectors)
        if vectors.shape[1] <= _MOST_DIMENSIONS:
            return cls(similarity, None)
        centred = vectors - vectors.mean(axis=0)
        _, basis = np.linalg.eigh(centred.T @ centred)
        return cls(similarity, basis[:, -_MOST_DIMENSIONS:])

    def __call__(self, vectors: Vectors) -> Floats:
        """Vectors in this space."""
        found = unit(vectors) if self.similarity == "cosine" else np.asarray(vectors, np.float64)
        return found if self.basis is None else found @ self.basis

    def place(self, speech: Embeddings) -> Embeddings:
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
