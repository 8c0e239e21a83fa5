"""Scores of all pairs of utterances of a set, original and anonymised, in memory."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vpeval.asv.scoring import UtteranceCosines
from vpeval.core.errors import InputError
from vpeval.embeddings.directory import Embeddings
from vpeval.metrics.all_pairs import AllScores, Cells, similarity_of_all
from vpeval.metrics.scores import Floats

_ROWS = 256


@dataclass(frozen=True)
class AllPairs:
    """The utterances of a set; none is paired with itself, nor with its own anonymised version."""

    original: Embeddings
    anonymised: Embeddings

    @classmethod
    def of(cls, original: Embeddings, anonymised: Embeddings) -> AllPairs:
        """Two versions of the same utterances."""
        if original.utts != anonymised.utts or original.speakers != anonymised.speakers:
            message = f"does not hold the utterances of {original.directory}; extract both again"
            raise InputError(message, anonymised.directory)
        return cls(original, anonymised)

    @property
    def names(self) -> list[str]:
        """The speakers."""
        return list(self.original.speakers)

    @cached_property
    def _room(self) -> tuple[Floats, Cells]:
        """Room for scores of one condition and their cells; new memory for each would cost as much as filling it."""
        shape = (len(self.original.utts),) * 2
        return np.zeros(shape), np.zeros(shape, np.int32)

    def matrices(self, condition: str, modes: tuple[str, ...]) -> list[Floats]:
        """The similarity matrix of a condition in each of the modes; the scores are made once, and forgotten."""
        sides = {"o": self.original, "a": self.anonymised}
        cosines = UtteranceCosines.of(*(sides[side] for side in condition))
        is_symmetric = condition != "oa"
        (scores, cells), n = self._room, len(self.original.utts)
        for start in range(0, n, _ROWS):
            first = start if is_symmetric else 0
            scores[start : start + _ROWS, first:] = cosines.rows(slice(start, start + _ROWS), first)
        made = AllScores(scores, self.original.starts, is_symmetric, cells)
        if is_symmetric:  # both modes count the same pairs
            return [similarity_of_all(made, self.names)] * len(modes)
        return [similarity_of_all(made, self.names, mode) for mode in modes]
