"""Stage 8: linkability and singling out of every attack, over all speakers of the recipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vpeval.jobs.steps import Step
from vpeval.plan.plan import Attack, Plan
from vpeval.plan.recipe import Sides
from vpeval.stages.piece import RECORDS, RESAMPLES, run_pieces

METRICS = ("linkability", "singling_out")


@dataclass(frozen=True)
class Legal:
    """One metric under one attack."""

    plan: Plan
    attack: Attack
    metric: str

    @property
    def sides(self) -> Sides:
        """Who is compared with whom."""
        return self.plan.recipe.linked if self.metric == "linkability" else self.plan.recipe.singled_out

    @property
    def step(self) -> Step:
        """Its records; the values of single speakers are beside them."""
        recipe = self.plan.recipe
        vectors = [self.attack.enrolled(name) for name in self.sides.enrolls]
        vectors += [self.attack.tried(name) for name in self.sides.tests]
        options = {"sizes": recipe.legal_sizes, "utts": recipe.legal_utts, **self.tags, **self.attack.notes}
        return Step(
            stage=8,
            out=self.plan.run_of(self.attack.system)
            / f"{self.metric}_{self.attack.attacker.name}-{self.attack.condition}",
            files=(RECORDS,),
            inputs=(*vectors, *([self.attack.backend] if self.attack.backend else [])),
            options={"seed": self.plan.settings.seed, "resamples": RESAMPLES, **options},
            code=(f"vpeval.protocols.{self.metric}",),
        )

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about."""
        recipe = self.plan.recipe.recipe
        return {"recipe": recipe, "set": f"{recipe}_all", **self.attack.tags}

    def make(self, out: Path) -> str:
        """Link or single out."""
        from vpeval.asv.comparison import read_comparison
        from vpeval.embeddings.directory import read_pooled
        from vpeval.protocols import linkability, singling_out

        enroll = read_pooled(tuple(self.attack.enrolled(name) for name in self.sides.enrolls))
        test = read_pooled(tuple(self.attack.tried(name) for name in self.sides.tests))
        # Who is not enrolled cannot be linked, and who is not tried cannot be singled out: they are impostors only.
        if self.metric == "linkability":
            test = test.of(enroll.speakers)
        else:
            enroll = enroll.of(test.speakers)
        protocol = linkability.of_recipe if self.metric == "linkability" else singling_out.of_recipe
        recipe, seed = self.plan.recipe, self.plan.settings.seed
        comparison = read_comparison(str(self.attack.backend) if self.attack.backend else None)
        scores = protocol(enroll, test, comparison, recipe.legal_sizes, recipe.legal_utts, RESAMPLES, seed)
        scores.write(out / RECORDS, self.tags, notes=self.attack.notes)
        return f"{len(scores.records)} numbers"


def pieces(plan: Plan) -> list[Legal]:
    """All that the stage makes."""
    return [Legal(plan, attack, metric) for metric in METRICS for attack in plan.attacks]


def run(plan: Plan) -> None:
    """Measure both criteria."""
    run_pieces(pieces(plan), maker=5)
