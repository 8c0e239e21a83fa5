"""Stage 7: voice similarity matrices of every trial set, with G_VD and DeID by both estimators."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from vpeval.jobs.steps import Step
from vpeval.plan.plan import Plan, version
from vpeval.stages.piece import RECORDS, RESAMPLES, gender_of, run_pieces

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Similarity:
    """One trial set, as the encoder hears it that hears original speech."""

    plan: Plan
    vectors: Path
    name: str

    @property
    def step(self) -> Step:
        """Its records; matrices are beside them."""
        return Step(
            stage=7,
            out=self.plan.run / f"VSM_{self.vectors.name}-{self.name}",
            files=(RECORDS,),
            inputs=(self.vectors / self.name, self.vectors / version(self.name, self.plan.system, "a")),
            options={"seed": self.plan.settings.seed, "resamples": RESAMPLES, **self.tags},
            code=("vpeval.protocols.similarity", "vpeval.embeddings.pair_scores"),
        )

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about."""
        return {
            "recipe": self.plan.recipe.recipe,
            "system": self.plan.system,
            "set": self.name,
            "gender": gender_of(self.plan.original(self.name)),
            "attacker": self.vectors.name,
        }

    def make(self, out: Path) -> str:
        """Compare all pairs of utterances."""
        from vpeval.anon.anonymised_set import read_missing
        from vpeval.embeddings.pair_scores import AllPairs
        from vpeval.embeddings.speaker_vectors import read_embeddings
        from vpeval.protocols.similarity import MODES, score_similarity
        from vpeval.records.record import write_records

        original, anonymised = (read_embeddings(path) for path in self.step.inputs)
        if read_missing(self.plan.anonymised(self.name)).utts:
            original = original.with_utterances(anonymised.utts)
        pairs = AllPairs.from_versions(original, anonymised)
        records = score_similarity(pairs, MODES, out / RECORDS, RESAMPLES, self.plan.settings.seed)
        write_records(out / RECORDS, [record.tagged(self.tags) for record in records])
        return f"voice similarity of {len(original.speakers)} speakers"


def pieces(plan: Plan) -> list[Similarity]:
    """All that the stage makes."""
    return [Similarity(plan, plan.heard, name) for name in plan.recipe.trial_sets] if plan.heard else []


def run(plan: Plan) -> None:
    """Compare the voices of all trial sets."""
    if not plan.heard:
        log.warning("no attacker compares original speech, so that there are no voices to compare with; left out")
    run_pieces(pieces(plan), maker=5)
