"""The strongest of several attacks, with an interval that knows that it was chosen.

The least EER of several is small partly by luck: the attack that fits the speakers at hand best is chosen on them. In
every resample of speakers the choice is made anew, among all attacks on the same speakers, and the interval (see
`intervals`) is that of the least EER. No end of it is above that of the chosen attack alone: who tries more attackers
must claim less privacy, not more.

An attack may be on several sets of trials; its EER is the mean over them, in which a set may count more than another.
A speaker of several is drawn for all.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from vpeval.core.arrays import Floats
from vpeval.metrics.intervals import NO_INTERVAL, RESAMPLES, SpeakerInterval, rate_interval
from vpeval.metrics.resampling import Draws, ScoredTrials, SortedTrials, Statistic, resample
from vpeval.metrics.scores import PooledScores
from vpeval.metrics.verification import EERS, STATISTICS

A = TypeVar("A", bound=Hashable)


@dataclass(frozen=True)
class Strongest(Generic[A]):
    """The attack with the least EER (the first where several have it), out of `attacks` that were tested."""

    attack: A
    eer: float
    interval: SpeakerInterval
    attacks: int


def strongest(
    attacks: Mapping[A, Sequence[ScoredTrials]],
    metric: str = "eer_rocch",
    resamples: int = RESAMPLES,
    seed: int = 0,
    shares: Sequence[float] | None = None,
) -> Strongest[A]:
    """Of attacks on the same sets of trials, whose speakers are numbered alike in all of them, by the EER `metric`.

    `shares` are the weights of the sets in the mean; by default they count the same. The interval is left out if
    `resamples` is 0.
    """
    return strongest_by(attacks, (metric,), resamples, seed, shares)[metric]


def strongest_by(
    attacks: Mapping[A, Sequence[ScoredTrials]],
    metrics: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = 0,
    shares: Sequence[float] | None = None,
) -> dict[str, Strongest[A]]:
    """The same by several EERs, which share the resamples."""
    if not attacks or not all(attacks.values()) or len({len(sets) for sets in attacks.values()}) > 1:
        raise ValueError("at least one attack, and all attacks on the same sets, are expected")
    samples = _samples(attacks, [STATISTICS[metric] for metric in metrics], resamples, seed, shares)
    pooled = {attack: [trials.pooled() for trials in sets] for attack, sets in attacks.items()}
    found = {}
    for metric, rows in zip(metrics, samples, strict=True):
        eers = {attack: _mean(EERS[metric], sets, shares) for attack, sets in pooled.items()}
        found[metric] = _choose(attacks, eers, rows, 0.5 if metric == "eer_rocch" else 1.0, seed)
    return found


def _choose(
    attacks: Mapping[A, Sequence[ScoredTrials]], eers: Mapping[A, float], samples: Floats, highest: float, seed: int
) -> Strongest[A]:
    """The attack with the least of `eers`; `samples` are those of resamples, a row for each attack."""
    best = min(eers, key=lambda attack: eers[attack])
    resamples = samples.shape[1]
    if resamples == 0:
        return Strongest(best, eers[best], NO_INTERVAL, len(eers))
    chosen_sets = attacks[best]
    targets = sum(int(trials.is_target.sum()) for trials in chosen_sets)
    speakers = len(np.unique(np.concatenate([trials.enroll[trials.is_target] for trials in chosen_sets])))
    drawn = {"resamples": resamples, "seed": seed}
    alone, chosen = (
        rate_interval(eers[best], column, targets, speakers, drawn, highest)
        for column in (samples[list(attacks).index(best)], samples.min(axis=0))
    )
    if alone.lower is None or alone.upper is None or chosen.lower is None or chosen.upper is None:
        return Strongest(best, eers[best], alone, len(eers))
    ends = min(alone.lower, chosen.lower), min(alone.upper, chosen.upper)
    return Strongest(best, eers[best], SpeakerInterval(*ends, {**chosen.notes, "chosen_of": len(eers)}), len(eers))


def _samples(
    attacks: Mapping[A, Sequence[ScoredTrials]],
    statistics: Sequence[Statistic],
    resamples: int,
    seed: int,
    shares: Sequence[float] | None,
) -> Floats:
    """Every EER of every attack for every resample of speakers; who has no trials in a set is drawn again."""
    if not resamples:
        return np.empty((len(statistics), len(attacks), 0))
    rows = [[SortedTrials.from_trials(trials) for trials in sets] for sets in attacks.values()]
    draws = Draws(max(trials.n_speakers for sets in attacks.values() for trials in sets), seed)
    at_a_time = min(one.at_a_time for sets in rows for one in sets)
    parts: list[Floats] = []
    missing = resamples
    while missing:
        drawn = draws(min(missing, at_a_time))
        whole = np.ones(len(drawn), bool)
        means = []
        for sets in rows:
            found = [resample(one, drawn, statistics) for one in sets]
            for _, have in found:
                whole &= have
            means.append(np.average([values for values, _ in found], axis=0, weights=shares))
        parts.append(np.stack(means)[:, whole])
        missing -= int(whole.sum())
    return np.concatenate(parts, axis=1).transpose(2, 0, 1)


def _mean(eer: Callable[[PooledScores], float], sets: Sequence[PooledScores], shares: Sequence[float] | None) -> float:
    return float(np.average([eer(pooled) for pooled in sets], weights=shares))
