"""Pieces of stage 6 that fuse what other attackers made: weights by development sets, and fused scores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vpeval.jobs.steps import Step
from vpeval.plan.plan import Attack, Plan
from vpeval.plan.recipe import Pair
from vpeval.stages.piece import RECORDS, RESAMPLES
from vpeval.stages.scoring import Verification, show_eer

if TYPE_CHECKING:
    from vpeval.protocols.fusion import Scored

WEIGHTS = "weights.json"


@dataclass(frozen=True)
class Weights:
    """How a fusion weighs its members in a condition, by the trials of the development sets."""

    plan: Plan
    attack: Attack

    @property
    def step(self) -> Step:
        """Its weights."""
        members = [piece for row in _members(self.plan, self.attack, self.plan.development) for piece in row]
        return Step(
            stage=6,
            out=self.plan.run_of(self.attack.system) / f"{self.attack.attacker.name}-{self.attack.condition}",
            files=(WEIGHTS,),
            inputs=tuple(dict.fromkeys(path for piece in members for path in piece.scored)),
            options=self.attack.tags,
            code=("vpeval.protocols.fusion",),
        )

    def make(self, out: Path) -> str:
        """Learn the weights."""
        from vpeval.protocols.fusion import learn, write_weights

        names = [member.attacker.name for member in self.attack.members]
        fusion = learn(names, _scored(self.plan, self.attack, self.plan.development))
        write_weights(out / WEIGHTS, fusion)
        return ", ".join(f"{name} {weight:.3g}" for name, weight in zip(names, fusion.weights, strict=True))


@dataclass(frozen=True)
class Fused(Verification):
    """One fusion on one pair of sets, by the scores of its members.

    Scores of a development set are fused with weights from other speakers than those of a trial.
    """

    @property
    def step(self) -> Step:
        """Its scores and records."""
        scored = [piece for row in _members(self.plan, self.attack, self.pairs) for piece in row]
        weights = [] if self.is_dev else [Weights(self.plan, self.attack).step.out / WEIGHTS]
        return Step(
            stage=6,
            out=self.out,
            files=(RECORDS, "scores"),
            inputs=tuple(dict.fromkeys((*weights, *(path for piece in scored for path in piece.scored)))),
            options={"seed": self.plan.settings.seed, "resamples": RESAMPLES, **self.tags, **self.attack.notes},
            code=("vpeval.protocols.attack", "vpeval.protocols.fusion"),
        )

    @property
    def is_dev(self) -> bool:
        """Whether its weights come from its own set, by parts."""
        return self.pair in self.plan.development

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """The pairs whose scores it needs."""
        return self.plan.development if self.is_dev else (self.pair,)

    def make(self, out: Path) -> str:
        """Fuse the scores."""
        from vpeval.protocols.attack import write_verification
        from vpeval.protocols.fusion import held_out, read_weights

        names = [member.attacker.name for member in self.attack.members]
        scored, seed = _scored(self.plan, self.attack, self.pairs), self.plan.settings.seed
        notes: dict[str, object] = {**self.attack.notes, "calibration": "dev", "members": " ".join(names)}
        if self.is_dev:
            trials, scores = held_out(names, scored, self.pairs.index(self.pair), seed)
        else:
            fusion = read_weights(Weights(self.plan, self.attack).step.out / WEIGHTS)
            trials, each = scored[0].read()
            scores = fusion(each)
        utt2spk = self.data(self.pair) / "utt2spk"
        return show_eer(write_verification(trials, scores, utt2spk, out, RESAMPLES, seed, self.tags, notes))


def _members(plan: Plan, attack: Attack, pairs: Sequence[Pair]) -> list[list[Verification]]:
    """The pieces of the members of a fusion, pair by pair."""
    return [[Verification(plan, member, pair) for member in attack.members] for pair in pairs]


def _scored(plan: Plan, attack: Attack, pairs: Sequence[Pair]) -> list[Scored]:
    """What the members of a fusion made of pairs of sets."""
    from vpeval.protocols.fusion import Scored

    return [
        Scored(row[0].data(row[0].pair), tuple(piece.out / "scores" for piece in row))
        for row in _members(plan, attack, pairs)
    ]
