"""Means over utterances, with an interval over speakers: for measures that every utterance has by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vpeval.core.seeds import generator
from vpeval.metrics.bootstrap import RESAMPLES, multiplicities
from vpeval.metrics.intervals import SpeakerInterval, studentised_interval


@dataclass(frozen=True)
class UtteranceMean:
    """Mean and standard deviation (of the population) over utterances."""

    mean: float
    std: float
    interval: SpeakerInterval
    utts: int
    speakers: int


def utterance_mean(
    values: Mapping[str, float],
    utt2spk: Mapping[str, str],
    resamples: int = RESAMPLES,
    seed: int = 0,
    label: str = "mean",
) -> UtteranceMean:
    """Summarise values by utterance; `resamples` = 0 leaves the interval out.

    >>> utterance_mean({"a-1": 1.0, "a-2": 3.0, "b-1": 2.0}, {"a-1": "a", "a-2": "a", "b-1": "b"}).interval.notes
    {'no_interval': '2 speakers; an interval over speakers needs 4 or more'}
    """
    if not values:
        raise ValueError("no utterances to summarise")
    column = np.array(list(values.values()), float)
    names, index = np.unique([utt2spk[utt] for utt in values], return_inverse=True)
    mean = float(column.mean())
    totals, counts = np.bincount(index, column), np.bincount(index)
    drawn = multiplicities(len(names), resamples, generator(seed, label))
    samples = (drawn * totals).sum(axis=1) / (drawn * counts).sum(axis=1)
    interval = studentised_interval(mean, samples, len(names), {"resamples": resamples, "seed": seed})
    return UtteranceMean(mean, float(column.std()), interval, len(column), len(names))
