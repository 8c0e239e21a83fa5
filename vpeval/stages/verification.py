"""Stage 6: verification scores and metrics of every attack on every pair of sets, and the audit of the attackers."""

from __future__ import annotations

import logging
from pathlib import Path

from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.plan.plan import Plan, version
from vpeval.stages.fusion import Fused, Weights
from vpeval.stages.piece import LIMITS, RECORDS, Piece, run_pieces
from vpeval.stages.scoring import Verification
from vpeval.stages.strongest import strongest_attacks

log = logging.getLogger(__name__)


def pieces(plan: Plan) -> list[Piece]:
    """All results of the stage but the audit."""
    found = attacked(plan)
    return [*found, *strongest_attacks(plan, found)]


def attacked(plan: Plan) -> list[Verification]:
    """The results of all attacks: of single attackers, then of fusions of their scores."""
    return [
        (Fused if attack.members else Verification)(plan, attack, pair)
        for attack in plan.attacks
        for pair in plan.recipe.asv_pairs
    ]


def run(plan: Plan) -> None:
    """Score all trials, then ask whether the attackers are to be believed."""
    found = attacked(plan)
    run_pieces((piece for piece in found if not piece.attack.members), maker=5)
    run_pieces(Weights(plan, attack) for attack in plan.attacks if attack.members)
    run_pieces(piece for piece in found if piece.attack.members)
    run_pieces(strongest_attacks(plan, found))
    bring_up_to_date([(audit_step(plan), lambda out: _audit(plan, out))], "audit")


def audit_step(plan: Plan) -> Step:
    """The audit of the attackers."""
    scored = [piece.step.out / RECORDS for piece in pieces(plan)]
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
    from vpeval.records.record import read_records

    records = [record for piece in pieces(plan) for record in read_records(piece.step.out / RECORDS)]
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
