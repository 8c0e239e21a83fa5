"""Scores of pairs of embeddings: verification trials, and pairs of utterances for voice similarity."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vpeval.asv.backend import Backend
from vpeval.asv.plda import Floats
from vpeval.core.errors import InputError
from vpeval.embeddings.directory import Embeddings, Indices, unit
from vpeval.metrics.vectors import pair_products

_PAIRS = 1 << 14


def score_trials(
    enroll: Embeddings, trial: Embeddings, pairs: Iterable[tuple[str, str]], backend: Backend | None = None
) -> list[float]:
    """Scores of (enrolled speaker, trial utterance) pairs: LLRs of a back end, else cosines."""
    row = {spk: number for number, spk in enumerate(enroll.speakers)}
    column = {utt: number for number, utt in enumerate(trial.utts)}
    rows, columns = [], []
    for spk, utt in pairs:
        if spk not in row:
            raise InputError(
                f"no enrolment vector of speaker '{spk}'; are trials and enrolment of one set?", enroll.directory
            )
        if utt not in column:
            raise InputError(f"no vector of trial utterance '{utt}'; extract the embeddings again", trial.directory)
        rows.append(row[spk])
        columns.append(column[utt])
    i, j = np.array(rows, np.int64), np.array(columns, np.int64)
    if backend is None:
        x, y = _means(enroll), unit(trial.vectors)
        return np.concatenate([pair_cosines(x[a], y[b]) for a, b in _in_blocks(i, j)]).tolist()
    x, y = backend.factors(enroll, trial)
    return np.concatenate([pair_products(x[a], y[b]) for a, b in _in_blocks(i, j)]).tolist()


def cosines(enroll: Embeddings, trial: Embeddings) -> Floats:
    """Cosine of every speaker's mean enrolment vector with every trial vector."""
    return _all_cosines(_means(enroll), unit(trial.vectors))


def utterance_cosines(first: Embeddings, second: Embeddings) -> Floats:
    """Cosine of every utterance of `first` with every utterance of `second`, of the same speakers."""
    first.find(second)
    return _all_cosines(unit(first.vectors), unit(second.vectors))


def pair_cosines(x: Floats, y: Floats) -> Floats:
    """Cosines of rows of length one; taken from their distance, they are exact where they crowd near 1."""
    return 1 - np.square(x - y).sum(axis=-1) / 2


def _means(speakers: Embeddings) -> Floats:
    return unit(speakers.means(np.arange(len(speakers.speakers))))


def _all_cosines(x: Floats, y: Floats) -> Floats:
    # Row by row instead of a matrix product, whose last digits depend on the number of threads.
    return np.stack([pair_cosines(row, y) for row in x])


def _in_blocks(i: Indices, j: Indices) -> list[tuple[Indices, Indices]]:
    return [(i[k : k + _PAIRS], j[k : k + _PAIRS]) for k in range(0, max(1, len(i)), _PAIRS)]
