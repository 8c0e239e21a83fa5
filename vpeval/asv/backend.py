"""The back end of VPC 2020: global mean, LDA, length normalisation, two-covariance PLDA; scores are LLRs.

Unlike Kaldi, which averages the raw enrolment vectors of a speaker and processes the mean, every enrolment vector is
processed and the results are averaged: that mean is what the number of enrolment utterances in the LLR refers to.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike

import numpy as np
from scipy.linalg import eigh

from vpeval.asv import plda
from vpeval.asv.plda import Floats, Indices, Plda, Prior, Stats
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path
from vpeval.embeddings.directory import Embeddings, Vectors

VERSION = 1
_RIDGE = 1e-3  # of the mean variance, so that LDA stands fewer vectors than dimensions


@dataclass(frozen=True)
class Settings:
    """How to estimate a back end; `lda` 0 keeps all dimensions."""

    lda: int = 200
    iterations: int = 20
    prior: Prior = field(default_factory=Prior)


@dataclass(frozen=True)
class Backend:
    """What is done to every vector, and the model of the results."""

    mean: Floats
    projection: Floats
    plda: Plda

    def process(self, vectors: Vectors | Floats) -> Floats:
        """Centre, project, and normalise to length √dimension."""
        return _process(vectors, self.mean, self.projection)

    def scores(self, enroll: Embeddings, trial: Embeddings) -> Floats:
        """LLRs, speakers of `enroll` × utterances of `trial`."""
        enrolled, tried = self.factors(enroll, trial)
        return enrolled @ tried.T

    def factors(self, enroll: Embeddings, trial: Embeddings) -> tuple[Floats, Floats]:
        """A row per speaker of `enroll` and per utterance of `trial`, whose scalar products are the LLRs."""
        self.check(enroll, trial)
        stats = plda.gather(self.process(enroll.vectors), enroll.owners)
        return self.plda.enrolled(stats.means, stats.counts), self.plda.tried(self.process(trial.vectors))

    def check(self, *parts: Embeddings) -> None:
        """Raise an InputError unless the vectors are of the dimension that the back end was estimated on."""
        for part in parts:
            if part.vectors.shape[1] != len(self.mean):
                raise InputError(
                    f"vectors have dimension {part.vectors.shape[1]}, the back end was estimated on "
                    f"{len(self.mean)}; use the embeddings of its encoder",
                    part.directory,
                )


@dataclass(frozen=True)
class Estimate:
    """A back end, the dimension it really has, and what EM climbed."""

    backend: Backend
    dimension: int
    objective: tuple[float, ...]


def estimate(train: Embeddings, settings: Settings) -> Estimate:
    """Estimate a back end on training embeddings.

    LDA cannot give more dimensions than speakers less one, nor than the vectors have: a larger `lda` is cut down.
    """
    if len(train.speakers) < 2 or train.counts.max() < 2:
        raise InputError("a back end needs at least two speakers, and two utterances of one of them", train.directory)
    raw = plda.gather(train.vectors, train.owners)
    projection = _lda(raw, _dimension(train, settings.lda)) if settings.lda else np.eye(raw.means.shape[1])
    processed = _process(train.vectors, raw.mean, projection)
    fitted = plda.fit(plda.gather(processed, train.owners), settings.iterations, settings.prior)
    return Estimate(Backend(raw.mean, projection, fitted.plda), projection.shape[1], fitted.objective)


def save(path: str | PathLike[str], backend: Backend) -> None:
    """Write a back end as npz, atomically."""
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez(
            file,
            version=VERSION,
            mean=backend.mean,
            projection=backend.projection,
            plda_mean=backend.plda.mean,
            between=backend.plda.between,
            within=backend.plda.within,
        )


def load(path: str | PathLike[str]) -> Backend:
    """Read a back end; one of another version or form is an InputError."""
    try:
        with np.load(path, allow_pickle=False) as stored:
            version = int(stored["version"])
            if version != VERSION:
                raise InputError(
                    f"is a back end of version {version}, this program reads {VERSION}; estimate it again", path
                )
            model = Plda(stored["plda_mean"], stored["between"], stored["within"])
            return Backend(stored["mean"], stored["projection"], model)
    except FileNotFoundError:
        raise InputError("no such back end; run the stage that trains attackers", path) from None
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise InputError(f"is not a back end ({error}); estimate it again", path) from None


def _process(vectors: Vectors | Floats, mean: Floats, projection: Floats) -> Floats:
    projected = (np.asarray(vectors, np.float64) - mean) @ projection
    norms = np.linalg.norm(projected, axis=1, keepdims=True)
    result: Floats = projected * (np.sqrt(projected.shape[1]) / np.maximum(norms, np.finfo(np.float64).tiny))
    return result


def _dimension(train: Embeddings, wanted: int) -> int:
    return min(wanted, len(train.speakers) - 1, train.vectors.shape[1])


def _lda(stats: Stats, dimension: int) -> Floats:
    """The directions in which speakers differ most for what their own utterances do."""
    centred = stats.means - stats.mean
    between = (centred.T * stats.counts) @ centred / stats.n_utts
    within = stats.scatter / stats.n_utts
    within += _RIDGE * np.trace(within) / len(within) * np.eye(len(within))
    directions: Floats = eigh(between, within)[1][:, ::-1][:, :dimension]
    # The sign of an eigenvector is the library's whim; ours does not depend on it.
    peaks: Indices = np.abs(directions).argmax(axis=0)
    return directions * np.sign(directions[peaks, np.arange(dimension)])
