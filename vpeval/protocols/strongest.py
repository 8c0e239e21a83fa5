"""Which attack on a system is the strongest: from the scores of all to a record of its mean EER over several sets.

The record is of no attacker: whose it is, in which condition, and how many were tried, is told by its notes
(`results.strongest` puts them into words).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vpeval.core.tables import read_table
from vpeval.data.trials import read_scores, read_trials, trial_speakers
from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.strongest import strongest_by
from vpeval.metrics.verification import EERS
from vpeval.records.record import Record
from vpeval.results.strongest import STRONGEST


@dataclass(frozen=True)
class AttackedSet:
    """The data directory of trials that were scored, and the scores."""

    data: Path
    scores: Path


@dataclass(frozen=True)
class Tried:
    """An attack on all sets of a partition."""

    attacker: str
    condition: str
    model: str
    sets: tuple[AttackedSet, ...]


def score_strongest(attacks: Sequence[Tried], shares: Sequence[float], resamples: int, seed: int) -> list[Record]:
    """The least mean EER of all attacks by every estimator, with an interval that knows of the choice.

    `shares` are the weights of the sets in the mean.
    """
    numbers: dict[str, int] = {}
    scored = {attack: [_read(one, numbers) for one in attack.sets] for attack in attacks}
    records = []
    for metric, found in strongest_by(scored, list(EERS), resamples, seed, shares).items():
        chosen = found.attack
        notes = {
            "chosen": chosen.attacker,
            "chosen_condition": chosen.condition,
            "attack_model": chosen.model,
            "attackers": len({attack.attacker for attack in attacks}),
            "attacks": found.tried,
            "sets": len(chosen.sets),
        }
        counts = [trials.counts for trials in scored[chosen]]
        summed = {name: sum(count[name] for count in counts) for name in ("targets", "nontargets")}
        record = Record(STRONGEST, found.eer, params={"eer": metric}, counts=summed, notes=notes)
        records.append(found.interval.of(record))
    return records


def _read(one: AttackedSet, numbers: dict[str, int]) -> ScoredTrials:
    """Scored trials whose speakers have the same `numbers` in all sets; new ones get the next."""
    trials = read_trials(one.data / "trials")
    source = one.data / "utt2spk"
    speakers = trial_speakers(trials, read_table(source, "speaker"), source)
    place = np.array([numbers.setdefault(name, len(numbers)) for name in speakers.names], np.intp)
    return ScoredTrials(
        read_scores(one.scores, trials), trials.is_target, place[speakers.enroll], place[speakers.trial]
    )
