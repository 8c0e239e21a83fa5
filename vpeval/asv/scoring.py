"""Scores of verification trials from embeddings."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from vpeval.asv.backend import Backend
from vpeval.asv.plda import Floats
from vpeval.core.errors import InputError
from vpeval.embeddings.directory import Embeddings, unit


def score_trials(
    enroll: Embeddings, trial: Embeddings, pairs: Iterable[tuple[str, str]], backend: Backend | None = None
) -> list[float]:
    """Scores of (enrolled speaker, trial utterance) pairs: LLRs of a back end, else cosines."""
    matrix = cosines(enroll, trial) if backend is None else backend.scores(enroll, trial)
    row = {spk: number for number, spk in enumerate(enroll.speakers)}
    column = {utt: number for number, utt in enumerate(trial.utts)}
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


def cosines(enroll: Embeddings, trial: Embeddings) -> Floats:
    """Cosine of every speaker's mean enrolment vector with every trial vector."""
    return unit(enroll.means(np.arange(len(enroll.speakers)))) @ unit(trial.vectors).T
