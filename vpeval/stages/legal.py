"""Stage 8: linkability, singling out and inference by every attack, over all speakers of the recipe."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vpeval.jobs.steps import Step
from vpeval.plan.plan import Attack, Plan
from vpeval.plan.recipe import Sides
from vpeval.stages.fusion import WEIGHTS, Weights
from vpeval.stages.inference import Inference
from vpeval.stages.piece import RECORDS, RESAMPLES, run_pieces

if TYPE_CHECKING:
    from vpeval.asv.comparison import Comparison

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
        made_from = [path for attack in self.single for path in self._inputs(attack)]
        if self.attack.members:
            made_from.append(self.weights)
        made_from += self.plan.attribute_tables((*self.sides.enrolls, *self.sides.tests))
        options = {
            "sizes": self.plan.legal_sizes,
            "utts": self.plan.legal_utts,
            "population": self.plan.settings.population,
            **self.tags,
            **self.attack.notes,
        }
        return Step(
            stage=8,
            out=self.plan.run_of(self.attack.system)
            / f"{self.metric}_{self.attack.attacker.name}-{self.attack.condition}",
            files=(RECORDS,),
            inputs=tuple(dict.fromkeys(made_from)),
            options={"seed": self.plan.settings.seed, "resamples": RESAMPLES, **options},
            code=(f"vpeval.protocols.{self.metric}",),
        )

    @property
    def single(self) -> tuple[Attack, ...]:
        """The attacks of the members of a fusion, or the attack itself."""
        return self.attack.members or (self.attack,)

    @property
    def weights(self) -> Path:
        """What a fusion learnt in stage 6."""
        return Weights(self.plan, self.attack).step.out / WEIGHTS

    def _inputs(self, attack: Attack) -> list[Path]:
        return [*self._enrolled(attack), *self._tried(attack), *([attack.backend] if attack.backend else [])]

    def _enrolled(self, attack: Attack) -> tuple[Path, ...]:
        return tuple(attack.enrolled(name) for name in self.sides.enrolls)

    def _tried(self, attack: Attack) -> tuple[Path, ...]:
        return tuple(attack.tried(name) for name in self.sides.tests)

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about."""
        recipe = self.plan.recipe.recipe
        return {"recipe": recipe, "set": f"{recipe}_all", **self.attack.tags}

    def make(self, out: Path) -> str:
        """Link or single out."""
        from vpeval.data.attributes import read_attributes
        from vpeval.embeddings.speaker_vectors import join, read_pooled
        from vpeval.protocols import linkability, singling_out
        from vpeval.protocols.side import UseCase, sides_of

        enrolled, tried = (
            [read_pooled(side(attack)) for attack in self.single] for side in (self._enrolled, self._tried)
        )
        comparison = self._comparison([part.vectors.shape[1] for part in enrolled])
        enroll, test = join(enrolled), join(tried)
        # Who is not enrolled cannot be linked, and who is not tried cannot be singled out: they are impostors only.
        if self.metric == "linkability":
            test = test.with_speakers(enroll.speakers)
        else:
            enroll = enroll.with_speakers(test.speakers)
        protocol = linkability.of_recipe if self.metric == "linkability" else singling_out.of_recipe
        plan, settings = self.plan, self.plan.settings
        names = dict.fromkeys((*self.sides.enrolls, *self.sides.tests))
        sides = sides_of(read_attributes([plan.original(name) for name in names]))
        case = UseCase(tuple(side for side in sides if side.groups > 1), settings.population)
        scores = protocol(enroll, test, comparison, plan.legal_sizes, plan.legal_utts, case, RESAMPLES, settings.seed)
        scores.write(out / RECORDS, self.tags, notes=self.attack.notes)
        return f"{len(scores.records)} numbers"

    def _comparison(self, sizes: Sequence[int]) -> Comparison:
        """How vectors are compared, which have `sizes` dimensions by the encoders of the attacks."""
        from vpeval.asv.comparison import Fused, read_comparison
        from vpeval.protocols.fusion import read_weights

        found = tuple(read_comparison(str(attack.backend) if attack.backend else None) for attack in self.single)
        if not self.attack.members:
            return found[0]
        return Fused(found, tuple(sizes), tuple(read_weights(self.weights).weights.tolist()))


def pieces(plan: Plan) -> list[Legal | Inference]:
    """All that the stage makes."""
    legal = [Legal(plan, attack, metric) for metric in METRICS for attack in plan.attacks]
    return [*legal, *(Inference(plan, attack) for attack in plan.heard_attacks)]


def run(plan: Plan) -> None:
    """Measure all three criteria."""
    found = pieces(plan)
    run_pieces((piece for piece in found if not piece.attack.members), maker=5)
    run_pieces((piece for piece in found if piece.attack.members), maker=6)
