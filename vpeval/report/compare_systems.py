"""The comparison of several systems: text, paired differences, figures and a self-contained HTML page."""

from __future__ import annotations

import logging
import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

import vpeval
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.publish import claim
from vpeval.core.run_names import base_and_seed
from vpeval.editions.base import Rules, rules_for
from vpeval.editions.headline import headline_eer
from vpeval.figures import drawing
from vpeval.figures.catalogue import plots, write_figures
from vpeval.figures.run_results import Entry, Results
from vpeval.figures.scatter import privacy_utility
from vpeval.measures.disclosure import DISCLOSURES
from vpeval.metrics.intervals import RESAMPLES
from vpeval.records.averages import averages, of_all_speakers
from vpeval.records.limits import read_limits
from vpeval.records.metrics import describe
from vpeval.records.names import NO_COST, ORIGINAL, PUBLISHED, attack_model, partition_of, remarks, set_title
from vpeval.records.record import Record, write_records
from vpeval.report.audio_samples import Sample, side_by_side
from vpeval.report.grades import ALL
from vpeval.report.number_tables import SYSTEM_FILTERS, numbers, show_range, sort_key
from vpeval.report.page import InlineFigure, audit_findings, colour_variables, inline_svg, render
from vpeval.report.verdict import Verdict, judge
from vpeval.results import significance
from vpeval.results.comparable import one_run_each
from vpeval.results.load import Source, load_comparable, read_all
from vpeval.results.origins import footnotes, mark
from vpeval.results.overview import Standing, overview, ranking, render_ranking
from vpeval.results.resampled import measured
from vpeval.results.side_by_side import (
    Column,
    Lack,
    OverSeeds,
    columns,
    lacking_attacks,
    over_seeds,
    render_found,
    render_seeds,
)
from vpeval.results.worst import with_choice

log = logging.getLogger(__name__)
FIGURES = "figures"
_FORMATS = ("svg", "pdf")
_PLOT = "privacy_utility"
_FILES = ("comparison.txt", "index.html", "differences.jsonl")
_UTTERANCES = 2
_AUDIO_BYTES = 1_500_000
_FIGURE_BYTES = 2_000_000
_MOST_NUMBERS = 5000
_MOST_TESTS = 500
"""What a page may hold, so that it stays below 5 MB."""


@dataclass(frozen=True)
class Compared:
    """The systems to compare: records, verdicts, columns, differences, ranking and what was left out."""

    results: Results
    records: Sequence[Record]
    edition: str
    rules: Rules
    verdicts: Sequence[Verdict]
    columns: Sequence[Column]
    seeds: Sequence[OverSeeds]
    lacking: Sequence[Lack]
    left_out: Sequence[str]
    differences: Sequence[Record] = ()
    standings: Sequence[Standing] = ()


@dataclass(frozen=True)
class SystemCell:
    """A number of the main table. JavaScript sorts by `sort`; `mark` names another condition."""

    value: str
    interval: str
    sort: str
    mark: str = ""


@dataclass(frozen=True)
class SystemRow:
    """A system in the main table: verdict with its evidence, link to its report, and a cell per column or None."""

    system: str
    verdict: str
    evidence: Sequence[tuple[str, str]]
    grade: str
    published: bool
    report: str
    warnings: int
    cells: Sequence[SystemCell | None]


@dataclass(frozen=True)
class Test:
    """A difference of two systems, as it is shown."""

    systems: str
    metric: str
    data: str
    by: str
    difference: str
    sort: str
    interval: str
    p: str
    p_sort: str
    corrected: str
    reading: str
    significant: bool


