"""The report page of a run, as one self-contained HTML file, and what all pages share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import vpeval
from vpeval.core.errors import InputError
from vpeval.editions.headline import headline_eer
from vpeval.figures.catalogue import plots
from vpeval.figures.drawing import PAGE, dark_colours
from vpeval.figures.run_results import Results
from vpeval.jobs.progress import read_usage
from vpeval.measures.audit import CHECKS, FILE, UTILITY_FILE, Finding, read_findings
from vpeval.records.limits import VerdictLimits, read_limits
from vpeval.records.metrics import describe
from vpeval.records.names import NO_COST, ORIGINAL, remarks
from vpeval.report.audio_samples import Sample, samples
from vpeval.report.legal_criteria import NO_CASE, Criterion, UseCase, WorstCase, criteria, not_tested, worst_cases
from vpeval.report.number_tables import key_table, numbers
from vpeval.report.provenance import methods
from vpeval.report.verdict import Verdict, define_attacks, judge


@dataclass(frozen=True)
class Context:
    """The inputs of a report besides the results.

    They are the directory of figures, the command of the run, a remark, the edition (its EER is shown), a use case and
    the limits of the verdict.
    """

    figures: Path
    command_line: str = ""
    note: str = ""
    edition: str = "2020"
    case: UseCase = NO_CASE
    limits: VerdictLimits = field(default_factory=lambda: read_limits().verdict)


@dataclass(frozen=True)
class SystemPart:
    """The part of the page about one system.

    `warnings` are the flagged findings of its audit, `attackers` define those of the worst cases that the verdict does
    not define.
    """

    name: str
    verdict: Verdict
    warnings: Sequence[Finding]
    unaudited: bool
    samples: Sequence[Sample]
    criteria: Sequence[Criterion]
    worst_cases: Sequence[WorstCase]
    attackers: Sequence[str]
    gaps: Sequence[str]
    has_case: bool


@dataclass(frozen=True)
class InlineFigure:
    """A drawn figure; without `svg` it is in a file only."""

    name: str
    title: str
    caption: str
    svg: Markup | None


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
        # The table of all numbers marks a Cllr that is no cost.
        remarks=remarks(record for record in results.records if NO_COST not in record.notes),
        place=lambda share: f"{3 + 94 * share:.1f}",
        key=key_table(results, context.edition),
        numbers=numbers(results),
        figures=_figures(results, context),
        missing=[f"{plot.title} (needs {plot.needs})" for plot in plots(results) if not _drawn(context, plot.name)],
        findings=findings,
        checks=CHECKS,
        other_eers=[describe(name) for name in sorted(_audit_eers(findings) - {eer})],
        eer=describe(eer),
        methods=methods(results, context.edition, eer, context.limits, context.command_line),
        usage={run.name: used for run in runs if (used := [usage.words for usage in read_usage(run)])},
        version=vpeval.__version__,
    )


def audit_findings(run: Path) -> list[Finding]:
    """The findings of the audits of a run, about attackers and recognisers."""
    return [one for name in (FILE, UTILITY_FILE) if (run / name).is_file() for one in read_findings(run / name)]


def _system(
    results: Results, name: str, eer: str, context: Context, findings: Mapping[str, Sequence[Finding]]
) -> SystemPart:
    found, verdict = criteria(results, name, context.case), judge(results, name, context.edition, eer, context.limits)
    worst = worst_cases(results, name, found, context.limits)
    defined = define_attacks(case.record for case in worst if case.record)
    return SystemPart(
        name,
        verdict,
        [finding for finding in findings.get(name, ()) if finding.flagged],
        name not in findings and name != ORIGINAL,
        samples(results, name),
        found,
        worst,
        [sentence for sentence in defined if sentence not in verdict.attackers],
        not_tested(results, name),
        context.case != NO_CASE,
    )


def _audit_eers(findings: Mapping[str, Sequence[Finding]]) -> set[str]:
    """The EERs of the audits, as far as they are known."""
    return {str(f.numbers["metric"]) for found in findings.values() for f in found if "metric" in f.numbers}


def _drawn(context: Context, name: str) -> bool:
    return (context.figures / f"{name}.svg").is_file()


def _figures(results: Results, context: Context) -> list[InlineFigure]:
    """All drawn figures."""
    shown = []
    for plot in plots(results):
        if _drawn(context, plot.name):
            svg = (context.figures / f"{plot.name}.svg").read_text(encoding="utf-8")
            caption = plot.caption(context.edition)
            shown.append(InlineFigure(plot.name, plot.title, caption, inline_svg(svg, plot.name, plot.title)))
    return shown


def inline_svg(document: str, name: str, title: str) -> Markup:
    """An SVG document as part of a page, with unique ids, the colours of the page and a label for screen readers."""
    if "<svg" not in document or _ACTIVE.search(document):
        raise InputError(f"the figure '{name}' contains more than a drawing; draw the figures again (stage 11)")
    svg = document[document.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = _PLACES.sub(lambda found: _DIGITS.sub(r"\1", found[0]), svg)
    svg = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for colour in dark_colours():
        svg = svg.replace(colour, f"var(--c{colour[1:]})")
    # All figures have letters of one size; the widest, as wide as a page, fills the column.
    svg = re.sub(r'(<svg[^>]*?) width="([0-9.]+)pt"', _limit_width, svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return Markup(svg.replace("<svg ", f'<svg role="img" aria-label="{escape(title)}" ', 1))


_ACTIVE = re.compile(
    r"<\s*(?:script|foreignobject|iframe|object|embed|handler|set|animate\w*|a)\b"
    r"|<[^>]*[\s/\"']on\w+\s*=|<[^>]*javascript:|<!ENTITY",
    re.IGNORECASE,
)
"""Active elements and attributes, which our drawings never contain."""


_PLACES = re.compile(r' (?:d|x|y|points)="[^"]*"')
_DIGITS = re.compile(r"(\.\d\d)\d+")
"""Places in a drawing, and their digits beyond a hundredth of a point, which nobody sees."""


def _limit_width(opening: re.Match[str]) -> str:
    share = float(opening[2]) / (72 * PAGE)
    return f'{opening[1]} style="max-width: {52 * min(1, share):.1f}rem"'


def colour_variables() -> tuple[str, str]:
    """CSS declarations of the colours of the figures on light and dark pages."""
    pairs = dark_colours()
    light = " ".join(f"--c{colour[1:]}: {colour};" for colour in pairs)
    dark = " ".join(f"--c{colour[1:]}: {other};" for colour, other in pairs.items())
    return light, dark


def render(template: str, **values: Any) -> str:
    """The page of a template. All values are escaped, except `markupsafe.Markup`."""
    environment = Environment(
        loader=PackageLoader("vpeval.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_keep_together,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["breakable"] = _breakable
    return environment.get_template(template).render(**values) + "\n"


def _breakable(text: str) -> Markup:
    """Text whose long names may continue on the next line after a joint, and whose numbers keep their units."""
    text = re.sub(r" (=|%)( (?=\d))?", lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), text)
    return Markup(re.sub(r"([_/:]|(?<=\w)[-.])(?=[A-Za-z])", r"\1<wbr>", escape(text)))


def _keep_together(value: object) -> object:
    """Text with a percent sign on the same line as its number, and an interval on one line."""
    if type(value) is not str:
        return value
    text = value.replace(" %", "\N{NO-BREAK SPACE}%")
    return re.sub(r"\[([\d.−-]+), ([\d.−-]+)\]", "[\\1,\N{NO-BREAK SPACE}\\2]", text)
