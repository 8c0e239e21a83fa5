"""The comparison page: all systems of a corpus in one HTML file that needs nothing else but links to their reports."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from markupsafe import Markup

import vpeval
from vpeval.core.errors import InputError
from vpeval.figures.data import Entry, Results
from vpeval.figures.style import model_rank
from vpeval.records.attacks import attack_model
from vpeval.records.costs import NO_COST
from vpeval.records.metrics import describe, rank
from vpeval.records.names import ORIGINAL, set_title
from vpeval.records.record import Record
from vpeval.records.remarks import remarks
from vpeval.report.listen import Sample, side_by_side
from vpeval.report.numbers import OF_SYSTEMS, numbers
from vpeval.report.page import audit_findings, colour_variables, inline_svg
from vpeval.report.templating import render
from vpeval.report.verdict import judge
from vpeval.results.headline import EERS, headline_eer, with_one_eer
from vpeval.results.limits import Limits, read_limits
from vpeval.results.load import Source, read
from vpeval.results.overview import means
from vpeval.results.ranking import Standing
from vpeval.results.resampled import DISCLOSURES
from vpeval.results.significance import PLANNED, base_metric, plan_in_words, show_difference, show_p

log = logging.getLogger(__name__)
_UTILITY = ("deid", "wer", "uar", "pitch_correlation", "g_vd")
_UTTERANCES = 2
_BYTES = 2_500_000


@dataclass(frozen=True)
class Cell:
    """A number of the main table; `sort` is for JavaScript to order by, `mark` says where it is another condition's."""

    value: str
    interval: str
    sort: str
    mark: str = ""


@dataclass(frozen=True)
class Line:
    """A system in the main table: verdict, link to its report, and a cell per column, None where there is no number."""

    system: str
    verdict: str
    report: str
    warnings: int
    cells: Sequence[Cell | None]


@dataclass(frozen=True)
class Column:
    """A column of the main table; the EERs of an attack have its name and attacker below."""

    title: str
    below: str


@dataclass(frozen=True)
class Test:
    """A difference in words and numbers."""

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


@dataclass(frozen=True)
class Compared:
    """What was found out about the systems: records, differences, ranking and the drawn plane, as far as they are."""

    records: Sequence[Record]
    differences: Sequence[Record] = ()
    standings: Sequence[Standing] = ()
    plane: Path | None = None


def build(sources: Sequence[Source], compared: Compared, out: Path, data: Path, edition: str) -> str:
    """The whole page, which is to lie in directory `out`: links to reports are relative to it."""
    limits = read_limits()
    results = read_results(sources, data)
    names = [name for name in results.systems if name != ORIGINAL]
    tests = [record for record in means(compared.records) if record.set == "test"]
    partition = "test" if tests else "dev"
    shown = with_one_eer(tests or [r for r in means(compared.records) if r.set == "dev"], edition)
    columns = _columns(shown)
    light, dark = colour_variables()
    planned = [record for record in compared.differences if record.notes["family"] == PLANNED]
    heard = _audible(results, names)
    return render(
        "comparison.html",
        title=f"{len(names)} systems compared: voice anonymisation",
        overline=" · ".join(
            ["Comparison of anonymisers", *sorted({f"recipe {r.recipe}" for r in compared.records if r.recipe})]
        ),
        systems=names,
        partition=partition,
        light=light,
        dark=dark,
        columns=[_head(column) for column in columns],
        lines=_lines(results, shown, columns, out, edition, limits),
        # Of Cllr nothing is on top of the page; the numbers below say where it is no cost.
        remarks=remarks(record for record in compared.records if NO_COST not in record.notes),
        plane=_plane(compared.plane),
        planned=[_test(record, limits.significance) for record in planned],
        plan=plan_in_words(planned) if planned else "",
        exploratory=[_test(r, limits.significance) for r in compared.differences if r.notes["family"] != PLANNED],
        significance=f"{limits.significance:g}",
        standings=compared.standings,
        rules=limits.rules_for(edition),
        edition=edition,
        show=_shown,
        describe=describe,
        samples=heard,
        silent=[name for name in names if heard and name not in {take.label for take in heard[0].takes}],
        numbers=numbers(results, OF_SYSTEMS),
        version=vpeval.__version__,
    )


def read_results(sources: Iterable[Source], data: Path) -> Results:
    """All records of all files, each number once; published files have no side files."""
    entries: dict[str, Entry] = {}
    paths = []
    for source in sources:
        paths.append(source.path)
        for record in read(source):
            entries.setdefault(record.identity, Entry(record, source.path.parent, attack_model(record)))
    return Results(list(entries.values()), paths, data)


