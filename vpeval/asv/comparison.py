"""How an attacker compares an enrolled speaker with a test vector: what both become, and how alike that makes them.

`Cosine` compares mean vectors. `LogLikelihoodRatio` asks a PLDA back end, whose answer is a scalar product, too
(`Plda.enrolled`). It knows an enrolled speaker by a number of processed vectors; a test vector counts as one utterance,
also as a mean over several, as in Kaldi.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from vpeval.asv.backend import Backend, load
from vpeval.embeddings.directory import Embeddings, Indices
from vpeval.metrics.vectors import Similarity, Vectors

_LABEL = "enrolment utterances"


class Comparison(Protocol):
    """Vectors for both sides, and the similarity that holds between them."""

    @property
    def similarity(self) -> Similarity:
        """How the metrics have to compare the vectors."""

    def enroll(self, speakers: Embeddings, who: Indices, n_utts: int | None = None, seed: int = 0) -> Vectors:
        """A vector for every speaker of `who`, by up to `n_utts` utterances drawn with `seed` (None: by all)."""

    def test(self, vectors: Vectors) -> Vectors:
        """What test vectors (… × dimension) become."""


@dataclass(frozen=True)
class Cosine:
    """Of the mean enrolment vector and the test vector."""

    similarity: Similarity = "cosine"

    def enroll(self, speakers: Embeddings, who: Indices, n_utts: int | None = None, seed: int = 0) -> Vectors:
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

    def enroll(self, speakers: Embeddings, who: Indices, n_utts: int | None = None, seed: int = 0) -> Vectors:
        """What the back end knows of the speakers."""
        self.backend.check(speakers)
        counts = speakers.counts[who] if n_utts is None else np.minimum(speakers.counts[who], n_utts)
        return self.backend.known(self.backend.enrolled(speakers, who, n_utts, seed, _LABEL), counts)

    def test(self, vectors: Vectors) -> Vectors:
        """Processed, and ready for the product."""
        rows = self.backend.plda.tried(self.backend.tested(vectors.reshape(-1, vectors.shape[-1])))
        return rows.reshape(*vectors.shape[:-1], -1)


def read_comparison(backend: str | None) -> Comparison:
    """By the back end in a file, or by cosines."""
    return LogLikelihoodRatio(load(backend)) if backend else Cosine()
