"""The strongest of several attacks, with an interval that knows that it was chosen.

The least EER of several is small partly by luck: the attack that fits the speakers at hand best is chosen on them. In
every resample of speakers the choice is made anew, among all attacks on the same speakers, and the interval (see
`intervals`) is that of the least EER. No end of it is above that of the chosen attack alone: who tries more attackers
must claim less privacy, not more.

An attack may be on several sets of trials; its EER is the mean over them, in which a set may count more than another.
A speaker of several is drawn for all.

The greatest, or least, of several rates of which only the intervals are known has the limits of `extreme_rate`.
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
from vpeval.metrics.verification import BIAS, EERS, HIGHEST, STATISTICS

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
        found[metric] = _choose(attacks, eers, rows, metric, seed)
    return found


def _choose(
    attacks: Mapping[A, Sequence[ScoredTrials]], eers: Mapping[A, float], samples: Floats, metric: str, seed: int
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
        rate_interval(eers[best], column, targets, speakers, drawn, HIGHEST[metric], bias=BIAS[metric])
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


def extreme_rate(
    rates: Sequence[tuple[float, float, float]], speakers: int = 0, least: bool = False
) -> tuple[float, float]:
    """95 % limits of the greatest of several true rates from 0 to 1, of which value, lower and upper limit are known.

    No rate is above the greatest: the greatest upper limit is one of it, too. That the greatest value was chosen makes
    it too great, so every lower limit is that of a tail of 2.5 % over the number of rates (Bonferroni), and the
    greatest of these counts. They are found on the scale of arcsines, on which rates vary alike all over, with the
    quantiles of Student for as many `speakers` (of the normal distribution where they are not known). The limits of the
    `least` rate are the mirror image.

    >>> [round(end, 3) for end in extreme_rate([(0.3, 0.2, 0.4)])]
    [0.2, 0.4]
    >>> [round(end, 3) for end in extreme_rate([(0.3, 0.2, 0.4), (0.1, 0.05, 0.5)])]
    [0.187, 0.5]
    >>> [round(end, 3) for end in extreme_rate([(0.7, 0.6, 0.8), (0.9, 0.5, 0.95)], least=True)]
    [0.5, 0.813]
    """
    from scipy.special import ndtri, stdtrit

    tail = 0.025 / len(rates)
    quantiles = ndtri([tail, 0.025]) if speakers < 2 else stdtrit(speakers - 1, [tail, 0.025])
    times = float(quantiles[0] / quantiles[1])
    if least:
        return min(lower for _, lower, _ in rates), min(moved_end(value, upper, times) for value, _, upper in rates)
    return max(moved_end(value, lower, times) for value, lower, _ in rates), max(upper for _, _, upper in rates)


def moved_end(value: float, end: float, times: float) -> float:
    """The end of an interval of a rate, `times` as far from the value on the scale of arcsines, and from 0 to 1.

    >>> moved_end(0.5, 0.5, 3), moved_end(0.5, 0.3, 0), moved_end(0.5, 0.1, 9)
    (0.5, 0.5, 0.0)
    """
    centre, place = (np.arcsin(np.sqrt(np.clip(x, 0, 1))) for x in (value, end))
    return float(np.round(np.sin(np.clip(centre + times * (place - centre), 0, np.pi / 2)) ** 2, 12))