def _columns(shown: Sequence[Record]) -> list[Record]:
    """A record of every column: the strongest attack and the words first, then the weaker attacks and other numbers."""
    columns: dict[tuple[str, ...], Record] = {}
    for record in shown:
        if record.system != ORIGINAL and record.metric in (*EERS, *_UTILITY):
            columns.setdefault(_column(record), record)
    attacks = [record for record in columns.values() if record.metric in EERS]
    attacks.sort(key=lambda record: (-model_rank(attack_model(record)), record.attacker))
    others = [record for record in columns.values() if record.metric not in EERS]
    others.sort(key=lambda record: (record.metric != "wer", rank(record.metric), record.attacker))
    words = [record for record in others if record.metric == "wer"]
    return [*attacks[:1], *words, *attacks[1:], *others[len(words) :]]


def _column(record: Record) -> tuple[str, ...]:
    if record.metric in EERS:
        return "eer", record.condition, record.attacker
    return record.metric, record.attacker


def _head(record: Record) -> Column:
    below = f"{attack_model(record)}, {record.attacker}" if record.metric in EERS else record.attacker
    return Column(describe(record.metric).label, below)


def _lines(
    results: Results, shown: Sequence[Record], columns: Sequence[Record], out: Path, edition: str, limits: Limits
) -> list[Line]:
    eer = headline_eer((record.metric for record in shown), edition)
    runs = {path.parent.name: path.parent for path in results.tables}
    lines = []
    for system in results.systems:
        cells = {_column(record): record for record in shown if record.system == system}
        run = runs.get(system, Path())
        report = run / "report.html"
        lines.append(
            Line(
                system,
                "" if system == ORIGINAL else _verdict(results, system, edition, eer, limits),
                os.path.relpath(report, out) if run != Path() and report.is_file() else "",
                sum(finding.flagged for finding in audit_findings(run)) if run != Path() else 0,
                [_cell(cells, column) for column in columns],
            )
        )
    return lines


def _verdict(results: Results, system: str, edition: str, eer: str, limits: Limits) -> str:
    return judge(results, system, edition, eer, limits.verdict).headline.removeprefix(f"{system} ")


def _cell(cells: Mapping[tuple[str, ...], Record], column: Record) -> Cell | None:
    """The number of a system in a column; original speech has an EER of its own condition there, which is marked."""
    record, mark = cells.get(_column(column)), ""
    if record is None and column.metric in EERS:
        record, mark = cells.get(("eer", "oo", column.attacker)), "o-o"
    if record is None:
        return None
    metric = describe(record.metric)
    return Cell(metric.typeset(record.value), _interval(record), repr(float(metric.scale * record.value)), mark)


def _interval(record: Record) -> str:
    if record.lower is None or record.upper is None:
        return ""
    metric = describe(base_metric(record))
    return f"{metric.typeset(record.lower)} – {metric.typeset(record.upper)}"


def _shown(record: Record) -> str:
    return f"{describe(record.metric).typeset(record.value)} {describe(record.metric).unit}".rstrip()


def _plane(svg: Path | None) -> Markup | None:
    if svg is None or not svg.is_file():
        return None
    return inline_svg(svg.read_text(encoding="utf-8"), "plane", "Privacy against utility of all systems")


def _test(record: Record, significance: float) -> Test:
    metric = describe(base_metric(record))
    p, corrected = record.notes.get("p_value"), record.notes.get("p_holm")
    significant = corrected is not None and corrected < significance
    other = str(record.params["versus"])
    better = record.system if metric.better * record.value > 0 else other
    kind = "more private" if metric.aspect == "privacy" else "more useful"
    return Test(
        systems=f"{record.system} − {other}",
        metric=f"{metric.label}, {record.params['estimator']}" if base_metric(record) in DISCLOSURES else metric.label,
        data=record.set if record.set in ("test", "dev") else set_title(record.set),
        by=", ".join(filter(None, (attack_model(record), record.attacker))),
        difference=show_difference(replace(record, lower=None, upper=None)).replace("-", "−"),
        sort=repr(float(metric.scale * record.value)),
        interval=_interval(record),
        p="" if p is None else show_p(p),
        p_sort="" if p is None else repr(float(p)),
        corrected="" if corrected is None else show_p(corrected),
        reading=f"{better} is {kind}" if significant else "no difference shown",
        significant=significant,
    )


def _audible(results: Results, names: Sequence[str]) -> list[Sample]:
    """The same utterances through all systems whose audio is at hand."""
    sets = dict.fromkeys(e.record.set for e in results.entries if e.model)
    there = {
        name: name for name in names if any((results.data / f"{one}_{name}" / "wav.scp").is_file() for one in sets)
    }
    try:
        return side_by_side(results, there, _UTTERANCES, _BYTES) if there else []
    except InputError as error:  # tables can be compared long after the audio has gone
        log.warning(f"nothing to listen to: {error}")
        return []
