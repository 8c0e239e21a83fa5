"""Stage 11: one table of everything that was measured, and its views: files, LaTeX, figures, report, comparison."""

from __future__ import annotations

import hashlib
import logging
import os
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from vpeval.anon.anonymised_set import Missing
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.lazy import Deferred
from vpeval.core.publish import adopt
from vpeval.editions.base import edition_of, of_system, render, shared_files, unranked
from vpeval.jobs.dry_run import current_dry_run
from vpeval.jobs.stamps import accepted_code
from vpeval.jobs.steps import Step, bring_up_to_date
from vpeval.measures.audit import FILE, UTILITY_FILE
from vpeval.measures.base import RECORDS
from vpeval.plan.plan import Plan, published_editions
from vpeval.records.metrics import known_metrics
from vpeval.records.names import ACCEPTED_CODE, ORIGINAL, remarks
from vpeval.records.record import Record, read_records
from vpeval.results.latex import write_latex
from vpeval.results.load import load
from vpeval.stages.base import LIMITS, data_words, refuse_outdated, results, step_of, why_left_out
from vpeval.stages.origin import made_by, with_origin

log = logging.getLogger(__name__)
TABLE = "results.jsonl"
BASELINES = Path("conf/published")
WRITE_FIGURES = Deferred("vpeval.figures.catalogue", "write_figures")
BUILD_REPORT = Deferred("vpeval.report.page", "build")
COMPARE = Deferred("vpeval.report.compare_systems", "compare")
"""Views that take long to import, as they draw."""
_KINDS = {6: "verification", 7: "voice similarity", 8: "legal metrics", 9: "similarity rank disclosure", 10: "utility"}


def run(plan: Plan) -> None:
    """Collect, then bring every view up to date, and print the summary."""
    if (dry_run := current_dry_run()) and dry_run.coming:
        dry_run.consider(plan.run / TABLE, [plan.run / TABLE], "results are made before")
        return
    if not dry_run:
        collect(plan)
        if not is_verified(plan):
            log.warning(
                "%s has no verification results, which the files of the challenge, figures, report and comparison are "
                "about; its numbers are in %s", plan.system, plan.run / TABLE,
            )  # fmt: skip
            _summarise(plan)
            return
    found = tables(plan)
    compared = [table for table, reason in found.items() if not reason]
    left_out = [reason for reason in found.values() if reason]
    bring_up_to_date(
        [
            _files_step(plan),
            _figures_step(plan),
            _report_step(plan),
            _comparison_step(plan, compared, left_out),
        ],
        "views of the results",
    )
    if not dry_run:
        _summarise(plan)


def collect(plan: Plan) -> None:
    """Join the records of all results of the plan in one table, which names side files by paths relative to itself.

    A result that was made from something else than it would be made from now belongs to another run and is refused.
    """
    missing: Counter[int] = Counter()
    records = []
    original = plan.run_of(ORIGINAL)
    measured = [result for result in results(plan) if RECORDS in result.files]
    for result in sorted(measured, key=lambda result: result.out.parent != original):
        step = step_of(result)
        if not step.exists():
            missing[step.stage] += 1
            continue
        step.require()
        refuse_outdated(step.inputs)
        if reason := why_left_out(step.out):
            log.warning("%s has no numbers: %s", step.out, reason)
        way = os.path.relpath(step.out, plan.run)
        accepted = sorted(accepted_code(step.out))
        for record in read_records(step.out / RECORDS):
            files = {what: f"{way}/{name}" for what, name in record.files.items()}
            record = record.with_files(files) if files else record
            records.append(record.with_notes({ACCEPTED_CODE: ", ".join(accepted)}) if accepted else record)
    records = [*with_origin(plan, annotate(plan, records)), *_listened(plan)]
    if missing[6] or not records:
        raise InputError("has no verification results; run stage 6", plan.run)
    for stage, count in sorted(missing.items()):
        log.warning(f"{_KINDS[stage]} is left out: {count} results are missing; stage {stage} makes them")
    table = "".join(record.to_json() + "\n" for record in records)
    if not (plan.run / TABLE).is_file() or (plan.run / TABLE).read_text(encoding="utf-8") != table:
        write_text(plan.run / TABLE, table)


