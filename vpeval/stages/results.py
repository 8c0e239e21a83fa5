"""Stage 11: one table of everything that was measured, and its views: files, LaTeX, figures, report, comparison."""

from __future__ import annotations

import logging
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path

from vpeval.anon.publish import Missing
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.jobs.rehearsal import rehearsing
from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.plan.plan import DATA, Plan
from vpeval.protocols.findings import FILE, UTILITY_FILE
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record, read_records
from vpeval.stages import disclosure, legal, similarity, utility, verification
from vpeval.stages.origin import made_by, with_origin
from vpeval.stages.piece import LIMITS, RECORDS, Piece, refuse_outdated

log = logging.getLogger(__name__)
TABLE = "results.jsonl"
_KINDS = {6: "verification", 7: "voice similarity", 8: "legal metrics", 9: "similarity rank disclosure", 10: "utility"}


def run(plan: Plan) -> None:
    """Collect, then bring every view up to date, and print the summary."""
    if (rehearsal := rehearsing()) and rehearsal.coming:
        rehearsal.consider(plan.run / TABLE, [plan.run / TABLE], "results are made before")
        return
    if not rehearsal:
        collect(plan)
    compared = tables(plan)
    bring_up_to_date(
        [
            (_files_step(plan), lambda out: _write_files(plan)),
            (_figures_step(plan), lambda out: _draw(plan)),
            (_report_step(plan), lambda out: _report(plan)),
            (_comparison_step(plan, compared), lambda out: _compare(plan, compared)),
        ],
        "views of the results",
    )
    if not rehearsal:
        _summarise(plan, compared)


def pieces(plan: Plan) -> list[Piece]:
    """Every result that the plan asks for, those of the original data first."""
    found: list[Piece] = [
        *verification.pieces(plan),
        *similarity.pieces(plan),
        *legal.pieces(plan),
        *disclosure.pieces(plan),
        *utility.pieces(plan),
    ]
    original = plan.run_of(ORIGINAL)
    return sorted(found, key=lambda piece: piece.step.out.parent != original)


def collect(plan: Plan) -> None:
    """Join the records of all results of the plan in one table, which names side files by paths relative to itself.

    A result that was made from something else than it would be made from now belongs to another run and is refused.
    """
    missing: Counter[int] = Counter()
    records = []
    for piece in pieces(plan):
        step = piece.step
        if not step.exists():
            missing[step.stage] += 1
            continue
        step.require()
        refuse_outdated(step.inputs)
        way = os.path.relpath(step.out, plan.run)
        for record in read_records(step.out / RECORDS):
            files = {what: f"{way}/{name}" for what, name in record.files.items()}
            records.append(record.with_files(files) if files else record)
    records = [*with_origin(plan, annotate(plan, records)), *_listened(plan)]
    if missing[6] or not records:
        raise InputError("has no verification results; run stage 6", plan.run)
    for stage, count in sorted(missing.items()):
        log.warning(f"{_KINDS[stage]} is left out: {count} results are missing; stage {stage} makes them")
    table = "".join(record.to_json() + "\n" for record in records)
    if not (plan.run / TABLE).is_file() or (plan.run / TABLE).read_text(encoding="utf-8") != table:
        write_text(plan.run / TABLE, table)


def _listened(plan: Plan) -> list[Record]:
    """What listeners said, if any were asked: a listening test is no stage, and its results do not get out of date."""
    records = []
    for run in dict.fromkeys((plan.run_of(ORIGINAL), plan.run)):
        folder = run / "listening"
        if (folder / RECORDS).is_file():
            way = os.path.relpath(folder, plan.run)
            for record in read_records(folder / RECORDS):
                records.append(record.with_files({what: f"{way}/{name}" for what, name in record.files.items()}))
    return records


def annotate(plan: Plan, records: list[Record]) -> list[Record]:
    """The records with what must be said about them: a rebuilt protocol, missing files, recognisers that fail."""
    from vpeval.anon.publish import read_missing
    from vpeval.corpora.protocol import OFFICIAL, REBUILT, read_protocol
    from vpeval.protocols.utility_audit import with_warnings
    from vpeval.records.remarks import MISSING, PROTOCOL

    statuses = read_protocol(DATA, plan.recipe.recipe)
    missing = {name: read_missing(plan.anonymised(name)) for name in plan.recipe.eval_sets}
    notes: dict[str, dict[str, str]] = {}
    lacks: dict[str, dict[str, str]] = {}
    for name in {record.set for record in records}:
        sets = plan.sets_of(name)
        protocols = {statuses[one].protocol for one in sets if one in statuses}
        told = REBUILT if REBUILT in protocols else OFFICIAL if protocols == {OFFICIAL} else ""
        notes[name] = {PROTOCOL: told} if told else {}
        files, trials = (sum(counts) for counts in zip(*(_counts(missing[one]) for one in sets), strict=True))
        lacks[name] = {MISSING: f"{files} files are missing and {trials} trials left out"} if files else {}
    return with_warnings(
        [
            record.with_notes({**notes[record.set], **({} if record.system == ORIGINAL else lacks[record.set])})
            for record in records
        ]
    )


def _counts(missing: Missing) -> tuple[int, int]:
    return len(missing.utts), missing.trials


def result_files(plan: Plan) -> tuple[str, ...]:
    """The files that the edition has, the first one being the one that people look for."""
    from vpeval.results.editions import EDITIONS

    return EDITIONS[plan.edition]


