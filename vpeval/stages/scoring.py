"""Stages 6 to 9: the measures of privacy, and the audit of the attackers."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from vpeval.asv.attackers import FUSION
from vpeval.editions.base import edition_of
from vpeval.editions.headline import eer_of
from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.measures import audit
from vpeval.measures.base import RECORDS
from vpeval.plan.plan import Plan
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record, read_records
from vpeval.stages.base import LIMITS, data_words, log_findings, make_results, results


def verify(plan: Plan) -> None:
    """Stage 6: score all trials, then audit the attackers."""
    make_results(results(plan, 6))
    bring_up_to_date([audit_step(plan)], "audit")


def compare_voices(plan: Plan) -> None:
    """Stage 7: voice similarity."""
    make_results(results(plan, 7))


def measure_legal_criteria(plan: Plan) -> None:
    """Stage 8: linkability, singling out and inference."""
    make_results(results(plan, 8))


def measure_disclosure(plan: Plan) -> None:
    """Stage 9: similarity rank disclosure."""
    make_results(results(plan, 9))


def audit_step(plan: Plan) -> Step:
    """The audit of the attackers."""
    sets, encoders = plan.recipe.voice_sets, dict.fromkeys(plan.original_embeddings.values())
    vectors = [path / plan.data_of(name, side).name for path in encoders for name in sets for side in "oa"]
    checks = [plan.anonymised(name) / "checks.json" for name in sets]
    return Step(
        stage=6,
        out=plan.run,
        files=(audit.FILE,),
        inputs=(*_scored(plan), *vectors, *checks, LIMITS),
        options={"system": plan.system, "pairs": plan.recipe.asv_pairs, "edition": plan.edition},
        makers=(audit, *edition_of(plan.edition).makers),
        make=partial(_audit, plan),
        commands=lambda: _audit_commands(plan),
        stamp=".audit.stamp.json",
    )


def _audit_commands(plan: Plan) -> list[list[str]]:
    """The command that audits by hand; it needs embeddings of original and anonymised speech."""
    if not plan.original_embeddings:
        return []
    eer = eer_of(plan.edition)
    encoder = audit.best_encoder(_read_scored(plan), plan.original_embeddings, eer)
    runs = dict.fromkeys((plan.run_of(ORIGINAL), plan.run))
    files = [str(plan.original_embeddings[encoder]), str(plan.run / audit.FILE), *map(str, runs)]
    names = " ".join(attacker.name for attacker in sorted(plan.attackers, key=lambda one: one.mode == FUSION))
    options = [*data_words(plan, "--data"), "--edition", plan.edition, "--attackers", names]
    return [["local/audit_attacker.py", *options, plan.system, *files]]


def _scored(plan: Plan) -> list[Path]:
    """The records of stage 6."""
    return [result.out / RECORDS for result in results(plan, 6) if RECORDS in result.files]


def _read_scored(plan: Plan) -> list[Record]:
    return [record for path in _scored(plan) for record in read_records(path)]


def _audit(plan: Plan, out: Path) -> str:
    records = _read_scored(plan)
    pairs = [(pair.enrolls, pair.trials) for pair in plan.recipe.asv_pairs]
    checks = {name: plan.anonymised(name) / "checks.json" for name in plan.recipe.voice_sets}
    findings = audit.examine(plan.system, plan.original_embeddings, pairs, records, checks, plan.edition)
    log_findings(findings)
    audit.write_findings(out / audit.FILE, findings)
    return f"audit of {len(plan.attackers)} attackers, {sum(finding.flagged for finding in findings)} warnings"
