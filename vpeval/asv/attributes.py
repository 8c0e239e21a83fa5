"""Attackers on attributes: linear classifiers and regressors on embeddings, estimated from sums over speakers.

A classifier is the discriminant of normal classes with a common covariance, a regressor the best linear predictor of a
quantity. Both need no more than covariances: of the mean vectors of speakers (within classes, or all), and of
utterances around them. A test vector is the mean of L utterances, so that the covariance that it has is the one of
means plus that of utterances over L. The covariance is shrunk towards a multiple of the identity, by several amounts
at once, of which whoever uses the scores chooses.

All sums are kept fold by fold: an attacker that may not know the speakers of some folds is estimated from the others
without another look at the vectors.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from vpeval.embeddings.directory import Embeddings, unit
from vpeval.metrics.vectors import Counts, Similarity, Vectors

Floats = NDArray[np.float64]

SHRINKAGE = (0.003, 0.03, 0.1, 0.3, 0.7, 1.0)
_MOST_DIMENSIONS = 256
_TINY = 1e-12


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
