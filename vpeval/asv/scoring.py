"""Scores of verification trials: of an enrolled speaker and an utterance."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from vpeval.asv.backend import Backend
from vpeval.core.arrays import Counts
from vpeval.core.errors import InputError
from vpeval.data.pairs import PairRows
from vpeval.embeddings.cosines import pair_cosines, speaker_means
from vpeval.embeddings.plda import Floats
from vpeval.embeddings.speaker_vectors import Embeddings
from vpeval.metrics.vectors import directions, pair_products

_PAIRS = 1 << 14


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