def compare(
    out: Path,
    sources: Sequence[Source | str | PathLike[str]],
    edition: str = "2024",
    versus: str = "",
    data: Path = Path("data"),
    resamples: int = RESAMPLES,
    seed: int = 0,
    left_out: Sequence[str] = (),
) -> str:
    """Write comparison.txt, index.html, differences.jsonl, privacy_utility.* and figures/ into `out`; return the text.

    Differences are those of all pairs of systems, or of all systems from `versus`, if both were measured in the same
    way. They need the scores and transcripts of the tables. `data` holds the data directories with the trials.
    `left_out` are sentences about what is not compared, besides those about numbers that are not alike. The verdict on
    a system rests on these numbers, too. Of a system that was run with several seeds one run is compared, and all of
    them have a table of means.
    """
    given = [one if isinstance(one, Source) else Source(Path(one)) for one in sources]
    alike, limit, rules = load_comparable(given), read_limits().significance, rules_for(edition)
    runs = {ORIGINAL, *one_run_each(record.system for record in alike.records if record.system != ORIGINAL)}
    records = [record for record in alike.records if record.system in runs]
    everything = {record.identity: (record, path) for record, path in reversed(read_all(given))}
    tables = {identity: path for identity, (_, path) in everything.items()}
    measurements = [record for record, _ in reversed(everything.values())]
    found = measured(((record, tables[record.identity]) for record in records), edition)
    systems = dict.fromkeys(one.record.system for one in found)
    if versus and versus not in systems:
        known = ", ".join(systems) or "none"
        raise InputError(f"no scores of system '{versus}' to compare with; there are those of: {known}")
    entries = [Entry(record, tables[record.identity].parent, attack_model(record)) for record in records]
    results = Results(entries, [source.path for source in given], data)
    compared = Compared(
        results,
        records,
        edition,
        rules,
        _verdicts(measurements, edition, runs),
        columns(records, edition),
        over_seeds(alike.records, edition),
        lacking_attacks(measurements, edition),
        [*left_out, *alike.left_out],
        significance.differences(found, data, versus, resamples, seed),
        ranking(records, rules),
    )
    claim(out, [*_FILES, *(f"{_PLOT}.{kind}" for kind in drawing.FORMATS)])
    if compared.differences:
        write_records(out / "differences.jsonl", compared.differences)
    else:
        (out / "differences.jsonl").unlink(missing_ok=True)  # of an earlier comparison
    plot = _draw(records, edition, rules.classes if rules.edition == edition else (), out)
    write_text(out / "index.html", comparison_page(compared, plot, _figures(results, edition, out), out))
    text = "\n".join(_text(compared, limit))
    write_text(out / "comparison.txt", text)
    return text


def _verdicts(records: Sequence[Record], edition: str, runs: Collection[str]) -> list[Verdict]:
    """The verdict on every system that was run, by all attackers that attacked it; none on published numbers.

    Of several seeds it is the worst verdict, under the name of the one that is among `runs`.
    """
    limits = read_limits().verdict
    own = [record for record in records if PUBLISHED not in record.notes]
    results = Results([Entry(record, Path(), attack_model(record)) for record in own], [], Path())
    eer = headline_eer((record.metric for record in own), edition)
    systems = dict.fromkeys(record.system for record in own if record.system != ORIGINAL)
    judged: dict[str, list[Verdict]] = {}
    for name in systems:
        judged.setdefault(base_and_seed(name)[0], []).append(judge(results, name, edition, eer, limits))
    found = []
    for verdicts in judged.values():
        worst = min(verdicts, key=lambda one: (one.grades is None, one.grades or ALL, one.system not in runs))
        shown = next(one.system for one in verdicts if one.system in runs)
        seed = f" (seed {base_and_seed(worst.system)[1]})" if worst.system != shown else ""
        found.append(replace(worst, system=shown, short=worst.short + seed))
    return found


def _text(compared: Compared, limit: float) -> list[str]:
    """The parts of comparison.txt."""
    parts, lines = [], ["Verdicts"]
    for verdict in compared.verdicts:
        lines += [f"{verdict.system}: {verdict.short}", *(f"  {one}: {grade}" for one, grade in verdict.evidence)]
    lines += [f"{lack.sentence} Run {lack.command}" for lack in compared.lacking]
    if compared.verdicts:
        parts.append("".join(f"{line}\n" for line in lines))
    parts.append(overview(compared.records, compared.edition))
    if found := [column for column in compared.columns if _is_found(column)]:
        parts.append(f"Speakers found, by the same attack for all systems\n{render_found(found)}")
    if compared.seeds:
        parts.append(render_seeds(compared.seeds))
    if compared.differences:
        parts.append(significance.render_differences(compared.differences, limit))
    if compared.standings:
        parts.append(render_ranking(compared.standings, compared.rules))
    for title, sentences in (("Remarks", _remarks(compared)), ("Left out", compared.left_out)):
        if sentences:
            parts.append(f"{title}\n" + "".join(f"{sentence}\n" for sentence in sentences))
    return parts