def is_verified(plan: Plan) -> bool:
    """Whether a table has numbers of speaker verification: a corpus of one speaker has none."""
    return any(record.attacker == plan.main.name for record in read_records(plan.run / TABLE))


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
    """The records with what must be said about them.

    That is a rebuilt protocol, missing files, recognisers that fail, and that the challenge cannot rank the system.
    """
    from vpeval.anon.anonymised_set import read_missing
    from vpeval.corpora.protocol import OFFICIAL, REBUILT, read_protocol
    from vpeval.measures.audit import with_warnings
    from vpeval.records.names import LEFT_OUT, MISSING, PROTOCOL, UNRANKED

    statuses = read_protocol(plan.data, plan.recipe.recipe)
    missing = {name: read_missing(plan.anonymised(name)) for name in plan.recipe.eval_sets}
    notes: dict[str, dict[str, str]] = {}
    missing_notes: dict[str, dict[str, str]] = {}
    own = {LEFT_OUT: f"{', '.join(plan.left_out)} (--without)"} if plan.left_out else {}
    if why := unranked(records, plan.edition).get(plan.system):
        own[UNRANKED] = why
    for name in {record.set for record in records}:
        sets = plan.sets_of(name)
        protocols = {statuses[one].protocol for one in sets if one in statuses}
        protocol = REBUILT if REBUILT in protocols else OFFICIAL if protocols == {OFFICIAL} else ""
        notes[name] = {PROTOCOL: protocol} if protocol else {}
        files, trials = (sum(counts) for counts in zip(*(_counts(missing[one]) for one in sets), strict=True))
        missing_notes[name] = {MISSING: f"{files} files are missing and {trials} trials left out"} if files else {}
    return with_warnings(
        [
            record.with_notes(
                notes[record.set] | ({} if record.system == ORIGINAL else own | missing_notes[record.set])
            )
            for record in records
        ]
    )


def _counts(missing: Missing) -> tuple[int, int]:
    return len(missing.utts), missing.trials


def _descriptions() -> dict[str, str]:
    """A digest of the descriptions of all metrics, which views show."""
    described = repr(list(known_metrics().values()))
    return {"metrics": hashlib.sha256(described.encode()).hexdigest()}


def result_files(plan: Plan) -> tuple[str, ...]:
    """The files that the edition has, the first one being the one that people look for, and those of every edition."""
    return (*edition_of(plan.edition).file_names, *(file.name for file in shared_files()))


def _files_step(plan: Plan) -> Step:
    return Step(
        stage=11,
        out=plan.run,
        files=(*result_files(plan), "latex"),
        inputs=(plan.run / TABLE,),
        options={"edition": plan.edition, **plan.ranked, **_descriptions()},
        makers=(render, load, write_latex, *edition_of(plan.edition).makers),
        make=partial(_write_files, plan),
        commands=lambda: _file_commands(plan),
        stamp=".results.stamp.json",
    )


def _file_commands(plan: Plan) -> list[list[str]]:
    edition, table = ["--edition", plan.edition], str(plan.run / TABLE)
    options = [*edition, "--system", plan.system, *ranked_words(plan)]
    files = [["local/write_results.py", *options, table, str(plan.run / name)] for name in result_files(plan)]
    latex = ["--asv-eval", plan.main.name, "--out-dir", str(plan.run / "latex")]
    return [*files, ["local/results_to_latex.py", *edition, *latex, table]]


def ranked_words(plan: Plan) -> list[str]:
    """The options of scripts for whose numbers a result file shows."""
    flags = {"attacker": "--attacker", "asv_eval": "--asv-eval", "text_rules": "--normalizer"}
    return [word for name, value in plan.ranked.items() for word in (flags[name], value)]


def _write_files(plan: Plan, out: Path) -> str:
    records = of_system(load([plan.run / TABLE]), plan.system)
    names = result_files(plan)
    for name in names:
        write_text(out / name, render(records, plan.edition, name, **plan.ranked))
    adopt(out / "latex")
    tables = write_latex(records, out / "latex", plan.edition, asv_eval=plan.main.name)
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
        options={"edition": plan.edition, **_descriptions()},
        makers=(WRITE_FIGURES, *edition_of(plan.edition).makers),
        make=partial(_draw, plan),
        commands=lambda: [_figures_command(plan)],
        stamp=".figures.stamp.json",
    )


def _figures_command(plan: Plan) -> list[str]:
    logs = [word for name, path in _training_logs(plan).items() for word in ("--training-log", f"{name}={path}")]
    options = [*data_words(plan, "--data-dir"), "--edition", plan.edition, *logs]
    return ["local/plot_figures.py", *options, str(plan.run), str(plan.run / "figures")]


def _draw(plan: Plan, out: Path) -> str:
    from vpeval.figures.run_results import load_results

    found = load_results([plan.run / TABLE], plan.data, _training_logs(plan))
    count = WRITE_FIGURES.load()(found, out / "figures", plan.edition)
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
            BASELINES,
        ),
        options={
            "edition": plan.edition,
            "command": plan.settings.command,
            "note": plan.recipe.report_note,
            "case": (plan.settings.population, plan.settings.utterances),
            **_descriptions(),
        },
        makers=(BUILD_REPORT, *edition_of(plan.edition).makers),
        make=partial(_report, plan),
        commands=lambda: [_report_command(plan)],
        stamp=".report.stamp.json",
    )


