"""Scores of all pairs of utterances of a set, original and anonymised, in memory."""

from __future__ import annotations

import numpy as np

from vpeval.asv.scoring import utterance_cosines
from vpeval.core.errors import InputError
from vpeval.data.trials import UtterancePairs
from vpeval.embeddings.directory import Embeddings
from vpeval.metrics.similarity import CONDITIONS, PairScores


def all_pairs(original: Embeddings, anonymised: Embeddings) -> UtterancePairs:
    """Cosines of all pairs of utterances; none is paired with itself, nor with its own anonymised version."""
    if original.utts != anonymised.utts or original.speakers != anonymised.speakers:
        message = f"does not hold the utterances of {original.directory}; extract both again"
        raise InputError(message, anonymised.directory)
    sides = {"o": original, "a": anonymised}
    first, second = np.nonzero(~np.eye(len(original.utts), dtype=bool))
    pairs = {
        condition: PairScores(first, second, utterance_cosines(*(sides[side] for side in condition))[first, second])
        for condition in CONDITIONS
    }
    return UtterancePairs(list(original.speakers), original.owners, pairs)