def _is_found(column: Column) -> bool:
    return any("L" in record.params for record in column.of.values())


def _remarks(compared: Compared) -> list[str]:
    """Remarks on the numbers; the table of all numbers marks a Cllr that is no cost."""
    return remarks(record for record in compared.records if NO_COST not in record.notes)


def _draw(records: Sequence[Record], edition: str, classes: Sequence[float], out: Path) -> InlineFigure | None:
    try:
        figure = privacy_utility(records, edition, classes)
    except InputError as error:
        log.warning(f"no plot: {error}")
        return None
    drawing.save(figure, out, _PLOT)
    title = "Privacy against utility of all systems"
    svg = (out / f"{_PLOT}.svg").read_text(encoding="utf-8")
    return InlineFigure("plane", title, "", inline_svg(svg, "plane", title))


def _figures(results: Results, edition: str, out: Path) -> list[InlineFigure]:
    """The figures of all systems; those that do not fit into the page have no drawing there."""
    try:
        write_figures(results, out / FIGURES, edition, _FORMATS, many=True)
    except InputError as error:
        log.warning(f"no figures: {error}")
        return []
    shown, size = [], 0
    for plot in (plot for plot in plots(results) if plot.many):
        path = out / FIGURES / f"{plot.name}.svg"
        if not path.is_file():
            continue
        drawing = inline_svg(path.read_text(encoding="utf-8"), plot.name, plot.title)
        fits = size + len(drawing) <= _FIGURE_BYTES
        size += len(drawing) if fits else 0
        shown.append(InlineFigure(plot.name, plot.title, plot.caption(edition), drawing if fits else None))
    return shown


def comparison_page(compared: Compared, plot: InlineFigure | None, figures: Sequence[InlineFigure], out: Path) -> str:
    """The whole page. Links to reports and figures are relative to directory `out`."""
    results, limit = compared.results, read_limits().significance
    names = [name for name in results.systems if name != ORIGINAL]
    light, dark = colour_variables()
    planned = [record for record in compared.differences if record.notes["family"] == significance.PLANNED]
    exploratory = [record for record in compared.differences if record.notes["family"] != significance.PLANNED]
    samples = _samples(results, names)
    recipes = sorted({f"recipe {record.recipe}" for record in compared.records if record.recipe})
    shown = [record for column in compared.columns for record in column.of.values()]
    in_full = len(results.entries) <= _MOST_NUMBERS
    return render(
        "comparison.html",
        title=f"{len(names)} systems compared: voice anonymisation",
        overline=" · ".join(["Comparison of anonymisers", *recipes]),
        systems=names,
        partition="dev" if any(record.set == "dev" for record in shown) else "test",
        light=light,
        dark=dark,
        columns=compared.columns,
        rows=_rows(compared, out),
        has_verdicts=bool(compared.verdicts),
        footnotes=footnotes(shown),
        lacking=compared.lacking,
        remarks=_remarks(compared),
        left_out=compared.left_out,
        plot=plot,
        figures=figures,
        seeds=_seed_table(compared.seeds),
        planned=[_test(record, limit) for record in planned],
        plan=significance.plan_in_words(planned) if planned else "",
        exploratory=[_test(record, limit) for record in exploratory[:_MOST_TESTS]],
        further_tests=max(0, len(exploratory) - _MOST_TESTS),
        significance=f"{limit:g}",
        standings=compared.standings,
        rules=compared.rules,
        edition=compared.edition,
        show=_shown,
        describe=describe,
        samples=samples,
        silent=[name for name in names if samples and name not in {version.label for version in samples[0].versions}],
        numbers=numbers(results if in_full else _averaged(results), SYSTEM_FILTERS),
        in_full=in_full,
        version=vpeval.__version__,
    )


def _averaged(results: Results) -> Results:
    """The means over the test sets alone: the numbers of all sets of many systems would be a page of many megabytes.

    Where these are many as well, numbers among few speakers and those that no other table shows are left out.
    """
    own = [record for record in of_all_speakers(results.records) if partition_of(record.set) != "dev"]
    found = with_choice(averages(own), own)
    if len(found) > _MOST_NUMBERS:
        most: dict[str, int] = {}
        for record in found:
            most[record.metric] = max(most.get(record.metric, 0), record.params.get("N", 0))
        found = [r for r in found if describe(r.metric).shown and r.params.get("N", 0) == most[r.metric]]
    return replace(results, entries=[Entry(record, Path(), attack_model(record)) for record in found])


