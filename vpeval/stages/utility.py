"""Stage 10: what is left of the speech: words, melody, emotions and, on request, quality."""

from __future__ import annotations

import logging
from pathlib import Path

from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.plan.plan import Plan
from vpeval.protocols.findings import UTILITY_FILE
from vpeval.stages import emotions, recognition
from vpeval.stages.piece import RECORDS, Piece, need, run_pieces
from vpeval.stages.sound import Pitch, Quality

log = logging.getLogger(__name__)


def pieces(plan: Plan) -> list[Piece]:
    """All results of the stage."""
    found: list[Piece] = [*_audited(plan), *(Pitch(plan, name) for name in plan.recipe.trial_sets)]
    if plan.settings.quality:
        found += [Quality(plan, name) for name in plan.recipe.trial_sets]
    return found


def run(plan: Plan) -> None:
    """Recognise, then measure."""
    recipe = plan.recipe
    names = sorted({*recipe.speech_sets, *recipe.trial_sets, *(n for one in recipe.emotion_sets for n in one.sets)})
    need(0, *(plan.original(name) for name in names))
    need(3, *(plan.anonymised(name) for name in names))
    recognition.recognise(plan)
    if recipe.emotion_sets and recipe.ser:
        emotions.predict(plan)
    pitch = [Pitch(plan, name) for name in recipe.trial_sets]
    bring_up_to_date(((one.tracks, one.track) for one in pitch), "F0 tracks of original speech")
    run_pieces(pieces(plan))
    bring_up_to_date([(audit_step(plan), lambda out: _audit(plan, out))], "audit")


def audit_step(plan: Plan) -> Step:
    """The audit of the recognisers."""
    scored = tuple(piece.step.out / RECORDS for piece in _audited(plan))
    return Step(
        10, plan.run, (UTILITY_FILE,), scored, {}, ("vpeval.protocols.utility_audit",), ".utility_audit.stamp.json"
    )


def _audited(plan: Plan) -> list[Piece]:
    """What speaks of a recogniser."""
    return [*recognition.pieces(plan), *emotions.pieces(plan)]


def _audit(plan: Plan, out: Path) -> str:
    from vpeval.protocols.findings import write_findings
    from vpeval.protocols.utility_audit import audit_utility
    from vpeval.records.record import read_records

    records = [record for piece in _audited(plan) for record in read_records(piece.step.out / RECORDS)]
    findings = audit_utility(records)
    for finding in findings:
        if finding.flagged:
            log.warning(f"audit ({finding.check}): WARNING: {finding.sentence}")
        else:
            log.info(f"audit ({finding.check}): {finding.sentence}")
    write_findings(out / UTILITY_FILE, findings)
    return f"audit of the recognisers, {sum(finding.flagged for finding in findings)} warnings"
