"""The comparison of several systems: text, paired differences, privacy-utility plot and a self-contained HTML page."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from os import PathLike
from pathlib import Path

from markupsafe import Markup

import vpeval
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.editions.base import Rules, rules_for
from vpeval.editions.headline import headline_eer, is_eer, with_one_eer
from vpeval.figures.drawing import model_rank, save
from vpeval.figures.run_results import Entry, Results
from vpeval.figures.scatter import privacy_utility
from vpeval.measures.disclosure import DISCLOSURES
from vpeval.metrics.intervals import RESAMPLES
from vpeval.records.limits import read_limits
from vpeval.records.metrics import OVERVIEW, VERIFICATION, describe, rank
from vpeval.records.names import NO_COST, ORIGINAL, attack_model, remarks, set_title
from vpeval.records.record import Record, write_records
from vpeval.report.audio_samples import Sample, side_by_side
from vpeval.report.number_tables import SYSTEM_FILTERS, numbers, show_range, sort_key
from vpeval.report.page import audit_findings, colour_variables, inline_svg, render
from vpeval.report.verdict import judge
from vpeval.results import significance
from vpeval.results.load import Source, load, read
from vpeval.results.overview import Standing, means, overview, ranking, render_ranking
from vpeval.results.resampled import measured

log = logging.getLogger(__name__)
_UTTERANCES = 2
_BYTES = 2_500_000


@dataclass(frozen=True)
class Compared:
    """The systems to compare: records, differences, ranking and the privacy-utility plot, if there is one."""

    results: Results
    records: Sequence[Record]
    edition: str
    rules: Rules
    differences: Sequence[Record] = ()
    standings: Sequence[Standing] = ()
    plot: Path | None = None


@dataclass(frozen=True)
class SystemCell:
    """A number of the main table. JavaScript sorts by `sort`; `mark` names another condition."""

    value: str
    interval: str
    sort: str
    mark: str = ""


@dataclass(frozen=True)
class SystemRow:
    """A system in the main table: verdict, link to its report, and a cell per column or None."""

    system: str
    verdict: str
    report: str
    warnings: int
    cells: Sequence[SystemCell | None]


@dataclass(frozen=True)
class SystemColumn:
    """The head of a column of the main table; `below` names the attack or recogniser."""

    title: str
    below: str


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
) -> str:
    """Write comparison.txt, index.html, differences.jsonl and privacy_utility.* into `out`; return the text.

    Differences are those of all pairs of systems, or of all systems from `versus`, if both were measured in the same
    way. They need the scores and transcripts of the tables. `data` holds the data directories with the trials.
    """
    given = [one if isinstance(one, Source) else Source(Path(one)) for one in sources]
    records, limit, rules = load(given), read_limits().significance, rules_for(edition)
    parts = [overview(records, edition)]
    found = measured(given, edition)
    systems = dict.fromkeys(one.record.system for one in found)
    if versus and versus not in systems:
        known = ", ".join(systems) or "none"
        raise InputError(f"no scores of system '{versus}' to compare with; there are those of: {known}")
    differences = significance.differences(found, data, versus, resamples, seed)
    if differences:
        write_records(out / "differences.jsonl", differences)
        parts.append(significance.render_differences(differences, limit))
    else:
        (out / "differences.jsonl").unlink(missing_ok=True)  # of an earlier comparison
    standings = ranking(records, rules)
    if standings:
        parts.append(render_ranking(standings, rules))
    plot = _draw(records, edition, rules.classes if rules.edition == edition else (), out)
    compared = Compared(read_results(given, data), records, edition, rules, differences, standings, plot)
    write_text(out / "index.html", comparison_page(compared, out))
    text = "\n".join(parts)
    write_text(out / "comparison.txt", text)
    return text


def _draw(records: Sequence[Record], edition: str, classes: Sequence[float], out: Path) -> Path | None:
    try:
        figure = privacy_utility(records, edition, classes)
    except InputError as error:
        log.warning(f"no plot: {error}")
        return None
    save(figure, out, "privacy_utility")
    return out / "privacy_utility.svg"


def read_results(sources: Iterable[Source], data: Path) -> Results:
    """All records of all files, each number once; published files have no side files."""
    entries: dict[str, Entry] = {}
    paths = []
    for source in sources:
        paths.append(source.path)
        for record in read(source):
            entries.setdefault(record.identity, Entry(record, source.path.parent, attack_model(record)))
    return Results(list(entries.values()), paths, data)


def comparison_page(compared: Compared, out: Path) -> str:
    """The whole page. Links to reports are relative to directory `out`."""
    results, limit = compared.results, read_limits().significance
    names = [name for name in results.systems if name != ORIGINAL]
    averages = means(compared.records)
    tests = [record for record in averages if record.set == "test"]
    shown = with_one_eer(tests or [record for record in averages if record.set == "dev"], compared.edition)
    columns = _columns(shown)
    light, dark = colour_variables()
    planned = [record for record in compared.differences if record.notes["family"] == significance.PLANNED]
    exploratory = [record for record in compared.differences if record.notes["family"] != significance.PLANNED]
    samples = _samples(results, names)
    recipes = sorted({f"recipe {record.recipe}" for record in compared.records if record.recipe})
    return render(
        "comparison.html",
        title=f"{len(names)} systems compared: voice anonymisation",
        overline=" · ".join(["Comparison of anonymisers", *recipes]),
        systems=names,
        partition="test" if tests else "dev",
        light=light,
        dark=dark,
        columns=[_head(column) for column in columns],
        rows=_rows(compared, shown, columns, out),
        # The table of systems has no Cllr; the table of all numbers marks a Cllr that is no cost.
        remarks=remarks(record for record in compared.records if NO_COST not in record.notes),
        plot=_inline_plot(compared.plot),
        planned=[_test(record, limit) for record in planned],
        plan=significance.plan_in_words(planned) if planned else "",
        exploratory=[_test(record, limit) for record in exploratory],
        significance=f"{limit:g}",
        standings=compared.standings,
        rules=compared.rules,
        edition=compared.edition,
        show=_shown,
        describe=describe,
        samples=samples,
        silent=[name for name in names if samples and name not in {version.label for version in samples[0].versions}],
        numbers=numbers(results, SYSTEM_FILTERS),
        version=vpeval.__version__,
    )


def _columns(shown: Sequence[Record]) -> list[Record]:
    """A record of every column: the strongest attack and the words first, then the weaker attacks and other numbers."""
    columns: dict[tuple[str, ...], Record] = {}
    for record in shown:
        if record.system != ORIGINAL and _has_column(record.metric):
            columns.setdefault(_column(record), record)
    attacks = [record for record in columns.values() if is_eer(record.metric)]
    attacks.sort(key=lambda record: (-model_rank(attack_model(record)), record.attacker))
    others = [record for record in columns.values() if not is_eer(record.metric)]
    others.sort(key=lambda record: (record.metric != "wer", rank(record.metric), record.model))
    words = [record for record in others if record.metric == "wer"]
    return [*attacks[:1], *words, *attacks[1:], *others[len(words) :]]


def _has_column(name: str) -> bool:
    """Of the metrics of verification only the EER has columns."""
    metric = describe(name)
    return is_eer(name) or (OVERVIEW in metric.shown and metric.group != VERIFICATION)


def _column(record: Record) -> tuple[str, ...]:
    if is_eer(record.metric):
        return "eer", record.condition, record.attacker
    return record.metric, record.model


def _head(record: Record) -> SystemColumn:
    below = f"{attack_model(record)}, {record.attacker}" if is_eer(record.metric) else record.model
    return SystemColumn(describe(record.metric).label, below)


def _rows(compared: Compared, shown: Sequence[Record], columns: Sequence[Record], out: Path) -> list[SystemRow]:
    results, limits = compared.results, read_limits().verdict
    eer = headline_eer((record.metric for record in shown), compared.edition)
    runs = {path.parent.name: path.parent for path in results.tables}
    rows = []
    for system in results.systems:
        cells = {_column(record): record for record in shown if record.system == system}
        verdict = ""
        if system != ORIGINAL:
            judged = judge(results, system, compared.edition, eer, limits)
            verdict = judged.headline.removeprefix(f"{system} ")
        run = runs.get(system)
        has_report = run and (run / "report.html").is_file()
        rows.append(
            SystemRow(
                system,
                verdict,
                os.path.relpath(run / "report.html", out) if run and has_report else "",
                sum(finding.flagged for finding in audit_findings(run)) if run else 0,
                [_cell(cells, column) for column in columns],
            )
        )
    return rows


def _cell(cells: Mapping[tuple[str, ...], Record], column: Record) -> SystemCell | None:
    """The number of a system in a column; for original speech, the EER of its own condition, which is marked."""
    record, mark = cells.get(_column(column)), ""
    if record is None and is_eer(column.metric):
        record, mark = cells.get(("eer", "oo", column.attacker)), "o-o"
    if record is None:
        return None
    metric = describe(record.metric)
    return SystemCell(metric.typeset(record.value), show_range(record), sort_key(metric.scale * record.value), mark)


def _shown(record: Record) -> str:
    return f"{describe(record.metric).typeset(record.value)} {describe(record.metric).unit}".rstrip()


def _inline_plot(svg: Path | None) -> Markup | None:
    if svg is None or not svg.is_file():
        return None
    return inline_svg(svg.read_text(encoding="utf-8"), "plane", "Privacy against utility of all systems")


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
        return side_by_side(results, audible, _UTTERANCES, _BYTES) if audible else []
    except InputError as error:  # the audio of old tables may be deleted
        log.warning(f"no audio samples: {error}")
        return []
