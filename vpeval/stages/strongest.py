"""A piece of stage 6: which of all attacks on the system under test is the strongest, in every partition."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vpeval.jobs.steps import Step
from vpeval.plan.plan import Plan, is_dev
from vpeval.plan.recipe import Pair
from vpeval.records.names import SetName
from vpeval.stages.piece import RECORDS, RESAMPLES
from vpeval.stages.scoring import Verification

PARTITIONS = ("dev", "test")


@dataclass(frozen=True)
class StrongestAttack:
    """The strongest attack on the sets of a partition, out of all `scored`."""

    plan: Plan
    partition: str
    scored: tuple[Verification, ...]

    @property
    def step(self) -> Step:
        """Its records."""
        return Step(
            stage=6,
            out=self.plan.run / f"strongest-{self.partition}",
            files=(RECORDS,),
            inputs=tuple(dict.fromkeys(path for piece in self.scored for path in piece.scored)),
            options={
                "seed": self.plan.settings.seed,
                "resamples": RESAMPLES,
                "attacks": sorted({f"{piece.attack.tags} {piece.attack.names}" for piece in self.scored}),
                **self.tags,
            },
            code=("vpeval.protocols.strongest", "vpeval.records.averages"),
        )

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about; of which attacker is told by their notes."""
        recipe = self.plan.recipe.recipe
        return {"recipe": recipe, "system": self.plan.system, "set": f"{recipe}_{self.partition}"}

    def make(self, out: Path) -> str:
        """Choose."""
        from vpeval.protocols.strongest import AttackedSet, Tried, score_strongest
        from vpeval.records.averages import weights
        from vpeval.records.record import write_records
        from vpeval.results.strongest import attack_in_words, tried

        attacks: dict[tuple[str, str, str], list[AttackedSet]] = {}
        for piece in self.scored:
            key = piece.attack.attacker.name, piece.attack.condition, piece.attack.names[0]
            attacks.setdefault(key, []).append(AttackedSet(piece.data(piece.pair), piece.out / "scores"))
        names = dict.fromkeys(piece.pair.trials for piece in self.scored)
        shares = weights(names) if all(map(SetName.parse, names)) else dict.fromkeys(names, 1)
        records = score_strongest(
            [Tried(*key, tuple(sets)) for key, sets in attacks.items()],
            [float(share) for share in shares.values()],
            RESAMPLES,
            self.plan.settings.seed,
        )
        write_records(out / RECORDS, [record.tagged(self.tags) for record in records])
        notes = records[0].notes
        return f"{attack_in_words(notes)} is {tried(notes)}"


def partition_of(pair: Pair) -> str:
    """The partition that a pair counts to: what is not of the development part is test data."""
    return "dev" if is_dev(pair.trials) else "test"


def strongest_attacks(plan: Plan, scored: list[Verification]) -> list[StrongestAttack]:
    """A piece for every partition; attacks on original speech are not on the system."""
    found = []
    for partition in PARTITIONS:
        own = tuple(p for p in scored if p.attack.condition != "oo" and partition_of(p.pair) == partition)
        if own:
            found.append(StrongestAttack(plan, partition, own))
    return found
