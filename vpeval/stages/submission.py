"""Stage 12: the submission package, packed and checked."""

from __future__ import annotations

import logging
from functools import partial
from pathlib import Path

from vpeval.anon.anonymised_set import read_missing
from vpeval.core.errors import InputError
from vpeval.data.layout import first_few
from vpeval.editions.base import edition_of, of_system, render
from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.plan.plan import Plan
from vpeval.results.load import load
from vpeval.stages.base import require_outputs
from vpeval.stages.origin import made_by, refuse_other_data
from vpeval.stages.results import TABLE, is_verified, ranked_words
from vpeval.submission.archive import LIKENESS, REQUIREMENT
from vpeval.submission.check import check
from vpeval.submission.pack import Contents, pack, read_description

ARCHIVE = "submission.tar.gz"
_SHOWN = 20


def run(plan: Plan) -> None:
    """Pack and check, unless nothing has changed."""
    originals = [plan.original(name) for name in plan.recipe.voice_sets]
    anonymised = [plan.anonymised(name) for name in plan.recipe.voice_sets]
    require_outputs(3, *originals, *anonymised)
    require_outputs(11, plan.run / TABLE)
    if not is_verified(plan):
        logging.warning("no submission package: there are no verification results")
        return
    if incomplete := [name for name in plan.recipe.voice_sets if read_missing(plan.anonymised(name)).utts]:
        logging.warning(f"no submission package: files of {first_few(incomplete)} are missing")
        return
    described = [Path(plan.settings.description)] if plan.settings.description else []
    step = Step(
        stage=12,
        out=plan.run,
        files=(ARCHIVE,),
        inputs=(plan.run / TABLE, *originals, *anonymised, *described),
        options={
            "edition": plan.edition,
            **_notes(plan),
            **plan.ranked,
            "seed": plan.settings.seed,
            "role": plan.settings.role,
        },
        makers=(pack, check, render, *edition_of(plan.edition).makers),
        make=partial(_pack, plan, originals),
        commands=lambda: _commands(plan, originals),
        stamp=".submission.stamp.json",
    )
    bring_up_to_date([step], "submission package")


def _commands(plan: Plan, originals: list[Path]) -> list[list[str]]:
    options = ["--edition", plan.edition, *ranked_words(plan), "--seed", str(plan.settings.seed)]
    options += ["--role", plan.settings.role]
    options += ["--description", plan.settings.description] if plan.settings.description else []
    options += [word for name, value in _notes(plan).items() for word in ("--note", f"{name}={value}")]
    return [["local/make_submission.py", *options, *map(str, (plan.run, plan.run / ARCHIVE, *originals))]]


def _notes(plan: Plan) -> dict[str, str]:
    calibrate = "true" if plan.settings.calibrate else "false"
    return {"anon_level": plan.anon_level, "train_level": plan.train_level, "calibrate": calibrate, **made_by(plan)}


def _pack(plan: Plan, originals: list[Path], out: Path) -> str:
    records = of_system(load([plan.run / TABLE]), plan.system)
    refuse_other_data(plan, records)
    results = {name: render(records, plan.edition, name, **plan.ranked) for name in edition_of(plan.edition).file_names}
    contents = Contents(
        edition=plan.edition,
        system=plan.system,
        run=plan.run,
        data=originals,
        results=results,
        records=records,
        seed=plan.settings.seed,
        description=read_description(Path(plan.settings.description)) if plan.settings.description else None,
        more=_notes(plan),
        shown=plan.ranked,
        role=plan.settings.role,
    )
    archive = plan.run / ARCHIVE
    manifest = pack(contents, archive)
    verdict = check(archive, originals)
    lacking = [problem for problem in verdict.problems if problem.kind in (REQUIREMENT, LIKENESS)]
    wrong = [problem for problem in verdict.problems if problem not in lacking]
    if wrong:
        for problem in wrong[:_SHOWN]:
            logging.error(str(problem))
        raise InputError(f"breaks {len(wrong)} rules of the submission", archive)
    for problem in lacking[:_SHOWN]:
        logging.warning(f"not ready to be submitted: {problem}")
    size = archive.stat().st_size / 1e6
    found = f"{verdict.numbers} numbers recomputed, {len(lacking)} requirements missing"
    return f"{ARCHIVE}: {len(manifest['files'])} files, {size:.1f} MB, edition {plan.edition}, {found}"
