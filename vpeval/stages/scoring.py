"""A piece of stage 6: one attack on one pair of sets."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.jobs.steps import Step
from vpeval.plan.plan import DATA, Attack, Plan, version
from vpeval.plan.recipe import Pair
from vpeval.records.record import Record
from vpeval.stages.piece import RECORDS, RESAMPLES, gender_of


@dataclass(frozen=True)
class Verification:
    """One attack on one pair of sets."""

    plan: Plan
    attack: Attack
    pair: Pair

    @property
    def step(self) -> Step:
        """Its scores and records."""
        parts = [self.pair, *self.development]
        sides = [side for one in parts for side in (self.attack.enrolled(one.enrolls), self.attack.tried(one.trials))]
        data = [self.data(one) / name for one in parts for name in ("trials", "utt2spk")]
        backend = [self.attack.backend] if self.attack.backend else []
        return Step(
            stage=6,
            out=self.out,
            files=(RECORDS, "scores"),
            inputs=tuple(dict.fromkeys((*sides, *data, *backend))),
            options={"seed": self.plan.settings.seed, "resamples": RESAMPLES, **self.tags, **self.attack.notes},
            code=("vpeval.protocols.attack",),
        )

    def data(self, pair: Pair) -> Path:
        """Where the trials are: an anonymised set may lack some of them."""
        return DATA / version(pair.trials, self.plan.system, self.attack.condition[1])

    @property
    def out(self) -> Path:
        """Where the results are; the name of the attacker is part of it."""
        sides = zip((self.pair.enrolls, self.pair.trials), self.attack.condition, strict=True)
        names = "-".join(version(name, self.plan.system, side) for name, side in sides)
        return self.plan.run_of(self.attack.system) / f"ASV_{self.attack.attacker.name}-{names}"

    @property
    def scored(self) -> tuple[Path, ...]:
        """What a fusion reads of it: the scores, and whose they are."""
        data = self.data(self.pair)
        return self.out / "scores", data / "trials", data / "utt2spk"

    @property
    def development(self) -> list[Pair]:
        """The pairs whose trials calibrate the scores; none where they stay as they are."""
        if not self.plan.settings.calibrate:
            return []
        if not self.plan.development:
            raise InputError(f"recipe {self.plan.recipe.recipe} has no dev sets among its pairs to calibrate scores on")
        return list(self.plan.development)

    @property
    def tags(self) -> dict[str, str]:
        """What its records are about."""
        gender = gender_of(self.plan.original(self.pair.trials))
        return {"recipe": self.plan.recipe.recipe, "set": self.pair.trials, "gender": gender, **self.attack.tags}

    def make(self, out: Path) -> str:
        """Score the trials."""
        from vpeval.protocols.attack import TrialSet, verify

        def trial_set(pair: Pair) -> TrialSet:
            sides = self.attack.enrolled(pair.enrolls), self.attack.tried(pair.trials)
            return TrialSet(*sides, self.data(pair))

        records = verify(
            trial_set(self.pair),
            self.attack.backend,
            [trial_set(pair) for pair in self.development],
            out,
            RESAMPLES,
            self.plan.settings.seed,
            self.tags,
            self.attack.notes,
        )
        return show_eer(records)


def show_eer(records: Iterable[Record]) -> str:
    """What came out, in a few words."""
    eer = next(record for record in records if record.metric == "eer_kaldi")
    return f"EER {100 * eer.value:.2f} % of {eer.counts['targets'] + eer.counts['nontargets']} trials"
