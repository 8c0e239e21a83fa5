"""Pieces of stage 8 that infer attributes of speakers from the embeddings of an encoder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vpeval.asv.attackers import INFORMED
from vpeval.jobs.steps import Step
from vpeval.plan.plan import Attack, Plan
from vpeval.stages.piece import RECORDS, RESAMPLES


@dataclass(frozen=True)
class Inference:
    """One encoder in one condition: attackers learn from speech of the first kind and attack that of the second.

    They learn from all speech of other speakers, also that of training sets where the encoder has embedded them, and
    attack what linkability tries to link.
    """

    plan: Plan
    attack: Attack

    @property
    def tests(self) -> tuple[str, ...]:
        """The sets that are attacked."""
        return self.plan.recipe.linked.tests

    @property
    def sets(self) -> tuple[str, ...]:
        """The sets that are learnt from, those that are attacked last."""
        plan = self.plan
        return tuple(dict.fromkeys((*plan.training_sets(self.attack), *plan.recipe.linked.enrolls, *self.tests)))

    @property
    def step(self) -> Step:
        """Its records; the bits of single speakers are beside them."""
        plan, attack = self.plan, self.attack
        speech = [*(attack.enrolled(name) for name in self.sets), *(attack.tried(name) for name in self.tests)]
        return Step(
            stage=8,
            out=plan.run_of(attack.system) / f"inference_{attack.attacker.name}-{attack.condition}",
            files=(RECORDS,),
            inputs=(*dict.fromkeys(speech), *plan.attribute_tables(self.sets)),
            options={
                "seed": plan.settings.seed,
                "resamples": RESAMPLES,
                "sizes": plan.legal_sizes,
                "utts": plan.legal_utts,
                "population": plan.settings.population,
                "similarity": attack.attacker.similarity,
                **self.tags,
                **self.notes,
            },
            code=("vpeval.protocols.inference",),
        )

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about."""
        recipe = self.plan.recipe.recipe
        return {"recipe": recipe, "set": f"{recipe}_all", **self.attack.tags}

    @property
    def notes(self) -> dict[str, str]:
        """The names of the attack: whoever learns from anonymised speech is informed, whatever the encoder knows."""
        vpc, legal = INFORMED if self.attack.condition == "aa" else self.attack.names
        return {"attack_model": vpc, "attack_model_legal": legal}

    def make(self, out: Path) -> str:
        """Learn and attack."""
        from vpeval.data.attributes import read_attributes
        from vpeval.embeddings.speaker_vectors import read_pooled
        from vpeval.protocols.inference import of_recipe

        plan, attack = self.plan, self.attack
        attributes = read_attributes([plan.original(name) for name in self.sets])
        train = read_pooled(tuple(attack.enrolled(name) for name in self.sets))
        test = read_pooled(tuple(attack.tried(name) for name in self.tests))
        similarity, settings = attack.attacker.similarity, plan.settings
        scores = of_recipe(
            train,
            test,
            attributes,
            similarity,
            plan.legal_sizes,
            plan.legal_utts,
            settings.population,
            RESAMPLES,
            settings.seed,
        )
        scores.write(out / RECORDS, self.tags, notes=self.notes)
        names = ", ".join(dict.fromkeys(str(r.params["attribute"]) for r in scores.records if "attribute" in r.params))
        told = f"{len(scores.records)} numbers about {names or 'no attribute'}"
        if plan.recipe.train_sets and not plan.training_sets(attack):
            # A weak attacker makes a system look better than it is.
            told += ", learnt from evaluation speakers alone; an attacker with a back end adds training speakers"
        return told
