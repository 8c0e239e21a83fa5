"""The strongest of several attackers, with an interval that knows that it was chosen.

The least EER of several is small partly by luck: the attacker that fits the speakers at hand best is chosen on them.
In every resample of speakers the choice is made anew, among all attackers on the same speakers, and the interval (see
`intervals`) is that of the least EER. No end of it is above that of the chosen attacker alone: who tries more attackers
must claim less privacy, not more.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from vpeval.metrics.eer import eer_rocch
from vpeval.metrics.intervals import rate_interval
from vpeval.metrics.verification import ScoredTrials, resampled


@dataclass(frozen=True)
class Strongest:
    """The attacker with the least EER (ROCCH; the first where several have it), out of `tried`."""

    attacker: str
    eer: float
    lower: float | None
    upper: float | None
    tried: int


def strongest(attackers: Mapping[str, ScoredTrials], resamples: int = 1000, seed: int = 0) -> Strongest:
    """Of attackers on the same trials; the interval is left out if `resamples` is 0."""
    if not attackers:
        raise ValueError("at least one attacker is expected")
    first = next(iter(attackers.values()))
    for name, trials in attackers.items():
        if not (np.array_equal(trials.enroll, first.enroll) and np.array_equal(trials.speaker, first.speaker)):
            raise ValueError(f"attacker {name} was scored on other trials")
    eers = {name: eer_rocch(trials.pooled()).value for name, trials in attackers.items()}
    best = min(eers, key=lambda name: eers[name])
    if resamples == 0:
        return Strongest(best, eers[best], None, None, len(eers))
    samples = {
        name: np.array([eer_rocch(pooled).value for pooled, _ in resampled(trials, resamples, seed)])
        for name, trials in attackers.items()
    }
    targets, speakers = int(first.is_target.sum()), first.n_target_speakers
    alone, chosen = (
        rate_interval(eers[best], column, targets, speakers, {}, highest=0.5)
        for column in (samples[best], np.min(list(samples.values()), axis=0))
    )
    if alone.lower is None or alone.upper is None or chosen.lower is None or chosen.upper is None:
        return Strongest(best, eers[best], None, None, len(eers))
    ends = min(alone.lower, chosen.lower), min(alone.upper, chosen.upper)
    return Strongest(best, eers[best], *ends, len(eers))
