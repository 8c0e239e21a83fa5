"""Scores of verification trials from embeddings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vpeval.embeddings import Embeddings
from vpeval.errors import InputError


def cosine_scores(enroll: Embeddings, trial: Embeddings, pairs: Iterable[tuple[str, str]]) -> list[float]:
    """Cosine of the speaker's mean enrolment vector and the utterance's vector, for (speaker, utterance) pairs."""
    row = {spk: number for number, spk in enumerate(enroll.speakers)}
    column = {utt: number for number, utt in enumerate(trial.utts)}
    matrix = cosine_matrix(enroll.means(np.arange(len(enroll.speakers))), trial.vectors)
    scores = []
    for spk, utt in pairs:
        if spk not in row:
            raise InputError(
                f"no enrolment vector of speaker '{spk}'; are trials and enrolment of one set?", enroll.directory
            )
        if utt not in column:
            raise InputError(f"no vector of trial utterance '{utt}'; extract the embeddings again", trial.directory)
        scores.append(float(matrix[row[spk], column[utt]]))
    return scores


def cosine_matrix(rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """Cosines of every row vector with every column vector, in double precision."""
    return _unit(rows) @ _unit(columns).T


def _unit(vectors: np.ndarray) -> np.ndarray:
    wide = vectors.astype(np.float64)
    return wide / np.linalg.norm(wide, axis=1, keepdims=True)
