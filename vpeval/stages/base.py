"""What stages share: steps of results, and checks of what earlier stages make."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from types import ModuleType

from vpeval.core.errors import InputError, TooFew
from vpeval.core.files import write_text
from vpeval.core.lazy import modules_of
from vpeval.jobs.dry_run import current_dry_run
from vpeval.jobs.stamps import stale_source
from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.measures.audit import Finding
from vpeval.measures.base import Measure, Result
from vpeval.plan.plan import Plan, Settings

log = logging.getLogger(__name__)
LIMITS = Path("conf/verdict.yaml")
"""The limits of audit, report and comparison."""
LEFT_OUT = "left_out.txt"
"""In the directory of a result without numbers: why it has none."""
_MAKERS = {"asv": 4, "embeddings": 5, "runs": 6, "decode": 10, "asr": 10, "emotions": 10, "ser": 10, "f0": 10, "lm": 10}
"""The stages that make what is in directories of these names."""


def measure_modules() -> list[ModuleType]:
    """The modules of all measures that take part in stages."""
    return [module for module in modules_of("vpeval.measures") if hasattr(module, "MEASURE")]


def measures(stage: int | None = None) -> list[Measure]:
    """The measures of a stage, or of all stages, in the order in which they are made."""
    found = [module.MEASURE for module in measure_modules()]
    chosen = [measure for measure in found if stage in (None, measure.stage)]
    return sorted(chosen, key=lambda measure: (measure.stage, measure.place, measure.name))


def results(plan: Plan, stage: int | None = None) -> list[Result]:
    """The results that a plan asks for, of a stage or of all stages."""
    return [result for measure in measures(stage) for result in measure.results(plan)]


def step_of(result: Result) -> Step:
    """The step that makes a result."""
    drawn = result.resampling
    return Step(
        stage=result.stage,
        out=result.out,
        files=result.files,
        inputs=result.inputs,
        options={
            "seed": drawn.seed,
            "resamples": drawn.resamples,
            **result.notes,
            **result.options,
            **result.tags,
        },
        makers=(type(result),),
        make=partial(make_or_leave_out, result),
        commands=result.commands,
    )


def make_or_leave_out(result: Result, out: Path) -> str:
    """Make a result; of a corpus that is too small for it, a table without numbers and a note that says why."""
    (out / LEFT_OUT).unlink(missing_ok=True)
    try:
        return result.make(out)
    except TooFew as error:
        for name in result.files:
            write_text(out / name, "")
        write_text(out / LEFT_OUT, f"{error}\n")
        log.warning(f"{out}: left out: {error}")
        return "no numbers"


def why_left_out(out: Path) -> str:
    """Why a result has no numbers; empty where it has."""
    note = out / LEFT_OUT
    return note.read_text(encoding="utf-8").strip() if note.is_file() else ""


def make_results(found: Sequence[Result]) -> None:
    """Make those results that are not up to date; what earlier stages make must be there."""
    steps = [step_of(result) for result in found]
    made_here = {step.out for step in steps}
    inputs = [path for step in steps for path in step.inputs if not made_here.intersection(path.parents)]
    for path in dict.fromkeys(inputs):
        require_outputs(maker_of(path), path)
    refuse_outdated(inputs)
    bring_up_to_date(steps, "results")


def maker_of(path: Path) -> int:
    """The stage that makes a path."""
    if path.parts and path.parts[0].startswith("data"):
        return 3
    return next((stage for kind, stage in _MAKERS.items() if kind in path.parts), 5)


def data_words(plan: Plan, option: str) -> list[str]:
    """The option of a script that names the data root, where it is not the usual one."""
    return [option, str(plan.data)] if plan.settings.data != Settings.data else []


def refuse_outdated(paths: Iterable[Path]) -> None:
    """Refuse embeddings, models and decodings that were made from other data than those that are there now."""
    for path in dict.fromkeys(paths) if not current_dry_run() else ():
        if outdated := stale_source(path):
            made, source = outdated
            raise InputError(
                f"was made from another {source} than the one that is there now; run ./run.sh --stage {maker_of(made)}",
                made,
            )


def require_outputs(stage: int, *paths: Path) -> None:
    """Refuse to go on without what an earlier stage makes."""
    dry_run = current_dry_run()
    for path in paths:
        if not path.exists() and not (dry_run and dry_run.expects(path)):
            raise InputError(f"is missing; stage {stage} makes it: run ./run.sh --stage {stage}", path)


def log_findings(findings: Iterable[Finding]) -> None:
    """A line for every finding of an audit; those that need attention are warnings."""
    for finding in findings:
        if finding.flagged:
            log.warning(f"audit ({finding.check}): WARNING: {finding.sentence}")
        else:
            log.info(f"audit ({finding.check}): {finding.sentence}")
