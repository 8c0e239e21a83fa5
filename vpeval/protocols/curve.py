"""A legal metric over the number N of speakers, at one number L of utterances per test vector."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vpeval.embeddings.speaker_vectors import Embeddings
from vpeval.metrics.intervals import mean_intervals
from vpeval.protocols.speaker_values import SpeakerValue
from vpeval.records.record import Record


@dataclass(frozen=True)
class Curve:
    """A metric over N at one L: values N × speaker, whose means over the speakers are the records."""

    metric: str
    n_utts: int | None
    sizes: Sequence[int]
    speakers: Sequence[str]
    values: NDArray[np.float64]
    chance: NDArray[np.float64]
    params: Mapping[str, Any]
    counts: Mapping[str, int]
    notes: Mapping[str, Any]
    candidates: Sequence[float] = ()
    """Among how many of the N the attacker has to choose, where side information excludes the others."""

    def records(self, resamples: int, seed: int) -> list[Record]:
        """Means over the speakers, with intervals where `resamples` is not 0."""
        label = f"{self.metric} L={self.n_utts}"
        ends = mean_intervals(self.values.T, resamples=resamples, seed=seed, label=label)
        records = []
        for i, (n, row, chance, interval) in enumerate(
            zip(self.sizes, self.values, self.chance.tolist(), ends, strict=True)
        ):
            params = {"N": n, "L": self.n_utts or "all", **self.params}
            notes = {**self.notes, "chance": chance, **({"candidates": self.candidates[i]} if self.candidates else {})}
            record = Record(self.metric, float(row.mean()), params=params, counts=self.counts, notes=notes)
            records.append(interval.of(record))
        return records

    def per_speaker(self) -> list[SpeakerValue]:
        """The values that the records are means of."""
        name = str(self.n_utts or "all")
        return [
            SpeakerValue(self.metric, speaker, n, name, value)
            for n, row in zip(self.sizes, self.values.tolist(), strict=True)
            for speaker, value in zip(self.speakers, row, strict=True)
        ]


def warn_of_shared_utts(enroll: Embeddings, test: Embeddings) -> None:
    """Say it where utterances are on both sides: they are recognised far too easily."""
    if shared := len(set(enroll.utts) & set(test.utts)):
        logging.warning(
            "warning: %d utterances of %s are enrolled, too; the risk is overestimated", shared, test.directory
        )
