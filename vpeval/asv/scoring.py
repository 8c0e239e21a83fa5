"""Scores of verification trials, and how an attacker compares an enrolled speaker with a test vector.

`Cosine` compares mean vectors. `LogLikelihoodRatio` uses a PLDA back end, whose score is a scalar product, too
(`Plda.speaker_factors`). It knows an enrolled speaker by a number of processed vectors; a test vector counts as one
utterance, also as a mean over several, as in Kaldi. `Fused` adds up the scores of several comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from vpeval.asv.backend import Backend, load
from vpeval.core.arrays import AnyFloats, Counts, Floats
from vpeval.core.errors import InputError
from vpeval.data.pairs import PairRows
from vpeval.embeddings.pair_scores import pair_cosines, speaker_means
from vpeval.embeddings.speaker_vectors import Embeddings
from vpeval.metrics.vectors import Similarity, directions, pair_products

_PAIRS = 1 << 14
_LABEL = "enrolment utterances"


def score_trials(enroll: Embeddings, trial: Embeddings, pairs: PairRows, backend: Backend | None = None) -> Floats:
    """Scores of (enrolled speaker, trial utterance) pairs: LLRs of a back end, else cosines."""
    i, unknown = _find(pairs.firsts, enroll.speakers)
    if unknown:
        message = f"no enrolment vector of speaker '{unknown[0]}'; are trials and enrolment of one set?"
        raise InputError(message, enroll.directory)
    j, unknown = _find(pairs.seconds, trial.utts)
    if unknown:
        message = f"no vector of trial utterance '{unknown[0]}'; extract the embeddings again"
        raise InputError(message, trial.directory)
    if backend is None:
        x, y, score = speaker_means(enroll), directions(trial.vectors), pair_cosines
    else:
        (x, y), score = backend.factors(enroll, trial), pair_products
    scores = np.empty(len(pairs))
    for start in range(0, len(pairs), _PAIRS):
        rows = slice(start, start + _PAIRS)
        scores[rows] = score(x[i[pairs.first[rows]]], y[j[pairs.second[rows]]])
    return scores


def _find(names: Sequence[str], among: Sequence[str]) -> tuple[Counts, list[str]]:
    """Where the names are, and those that are not there."""
    place = {name: number for number, name in enumerate(among)}
    found = np.array([place.get(name, 0) for name in names], np.int64)
    return found, [name for name in names if name not in place]


class Comparison(Protocol):
    """Vectors for both sides, and the similarity that holds between them."""

    @property
    def similarity(self) -> Similarity:
        """How the metrics have to compare the vectors."""

    def enroll(self, speakers: Embeddings, who: Counts, n_utts: int | None = None, seed: int = 0) -> AnyFloats:
        """A vector for every speaker of `who`, by up to `n_utts` utterances drawn with `seed` (None: by all)."""

    def test(self, vectors: AnyFloats) -> AnyFloats:
        """What test vectors (… × dimension) become."""


@dataclass(frozen=True)
class Cosine:
    """Of the mean enrolment vector and the test vector."""

    similarity: Similarity = "cosine"

    def enroll(self, speakers: Embeddings, who: Counts, n_utts: int | None = None, seed: int = 0) -> AnyFloats:
        """Means."""
        return speakers.means(who, n_utts, seed, _LABEL)

    def test(self, vectors: AnyFloats) -> AnyFloats:
        """As they are."""
        return vectors


@dataclass(frozen=True)
class LogLikelihoodRatio:
    """Of "the same speaker" against "another one", by a PLDA back end."""

    backend: Backend
    similarity: Similarity = "product"

    def enroll(self, speakers: Embeddings, who: Counts, n_utts: int | None = None, seed: int = 0) -> AnyFloats:
        """What the back end knows of the speakers."""
        self.backend.check(speakers)
        counts = speakers.counts[who] if n_utts is None else np.minimum(speakers.counts[who], n_utts)
        return self.backend.speaker_factors(self.backend.enrolment_means(speakers, who, n_utts, seed, _LABEL), counts)

    def test(self, vectors: AnyFloats) -> AnyFloats:
        """Processed, and ready for the product."""
        rows = self.backend.plda.trial_factors(self.backend.process_trials(vectors.reshape(-1, vectors.shape[-1])))
        return rows.reshape(*vectors.shape[:-1], -1)


@dataclass(frozen=True)
class Fused:
    """A weighted sum of what others say about joined vectors (`embeddings.directory.join`), of `sizes` dimensions each.

    The offset of a fusion is left out: it changes neither an order nor an error rate.
    """

    members: tuple[Comparison, ...]
    sizes: tuple[int, ...]
    weights: tuple[float, ...]
    similarity: Similarity = "product"

    def enroll(self, speakers: Embeddings, who: Counts, n_utts: int | None = None, seed: int = 0) -> AnyFloats:
        """The weighted sides of all members, concatenated."""
        parts = (replace(speakers, vectors=vectors) for vectors in self._parts(speakers.vectors))
        sides = zip(self.members, self.weights, parts, strict=True)
        return np.hstack([w * _factor(one, one.enroll(part, who, n_utts, seed)) for one, w, part in sides])

    def test(self, vectors: AnyFloats) -> AnyFloats:
        """The sides of all members, concatenated."""
        parts = zip(self.members, self._parts(vectors), strict=True)
        return np.concatenate([_factor(one, one.test(part)) for one, part in parts], axis=-1)

    def _parts(self, vectors: AnyFloats) -> list[AnyFloats]:
        if vectors.shape[-1] != sum(self.sizes):
            raise ValueError(f"vectors of {sum(self.sizes)} dimensions are expected, not {vectors.shape[-1]}")
        return np.split(vectors, np.cumsum(self.sizes)[:-1], axis=-1)


def _factor(comparison: Comparison, vectors: AnyFloats) -> AnyFloats:
    """A side whose scalar products with the other are the similarities."""
    return directions(vectors) if comparison.similarity == "cosine" else vectors


def read_comparison(backend: str | None) -> Comparison:
    """By the back end in a file, or by cosines."""
    return LogLikelihoodRatio(load(backend)) if backend else Cosine()
