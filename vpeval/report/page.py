"""The report page: everything about a run in one HTML file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from markupsafe import Markup

import vpeval
from vpeval.core.errors import InputError
from vpeval.figures.catalogue import CATALOGUE
from vpeval.figures.data import Results
from vpeval.figures.style import dark_colours
from vpeval.jobs.progress import read_usage
from vpeval.protocols.findings import CHECKS, FILE, UTILITY_FILE, Finding, read_findings
from vpeval.records.metrics import describe
from vpeval.records.names import ORIGINAL
from vpeval.report.criteria import Criterion, criteria, not_tested
from vpeval.report.key_numbers import key_table
from vpeval.report.listen import Sample, samples
from vpeval.report.methods import methods
from vpeval.report.numbers import numbers
from vpeval.report.templating import render
from vpeval.report.use_case import NO_CASE, UseCase
from vpeval.report.verdict import Verdict, judge
from vpeval.results.headline import headline_eer
from vpeval.results.limits import VerdictLimits, read_limits


@dataclass(frozen=True)
class Context:
    """What a report needs beside the results: drawn figures, the edition whose EER it speaks of, limits of the
    verdict, the command that made the run, a remark, and a use case to tell the risk of.
    """

    figures: Path
    command_line: str = ""
    note: str = ""
    edition: str = "2020"
    case: UseCase = NO_CASE
    limits: VerdictLimits = field(default_factory=lambda: read_limits().verdict)


@dataclass(frozen=True)
class System:
    """What the page says about one system; `warnings` are the flagged findings of its audit."""

    name: str
    verdict: Verdict
    warnings: Sequence[Finding]
    unaudited: bool
    samples: Sequence[Sample]
    criteria: Sequence[Criterion]
    gaps: Sequence[str]
    asked: bool


@dataclass(frozen=True)
class InlineFigure:
    """A drawn figure."""

    name: str
    title: str
    caption: str
    svg: Markup


def build(results: Results, context: Context) -> str:
    """The whole page."""
    names = [system for system in results.systems if system != ORIGINAL] or results.systems
    recipes = sorted({entry.record.recipe for entry in results.entries if entry.record.recipe})
    eer = headline_eer((entry.record.metric for entry in results.entries), context.edition)
    runs = [table.parent for table in results.tables]
    findings = {run.name: found for run in runs if (found := audit_findings(run))}
    light, dark = colour_variables()
    return render(
        "page.html",
        title=f"{', '.join(names)}: voice anonymisation report",
        overline=" · ".join(["Voice anonymisation report", *(f"recipe {name}" for name in recipes), ", ".join(names)]),
        light=light,
        dark=dark,
        systems=[_system(results, name, eer, context, findings) for name in names],
        note=context.note,
        place=lambda share: f"{3 + 94 * share:.1f}",
        key=key_table(results, context.edition),
        numbers=numbers(results),
        figures=_figures(context),
        missing=[f"{plot.title} (needs {plot.needs})" for plot in CATALOGUE if not _drawn(context, plot.name)],
        findings=findings,
        checks=CHECKS,
        other_eers=[describe(name) for name in sorted(_eers_of(findings) - {eer})],
        eer=describe(eer),
        methods=methods(results, context.edition, eer, context.limits, context.command_line),
        usage={run.name: used for run in runs if (used := [usage.words for usage in read_usage(run)])},
        version=vpeval.__version__,
    )


def audit_findings(run: Path) -> list[Finding]:
    """What the audits of a run found about attackers and recognisers."""
    return [one for name in (FILE, UTILITY_FILE) if (run / name).is_file() for one in read_findings(run / name)]


def _system(
    results: Results, name: str, eer: str, context: Context, findings: Mapping[str, Sequence[Finding]]
) -> System:
    return System(
        name,
        judge(results, name, context.edition, eer, context.limits),
        [finding for finding in findings.get(name, ()) if finding.flagged],
        name not in findings and name != ORIGINAL,
        samples(results, name),
        criteria(results, name, context.case),
        not_tested(results, name),
        context.case != NO_CASE,
    )


def _eers_of(findings: Mapping[str, Sequence[Finding]]) -> set[str]:
    """The EERs that audits were made with, as far as they tell."""
    return {str(f.numbers["metric"]) for found in findings.values() for f in found if "metric" in f.numbers}


def _drawn(context: Context, name: str) -> bool:
    return (context.figures / f"{name}.svg").is_file()


def _figures(context: Context) -> list[InlineFigure]:
    """All figures that were drawn."""
    shown = []
    for plot in CATALOGUE:
        if _drawn(context, plot.name):
            svg = (context.figures / f"{plot.name}.svg").read_text(encoding="utf-8")
            caption = plot.caption(context.edition)
            shown.append(InlineFigure(plot.name, plot.title, caption, inline_svg(svg, plot.name, plot.title)))
    return shown


def inline_svg(document: str, name: str, title: str) -> Markup:
    """An SVG document as part of a page: ids of its own, colours that follow the page, and a name to read out."""
    if "<svg" not in document or _ALIVE.search(document):
        raise InputError(f"the figure '{name}' holds more than a drawing; draw the figures again (stage 11)")
    svg = document[document.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for colour in dark_colours():
        svg = svg.replace(colour, f"var(--c{colour[1:]})")
    # Figures of all sizes have letters of one size; the widest, of 7.4 inches, fills the column.
    svg = re.sub(r'(<svg[^>]*?) width="([0-9.]+)pt"', _at_most, svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return Markup(svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1))


_ALIVE = re.compile(
    r"<\s*(?:script|foreignobject|iframe|object|embed|handler|set|animate\w*|a)\b"
    r"|<[^>]*[\s/\"']on\w+\s*=|<[^>]*javascript:|<!ENTITY",
    re.IGNORECASE,
)
"""What a drawing of ours never holds: elements and attributes that do something."""


def _at_most(opening: re.Match[str]) -> str:
    share = float(opening[2]) / (72 * 7.4)
    return f'{opening[1]} style="max-width: {52 * min(1, share):.1f}rem"'


def colour_variables() -> tuple[str, str]:
    """Declarations of the colours of the figures, on a light and on a dark page."""
    pairs = dark_colours()
    light = " ".join(f"--c{colour[1:]}: {colour};" for colour in pairs)
    dark = " ".join(f"--c{colour[1:]}: {other};" for colour, other in pairs.items())
    return light, dark