def _files_step(plan: Plan) -> Step:
    return Step(
        stage=11,
        out=plan.run,
        files=(*result_files(plan), "latex"),
        inputs=(plan.run / TABLE,),
        options={"edition": plan.edition, **plan.ranked},
        code=("vpeval.results.editions", "vpeval.results.load", "vpeval.results.formats.latex_files"),
        stamp=".results.stamp.json",
    )


def _write_files(plan: Plan) -> str:
    from vpeval.results.editions import of_system, render
    from vpeval.results.formats.latex_files import write_latex
    from vpeval.results.load import load

    records = of_system(load([plan.run / TABLE]), plan.system)
    names = result_files(plan)
    for name in names:
        write_text(plan.run / name, render(records, plan.edition, name, **plan.ranked))
    tables = write_latex(records, plan.run / "latex", plan.edition)
    return f"{', '.join(names)} of edition {plan.edition}, {len(tables)} LaTeX tables"


def _training_logs(plan: Plan) -> dict[str, Path]:
    places = {attacker.name: plan.exp / "asv" / attacker.instance(plan.system) for attacker in plan.singles}
    return {name: place / "epochs.jsonl" for name, place in places.items() if (place / "epochs.jsonl").is_file()}


def _figures_step(plan: Plan) -> Step:
    return Step(
        stage=11,
        out=plan.run,
        files=("figures",),
        inputs=(plan.run / TABLE, *_training_logs(plan).values()),
        options={"edition": plan.edition},
        code=("vpeval.figures.catalogue",),
        stamp=".figures.stamp.json",
    )


def _draw(plan: Plan) -> str:
    from vpeval.figures.catalogue import write_figures
    from vpeval.figures.data import load_results

    results = load_results([plan.run / TABLE], training=_training_logs(plan))
    count = write_figures(results, plan.run / "figures", plan.edition)
    return f"{count} figures"


def _report_step(plan: Plan) -> Step:
    return Step(
        stage=11,
        out=plan.run,
        files=("report.html",),
        inputs=(
            plan.run / TABLE,
            *_audits(plan),
            plan.run / "figures",
            Path("vpeval/report/templates"),
            LIMITS,
            Path("conf/published.yaml"),
        ),
        options={"edition": plan.edition, "command": plan.settings.command, "note": plan.recipe.report_note},
        code=("vpeval.report.page",),
        stamp=".report.stamp.json",
    )


def _audits(plan: Plan) -> list[Path]:
    """The audits of a run; that of the recognisers comes with stage 10, if it was run."""
    return [plan.run / FILE, *(path for path in _audits_of([plan.run / TABLE]) if path.name == UTILITY_FILE)]


def _audits_of(compared: Iterable[Path]) -> list[Path]:
    """The audits that lie beside some tables."""
    beside = (table.with_name(name) for table in sorted(compared) for name in (FILE, UTILITY_FILE))
    return [path for path in beside if path.is_file()]


def _report(plan: Plan) -> str:
    from vpeval.figures.data import load_results
    from vpeval.report.page import Context, build
    from vpeval.report.use_case import UseCase

    results = load_results([plan.run / TABLE])
    case = UseCase(plan.settings.population, plan.settings.utterances)
    context = Context(plan.run / "figures", plan.settings.command, plan.recipe.report_note, plan.edition, case)
    page = build(results, context)
    write_text(plan.run / "report.html", page)
    return f"report of {len(results.entries)} numbers, {len(page.encode()) / 1e6:.1f} MB"


def tables(plan: Plan) -> list[Path]:
    """The tables of all systems that were run on this corpus and can be compared with this one, which comes first."""
    from vpeval.results.load import load
    from vpeval.results.overview import refuse_unlike

    found = [plan.run / TABLE]
    for table in sorted(plan.exp.glob(f"runs/*/{TABLE}")):
        if table != found[0]:
            try:
                refuse_unlike(load([*found, table]))
            except InputError as error:
                log.warning(f"{table.parent.name} is left out of the comparison: {error}")
            else:
                found.append(table)
    return found


def _comparison_step(plan: Plan, compared: Sequence[Path]) -> Step:
    return Step(
        stage=11,
        out=plan.exp / "comparison",
        files=("comparison.txt", "index.html"),
        inputs=(*sorted(compared), *_audits_of(compared), Path("vpeval/report/templates"), LIMITS),
        options={"seed": plan.settings.seed, "edition": plan.edition},
        code=("vpeval.results.comparison",),
    )


def _compare(plan: Plan, compared: Sequence[Path]) -> str:
    from vpeval.results.comparison import compare

    # Whichever system was run last, the comparison is the same.
    compare(plan.exp / "comparison", sorted(compared), edition=plan.edition, seed=plan.settings.seed)
    return f"comparison of {len(compared)} systems"


def _summarise(plan: Plan, compared: Sequence[Path]) -> None:
    from vpeval.records.remarks import remarks
    from vpeval.results import summary
    from vpeval.results.load import load

    records = load(compared)
    sys.stdout.write(summary.render(records, plan.edition))
    for remark in remarks([record for record in records if record.system in (ORIGINAL, plan.system)]):
        log.warning(remark)
    first = plan.run / result_files(plan)[0]
    log.info("results: %s, %s, latex/, figures/; all systems: %s", first, TABLE, plan.exp / "comparison/index.html")
    log.info("report:  %s", plan.run / "report.html")
    if made := made_by(plan):
        log.info("data:    made by %s", " ".join(filter(None, (made["anonymiser"], made["anon_options"]))))