def _rows(compared: Compared, out: Path) -> list[SystemRow]:
    runs = {path.parent.name: path.parent for path in compared.results.tables}
    verdicts = {verdict.system: verdict for verdict in compared.verdicts}
    published = set(compared.results.systems) - {r.system for r in compared.records if PUBLISHED not in r.notes}
    rows = []
    for system in compared.results.systems:
        verdict, run = verdicts.get(system), runs.get(system)
        has_report = run and (run / "report.html").is_file()
        rows.append(
            SystemRow(
                system,
                verdict.short if verdict else "",
                verdict.evidence if verdict else (),
                f"{verdict.grades.worst}.{verdict.grades.best}" if verdict and verdict.grades else "",
                system in published,
                os.path.relpath(run / "report.html", out) if run and has_report else "",
                sum(finding.flagged for finding in audit_findings(run)) if run else 0,
                [_cell(column, system) for column in compared.columns],
            )
        )
    return rows


def _cell(column: Column, system: str) -> SystemCell | None:
    """The number of a system in a column; original speech has it in its own condition, which is marked."""
    record = column.of.get(system)
    if record is None:
        return None
    metric = describe(record.metric)
    other = "o-o" if record.condition == "oo" else ""
    value = f"{metric.typeset(record.value)}{mark(record)}"
    return SystemCell(value, show_range(record), sort_key(metric.scale * record.value), other)


@dataclass(frozen=True)
class SeedTable:
    """Means over seeds: a row per system, with `(mean, standard deviation, seeds)` or None in every column."""

    columns: Sequence[Column]
    rows: Sequence[tuple[str, Sequence[OverSeeds | None]]]


def _seed_table(found: Sequence[OverSeeds]) -> SeedTable | None:
    if not found:
        return None
    heads = {(one.column.title, one.column.way): one.column for one in found}
    cells = {(one.system, one.column.title, one.column.way): one for one in found}
    systems = dict.fromkeys(one.system for one in found)
    return SeedTable(
        list(heads.values()), [(system, [cells.get((system, *key)) for key in heads]) for system in systems]
    )


def _shown(record: Record) -> str:
    return f"{describe(record.metric).typeset(record.value)} {describe(record.metric).unit}".rstrip()


def _test(record: Record, limit: float) -> Test:
    name = significance.base_metric(record)
    metric = describe(name)
    p, corrected = record.notes.get("p_value"), record.notes.get("p_holm")
    significant = corrected is not None and corrected < limit
    other = str(record.params["versus"])
    better = record.system if metric.better * record.value > 0 else other
    quality = "more private" if metric.aspect == "privacy" else "more useful"
    return Test(
        systems=f"{record.system} − {other}",
        metric=f"{metric.label}, {record.params['estimator']}" if name in DISCLOSURES else metric.label,
        data=record.set if record.set in ("test", "dev") else set_title(record.set),
        by=", ".join(filter(None, (attack_model(record), record.model))),
        difference=significance.show_difference(replace(record, lower=None, upper=None)).replace("-", "−"),
        sort=sort_key(metric.scale * record.value),
        interval=show_range(record),
        p="" if p is None else significance.show_p(p),
        p_sort="" if p is None else sort_key(p),
        corrected="" if corrected is None else significance.show_p(corrected),
        reading=f"{better} is {quality}" if significant else "no difference shown",
        significant=significant,
    )


def _samples(results: Results, names: Sequence[str]) -> list[Sample]:
    """The same utterances of all systems that have audio."""
    sets = dict.fromkeys(entry.record.set for entry in results.entries if entry.attack_model)
    audible = {
        name: name for name in names if any((results.data / f"{one}_{name}" / "wav.scp").is_file() for one in sets)
    }
    try:
        return side_by_side(results, audible, _UTTERANCES, _AUDIO_BYTES) if audible else []
    except InputError as error:  # the audio of old tables may be deleted
        log.warning(f"no audio samples: {error}")
        return []
