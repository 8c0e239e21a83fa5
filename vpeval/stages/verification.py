"""Stage 6: verification scores and metrics of every attack on every pair of sets, and the audit of the attackers."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.plan.plan import DATA, Attack, Plan, version
from vpeval.plan.recipe import Pair
from vpeval.results.names import SetName
from vpeval.stages.piece import LIMITS, RECORDS, RESAMPLES, gender_of, run_pieces

log = logging.getLogger(__name__)


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
    def development(self) -> list[Pair]:
        """The pairs whose trials calibrate the scores; none where they stay as they are."""
        if not self.plan.settings.calibrate:
            return []
        dev = [pair for pair in self.plan.recipe.asv_pairs if is_dev(pair.trials)]
        if not dev:
            raise InputError(f"recipe {self.plan.recipe.recipe} has no dev sets among its pairs to calibrate scores on")
        return dev

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
        eer = next(record for record in records if record.metric == "eer_kaldi")
        return f"EER {100 * eer.value:.2f} % of {eer.counts['targets'] + eer.counts['nontargets']} trials"


def is_dev(name: str) -> bool:
    """Whether a set is of the development part."""
    parts = SetName.parse(name)
    return bool(parts and parts.partition == "dev")


def pieces(plan: Plan) -> list[Verification]:
    """All that the stage makes."""
    return [Verification(plan, attack, pair) for attack in plan.attacks for pair in plan.recipe.asv_pairs]


def run(plan: Plan) -> None:
    """Score all trials, then ask whether the attackers are to be believed."""
    run_pieces(pieces(plan), maker=5)
    bring_up_to_date([(audit_step(plan), lambda out: _audit(plan, out))], "audit")


def audit_step(plan: Plan) -> Step:
    """The audit of the attackers."""
    scored = [piece.out / RECORDS for piece in pieces(plan)]
    sets = [name for name in plan.recipe.voice_sets if plan.heard]
    vectors = [plan.heard / version(name, plan.system, side) for name in sets for side in "oa"] if plan.heard else []
    checks = [plan.anonymised(name) / "checks.json" for name in plan.recipe.voice_sets]
    return Step(
        stage=6,
        out=plan.run,
        files=("audit.json",),
        inputs=(*scored, *vectors, *checks, LIMITS),
        options={"system": plan.system, "pairs": plan.recipe.asv_pairs, "edition": plan.edition},
        code=("vpeval.protocols.audit",),
        stamp=".audit.stamp.json",
    )


def _audit(plan: Plan, out: Path) -> str:
    from vpeval.protocols import audit
    from vpeval.protocols.findings import write_findings
    from vpeval.results.records import read_records

    records = [record for piece in pieces(plan) for record in read_records(piece.out / RECORDS)]
    pairs = [(pair.enrolls, pair.trials) for pair in plan.recipe.asv_pairs]
    checks = {name: plan.anonymised(name) / "checks.json" for name in plan.recipe.voice_sets}
    findings = audit.examine(plan.system, plan.heard, pairs, records, checks, plan.edition)
    for finding in findings:
        if finding.flagged:
            log.warning(f"audit ({finding.check}): WARNING: {finding.sentence}")
        else:
            log.info(f"audit ({finding.check}): {finding.sentence}")
    write_findings(out / "audit.json", findings)
    return f"audit of {len(plan.attackers)} attackers, {sum(finding.flagged for finding in findings)} warnings"