def _audits(plan: Plan) -> list[Path]:
    """The audits of a run; that of the recognisers comes with stage 10, if it was run."""
    return [plan.run / FILE, *(path for path in _audits_of([plan.run / TABLE]) if path.name == UTILITY_FILE)]


def _audits_of(compared: Iterable[Path]) -> list[Path]:
    """The audits of some tables, in the same directories."""
    found = (table.with_name(name) for table in sorted(compared) for name in (FILE, UTILITY_FILE))
    return [path for path in found if path.is_file()]


def _report_command(plan: Plan) -> list[str]:
    settings = plan.settings
    options = {"edition": plan.edition, "command-line": settings.command, "note": plan.recipe.report_note}
    options |= {"population": str(settings.population or ""), "utterances": str(settings.utterances or "")}
    words = [*data_words(plan, "--data-dir"), *(f"--{name}={value}" for name, value in options.items() if value)]
    return ["local/make_report.py", *words, str(plan.run), str(plan.run / "report.html")]


def _report(plan: Plan, out: Path) -> str:
    from vpeval.figures.run_results import load_results
    from vpeval.report.legal_criteria import UseCase
    from vpeval.report.page import Context

    found = load_results([plan.run / TABLE], plan.data)
    case = UseCase(plan.settings.population, plan.settings.utterances)
    context = Context(plan.run / "figures", plan.settings.command, plan.recipe.report_note, plan.edition, case)
    page = BUILD_REPORT.load()(found, context)
    write_text(out / "report.html", page)
    return f"report of {len(found.entries)} numbers, {len(page.encode()) / 1e6:.1f} MB"


def tables(plan: Plan) -> dict[Path, str]:
    """The tables of all systems that were run on this corpus, and why one cannot be compared, or nothing."""
    found = {plan.run / TABLE: ""}
    for table in sorted(plan.exp.glob(f"runs/*/{TABLE}")):
        if table not in found:
            try:
                load([table])
            except InputError as error:
                found[table] = f"{table.parent.name} is left out: {error}"
            else:
                found[table] = ""
    return found


def _comparison_step(plan: Plan, compared: Sequence[Path], left_out: Sequence[str]) -> Step:
    return Step(
        stage=11,
        out=plan.exp / "comparison",
        files=("comparison.txt", "index.html"),
        inputs=(*_sources(plan, compared), *_audits_of(compared), Path("vpeval/report/templates"), LIMITS),
        options={
            "resamples": plan.settings.bootstrap,
            "edition": plan.edition,
            "left_out": left_out,
            **_descriptions(),
        },
        makers=(COMPARE, *edition_of(plan.edition).makers),
        make=partial(_compare, plan, compared, left_out),
        commands=lambda: [_comparison_command(plan, compared)],
    )


def _sources(plan: Plan, compared: Sequence[Path]) -> list[Path]:
    """The tables to compare, whichever system was run last, and published baselines."""
    return [*sorted(compared), *(BASELINES / f"{edition}.yaml" for edition in published_editions(plan.settings))]


def _comparison_command(plan: Plan, compared: Sequence[Path]) -> list[str]:
    settings = plan.settings
    options = [*data_words(plan, "--data"), "--edition", plan.edition, "--bootstrap", str(settings.bootstrap)]
    options += [f"--published={edition}" for edition in published_editions(settings)]
    return ["local/compare.py", *options, str(plan.exp / "comparison"), *map(str, sorted(compared))]


def _compare(plan: Plan, compared: Sequence[Path], left_out: Sequence[str], out: Path) -> str:
    # It is the same for all seeds, as it holds the systems of all of them.
    options = {"edition": plan.edition, "data": plan.data, "resamples": plan.settings.bootstrap, "left_out": left_out}
    adopt(out)
    COMPARE.load()(out, _sources(plan, compared), **options)
    return f"comparison of {len(compared)} systems"


def _summarise(plan: Plan) -> None:
    """Print all numbers of the system under test; how it compares with others is another view."""
    from vpeval.results import summary

    records = load([plan.run / TABLE])
    sys.stdout.write(summary.render(records, plan.edition))
    for remark in remarks(records):
        log.warning(remark)
    if not is_verified(plan):
        return
    first = plan.run / result_files(plan)[0]
    log.info("results: %s, %s, latex/, figures/; all systems: %s", first, TABLE, plan.exp / "comparison/index.html")
    log.info("report:  %s", plan.run / "report.html")
    if made := made_by(plan):
        log.info("data:    made by %s", " ".join(filter(None, (made["anonymiser"], made["anon_options"]))))
