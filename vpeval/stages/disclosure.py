"""Stage 9: similarity rank disclosure of original and of anonymised speech."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vpeval.jobs.steps import Step
from vpeval.plan.plan import Attack, Plan
from vpeval.stages.piece import RECORDS, RESAMPLES, run_pieces


@dataclass(frozen=True)
class Disclosure:
    """One attack, by its embeddings alone."""

    plan: Plan
    attack: Attack

    @property
    def vectors(self) -> tuple[Path, ...]:
        """The sets whose utterances become references and inputs."""
        return tuple(self.attack.tried(name) for name in self.plan.srd_sets)

    @property
    def step(self) -> Step:
        """Its records; ranks and the values of single speakers are beside them."""
        settings = {"inputs": self.plan.recipe.srd_inputs, "similarity": self.attack.attacker.similarity}
        return Step(
            stage=9,
            out=self.plan.run_of(self.attack.system) / f"srd_{self.attack.attacker.name}-{self.attack.condition}",
            files=(RECORDS,),
            inputs=self.vectors,
            options={"seed": self.plan.settings.seed, "resamples": RESAMPLES, **settings, **self.tags, **self.notes},
            code=("vpeval.protocols.srd",),
        )

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about."""
        recipe = self.plan.recipe.recipe
        return {"recipe": recipe, "set": f"{recipe}_all", **self.attack.tags}

    @property
    def notes(self) -> dict[str, str]:
        """The names of the attack, and what of speech it hears; no scores are compared."""
        names = {name: value for name, value in self.attack.notes.items() if name != "scoring"}
        return {**names, "representation": self.attack.attacker.representation}

    def make(self, out: Path) -> str:
        """Rank every input among the references."""
        from vpeval.embeddings.speaker_vectors import read_pooled
        from vpeval.protocols.srd import of_pool

        pooled, recipe = read_pooled(self.vectors), self.plan.recipe
        similarity = self.attack.attacker.similarity
        scores = of_pool(pooled, recipe.srd_inputs, similarity, RESAMPLES, self.plan.settings.seed)
        scores.write(out / RECORDS, self.tags, notes=self.notes)
        return f"{len(scores.records)} numbers"


def pieces(plan: Plan) -> list[Disclosure]:
    """All that the stage makes: one piece for every encoder that listens, whatever back ends use its embeddings."""
    return [Disclosure(plan, attack) for attack in plan.heard_attacks if attack.condition in ("oo", "aa")]


def run(plan: Plan) -> None:
    """Measure what ranks disclose."""
    run_pieces(pieces(plan), maker=5)
