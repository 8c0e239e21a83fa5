"""The strongest attack on a system: the least mean EER over the sets of a partition, of all attacks of a run.

The record is of no attacker: which attack was chosen, in which condition and among how many, is in its notes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from vpeval.core.files import read_table
from vpeval.data.trials import read_scores, read_trials, trial_speakers
from vpeval.measures.base import RECORDS, Measure, Resampling, Result
from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.strongest import strongest_by
from vpeval.metrics.verification import EERS
from vpeval.records.averages import weights
from vpeval.records.metrics import PERCENT, VERIFICATION, Metric
from vpeval.records.names import SetName
from vpeval.records.record import Record, write_records

if TYPE_CHECKING:
    from vpeval.plan.plan import Attack, Plan
    from vpeval.plan.recipe import Pair

STRONGEST = "strongest_attack"
METRICS = (
    Metric(
        STRONGEST,
        "Strongest attack",
        "The least mean EER over the sets of a partition of all attacks on a system; its interval "
        "accounts for the choice of the best of several, which is made anew for resampled speakers.",
        r"Strongest attack, \%",
        **PERCENT,
        digits=2,
        better=+1,
        chance=0.5,
        group=VERIFICATION,
        range=(0.0, 1.0),
        requires=("eer", "sets", "chosen"),
        shown=(),
        place=1,
    ),
)
_PARTITIONS = ("dev", "test")


@dataclass(frozen=True)
class AttackedSet:
    """The data directory of trials that were scored, and the scores."""

    data: Path
    scores: Path


@dataclass(frozen=True)
class AttackedSets:
    """An attack on all sets of a partition."""

    attacker: str
    condition: str
    model: str
    sets: tuple[AttackedSet, ...]


def score_strongest(attacks: Sequence[AttackedSets], shares: Sequence[float], options: Resampling) -> list[Record]:
    """The least mean EER of all attacks by every estimator, with an interval that accounts for the choice.

    `shares` are the weights of the sets in the mean.
    """
    numbers: dict[str, int] = {}
    scored = {attack: [_read(one, numbers) for one in attack.sets] for attack in attacks}
    records = []
    for metric, found in strongest_by(scored, list(EERS), options.resamples, options.seed, shares).items():
        chosen = found.attack
        notes = {
            "chosen": chosen.attacker,
            "chosen_condition": chosen.condition,
            "attack_model": chosen.model,
            "attackers": len({attack.attacker for attack in attacks}),
            "attacks": found.attacks,
            "sets": len(chosen.sets),
        }
        counts = [trials.counts for trials in scored[chosen]]
        summed = {name: sum(count[name] for count in counts) for name in ("targets", "nontargets")}
        record = Record(STRONGEST, found.eer, params={"eer": metric}, counts=summed, notes=notes)
        records.append(record.with_interval(found.interval))
    return records


def _read(one: AttackedSet, numbers: dict[str, int]) -> ScoredTrials:
    """Scored trials whose speakers have the same `numbers` in all sets; new ones get the next."""
    trials = read_trials(one.data / "trials")
    source = one.data / "utt2spk"
    speakers = trial_speakers(trials, read_table(source, "speaker"), source)
    place = np.array([numbers.setdefault(name, len(numbers)) for name in speakers.names], np.intp)
    scores = read_scores(one.scores, trials)
    return ScoredTrials(scores, trials.is_target, place[speakers.enroll], place[speakers.trial])


def strongest_of(records: Iterable[Record], system: str, metric: str) -> Record | None:
    """The strongest attack on a system by the EER `metric`, on test data where there are any."""
    found = {
        parts.partition: record
        for record in records
        if record.metric == STRONGEST and record.system == system and record.params.get("eer") == metric
        if (parts := SetName.parse(record.set))
    }
    return found.get("test") or found.get("dev")


def attack_in_words(notes: Mapping[str, object]) -> str:
    """The attack that was chosen.

    >>> attack_in_words({"attack_model": "lazy-informed", "chosen": "ecapa", "chosen_condition": "aa"})
    'lazy-informed ecapa'
    """
    model = "similar-system" if notes["attack_model"] == "none" else notes["attack_model"]
    return f"{model} {notes['chosen']}"


def choice_in_words(notes: Mapping[str, object]) -> str:
    """Among how many an attack was chosen.

    >>> choice_in_words({"attackers": 3, "attacks": 5}), choice_in_words({"attackers": 1, "attacks": 1})
    ('the strongest of 5 attacks by 3 attackers', 'the only attack')
    """
    attackers, attacks = int(str(notes["attackers"])), int(str(notes["attacks"]))
    if attacks == 1:
        return "the only attack"
    return f"the strongest of {attacks} attacks by {attackers} attacker{'s' * (attackers != 1)}"


def sets_in_words(record: Record) -> str:
    """What its mean is over: ``2 test sets``."""
    parts, sets = SetName.parse(record.set), record.notes["sets"]
    return f"{sets} {parts.partition if parts else record.set} set{'s' * (sets != 1)}"


@dataclass(frozen=True)
class StrongestAttack(Result):
    """The strongest of all attacks on the sets of a partition."""

    partition: str
    scored: tuple[tuple[Attack, Pair], ...]
    stage = 6

    @property
    def out(self) -> Path:
        """One directory for each partition."""
        return self.plan.run / f"strongest-{self.partition}"

    @property
    def inputs(self) -> tuple[Path, ...]:
        """All scores, and their trials."""
        plan, found = self.plan, dict[Path, None]()
        for attack, pair in self.scored:
            data = plan.trials_of(attack, pair)
            paths = (plan.verification_of(attack, pair) / "scores", data / "trials", data / "utt2spk")
            found |= dict.fromkeys(paths)
        return tuple(found)

    @property
    def options(self) -> Mapping[str, object]:
        """The attacks among which it is chosen."""
        return {"attacks": sorted({f"{attack.tags} {attack.names}" for attack, _ in self.scored})}

    @property
    def tags(self) -> dict[str, str]:
        """The partition; the attacker is in the notes of the records."""
        recipe = self.plan.recipe.recipe
        return {"recipe": recipe, "system": self.plan.system, "set": f"{recipe}_{self.partition}"}

    def make(self, out: Path) -> str:
        """Choose."""
        attacks: dict[tuple[str, str, str], list[AttackedSet]] = {}
        for attack, pair in self.scored:
            key = attack.attacker.name, attack.condition, attack.names[0]
            scores = self.plan.verification_of(attack, pair) / "scores"
            attacks.setdefault(key, []).append(AttackedSet(self.plan.trials_of(attack, pair), scores))
        names = dict.fromkeys(pair.trials for _, pair in self.scored)
        shares = weights(names) if all(map(SetName.parse, names)) else dict.fromkeys(names, 1)
        found = score_strongest(
            [AttackedSets(*key, tuple(sets)) for key, sets in attacks.items()],
            [float(share) for share in shares.values()],
            self.resampling,
        )
        write_records(out / RECORDS, [record.tagged(self.tags) for record in found])
        return f"{attack_in_words(found[0].notes)} is {choice_in_words(found[0].notes)}"

    def commands(self) -> list[list[str]]:
        """It is chosen among all attacks of a run."""
        return []


def strongest_attacks(plan: Plan) -> list[StrongestAttack]:
    """One result for every partition; attacks on original speech are not on the system."""
    attacks = [attack for attack in plan.attacks if attack.condition != "oo"]
    scored = [(attack, pair) for attack in attacks for pair in plan.recipe.asv_pairs]
    found = []
    for partition in _PARTITIONS:
        # What is not of the development part is test data.
        own = tuple(one for one in scored if _is_dev(one[1].trials) == (partition == "dev"))
        if own:
            found.append(StrongestAttack(plan, partition, own))
    return found


def _is_dev(name: str) -> bool:
    parts = SetName.parse(name)
    return bool(parts and parts.partition == "dev")


MEASURE = Measure("strongest", 6, strongest_attacks, place=1)
