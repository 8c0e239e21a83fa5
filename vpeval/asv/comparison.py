"""How an attacker compares an enrolled speaker with a test vector: what both become, and how alike that makes them.

`Cosine` compares mean vectors. `LogLikelihoodRatio` asks a PLDA back end, whose answer is a scalar product, too
(`Plda.enrolled`). It knows an enrolled speaker by a number of processed vectors; a test vector counts as one utterance,
also as a mean over several, as in Kaldi. `Fused` adds up what several of them say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from vpeval.asv.backend import Backend, load
from vpeval.core.arrays import Counts
from vpeval.embeddings.speaker_vectors import Embeddings
from vpeval.metrics.vectors import Similarity, Vectors, directions

_LABEL = "enrolment utterances"


class Comparison(Protocol):
    """Vectors for both sides, and the similarity that holds between them."""

    @property
    def similarity(self) -> Similarity:
        """How the metrics have to compare the vectors."""

    def enroll(self, speakers: Embeddings, who: Counts, n_utts: int | None = None, seed: int = 0) -> Vectors:
        """A vector for every speaker of `who`, by up to `n_utts` utterances drawn with `seed` (None: by all)."""

    def test(self, vectors: Vectors) -> Vectors:
        """What test vectors (… × dimension) become."""


@dataclass(frozen=True)
class Cosine:
    """Of the mean enrolment vector and the test vector."""

    similarity: Similarity = "cosine"

    def enroll(self, speakers: Embeddings, who: Counts, n_utts: int | None = None, seed: int = 0) -> Vectors:
        """Means."""
        return speakers.means(who, n_utts, seed, _LABEL)

    def test(self, vectors: Vectors) -> Vectors:
        """As they are."""
        return vectors


@dataclass(frozen=True)
class LogLikelihoodRatio:
    """Of "the same speaker" against "another one", by a PLDA back end."""

    backend: Backend
    similarity: Similarity = "product"

    def enroll(self, speakers: Embeddings, who: Counts, n_utts: int | None = None, seed: int = 0) -> Vectors:
        """What the back end knows of the speakers."""
        self.backend.check(speakers)
        counts = speakers.counts[who] if n_utts is None else np.minimum(speakers.counts[who], n_utts)
        return self.backend.known(self.backend.enrolled(speakers, who, n_utts, seed, _LABEL), counts)

    def test(self, vectors: Vectors) -> Vectors:
        """Processed, and ready for the product."""
        rows = self.backend.plda.tried(self.backend.tested(vectors.reshape(-1, vectors.shape[-1])))
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

    def enroll(self, speakers: Embeddings, who: Counts, n_utts: int | None = None, seed: int = 0) -> Vectors:
        """The weighted sides of all members beside each other."""
        parts = (replace(speakers, vectors=vectors) for vectors in self._parts(speakers.vectors))
        sides = zip(self.members, self.weights, parts, strict=True)
        return np.hstack([w * _factor(one, one.enroll(part, who, n_utts, seed)) for one, w, part in sides])

    def test(self, vectors: Vectors) -> Vectors:
        """The sides of all members beside each other."""
        parts = zip(self.members, self._parts(vectors), strict=True)
        return np.concatenate([_factor(one, one.test(part)) for one, part in parts], axis=-1)

    def _parts(self, vectors: Vectors) -> list[Vectors]:
        if vectors.shape[-1] != sum(self.sizes):
            raise ValueError(f"vectors of {sum(self.sizes)} dimensions are expected, not {vectors.shape[-1]}")
        return np.split(vectors, np.cumsum(self.sizes)[:-1], axis=-1)


def _factor(comparison: Comparison, vectors: Vectors) -> Vectors:
    """A side whose scalar products with the other are the similarities."""
    return directions(vectors) if comparison.similarity == "cosine" else vectors


def read_comparison(backend: str | None) -> Comparison:
    """By the back end in a file, or by cosines."""
    return LogLikelihoodRatio(load(backend)) if backend else Cosine()
