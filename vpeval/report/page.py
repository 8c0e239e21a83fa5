"""The report page: everything about a run in one HTML file that needs nothing else."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from string import Template

import vpeval
from vpeval.core.tables import read_table
from vpeval.figures.catalogue import CATALOGUE
from vpeval.figures.data import Results
from vpeval.figures.labels import GENDERS, set_title
from vpeval.figures.style import dark_colours
from vpeval.report import audio, criteria, provenance
from vpeval.report.audit import Check, read_audit
from vpeval.report.markup import bullets, definitions, scrollable, table, tag, text
from vpeval.report.numbers import numbers
from vpeval.report.verdict import EER_LIMITS, FOUND_LIMITS, Tile, Verdict, judge
from vpeval.results.attacks import ATTACK_MODELS, IGNORANT, LAZY, LEGAL_NAMES, SEMI, SIMILAR, UNPROTECTED
from vpeval.results.names import ORIGINAL

_HERE = Path(__file__).parent
_PAIRS = 4
_AUDIO_BYTES = 1_000_000
_CHECKS = {"a": "control", "b": "ladder", "c": "enrolment", "d": "level", "e": "pass-through"}
_ATTACKS = {
    UNPROTECTED: ("original", "original", "original speech"),
    IGNORANT: ("original", "anonymised", "original speech"),
    LAZY: ("anonymised", "anonymised", "original speech"),
    SIMILAR: ("anonymised", "anonymised", "speech of a similar, older system"),
    SEMI: ("anonymised", "anonymised", "speech of the same system"),
}


@dataclass(frozen=True)
class Context:
    """What a report needs beside the results: drawn figures, the command that made the run, and a remark."""

    figures: Path
    command_line: str = ""
    note: str = ""


def build(results: Results, context: Context) -> str:
    """The whole page."""
    systems = [system for system in results.systems if system != ORIGINAL] or results.systems
    recipes = sorted({entry.record.recipe for entry in results.entries if entry.record.recipe})
    names = ", ".join(systems)
    light, dark = _colour_variables()
    style = (_HERE / "report.css").read_text(encoding="utf-8")
    return Template((_HERE / "template.html").read_text(encoding="utf-8")).substitute(
        title=text(f"{names}: voice anonymisation report"),
        style=style.replace("$light", light).replace("$dark", dark),
        overline=text(" · ".join(["Voice anonymisation report", *(f"recipe {name}" for name in recipes), names])),
        verdict="".join(_verdict(judge(results, system)) for system in systems) + _note(context.note),
        numbers=numbers(results),
        figures=_figures(context.figures),
        listen="".join(_samples(results, system) for system in systems),
        attacker=_audit(read_audit([table.parent for table in results.tables])),
        legal="".join(_legal(results, system, len(systems) > 1) for system in systems),
        methods=_methods(results, context),
        footer=text(f"Made by vpeval {vpeval.__version__}. This file is complete: it loads nothing from anywhere."),
        script=(_HERE / "report.js").read_text(encoding="utf-8"),
    )


def _verdict(verdict: Verdict) -> str:
    parts = [
        tag("h1", text(f"{verdict.headline}.")),
        tag("p", text(" ".join(verdict.sentences)), class_="lead"),
        tag("ul", "".join(map(_tile, verdict.tiles)), class_="tiles"),
        *(tag("p", text(caveat), class_="caveat") for caveat in verdict.caveats),
    ]
    return "".join(parts)


def _tile(tile: Tile) -> str:
    content = [
        tag("span", text(tile.label), class_="label"),
        tag("span", text(tile.value), class_="value"),
        tag("span", text(tile.note), class_="note"),
    ]
    if tile.system is not None:
        points = [("original", tile.original), ("system", tile.system)]
        dots = "".join(
            tag("i", class_=name, style=f"left:{3 + 94 * place:.1f}%", title=name)
            for name, place in points
            if place is not None
        )
        content.append(tag("span", dots, class_="scale", aria_hidden="true"))
        content.append(tag("span", "<span>no privacy</span><span>chance</span>", class_="ends", aria_hidden="true"))
    return tag("li", "".join(content), class_="tile")


def _note(note: str) -> str:
    return tag("p", text(note), class_="caveat") if note else ""


def _figures(directory: Path) -> str:
    """All figures that were drawn, inline; those without data are named at the end."""
    shown, missing = [], []
    for plot in CATALOGUE:
        path = directory / f"{plot.name}.svg"
        if not path.is_file():
            missing.append(f"{plot.title} (needs {plot.needs})")
            continue
        svg = inline_svg(path.read_text(encoding="utf-8"), plot.name, plot.title)
        caption = tag("figcaption", tag("h3", text(plot.title)) + tag("p", text(plot.caption)))
        shown.append(tag("figure", caption + scrollable(svg, plot.title), id=f"figure-{plot.name}"))
    if missing:
        shown.append(tag("p", text(f"Left out for want of data: {'; '.join(missing)}."), class_="missing"))
    return "".join(shown)


def inline_svg(document: str, name: str, title: str) -> str:
    """An SVG document as part of a page: ids of its own, colours that follow the page, and a name to read out."""
    svg = document[document.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'\b(id="|href="#|url\(#)', rf"\g<1>{name}-", svg)
    for colour in dark_colours():
        svg = svg.replace(colour, f"var(--c{colour[1:]})")
    svg = re.sub(r'(<svg[^>]*?) width="[^"]*"', r"\1", svg, count=1)
    svg = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", svg, count=1)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{text(title)}" ', 1)


def _colour_variables() -> tuple[str, str]:
    """Declarations of the colours of the figures, on a light and on a dark page."""
    pairs = dark_colours()
    light = " ".join(f"--c{colour[1:]}: {colour};" for colour in pairs)
    dark = " ".join(f"--c{colour[1:]}: {other};" for colour, other in pairs.items())
    return f"  {light}", f"    {dark}"


def _samples(results: Results, system: str) -> str:
    sets = list(dict.fromkeys(e.record.set for e in results.entries if e.model and e.record.system == system))
    samples = audio.choose_samples(results.data, sets, system, _PAIRS, _AUDIO_BYTES)
    if not samples:
        return tag("p", text(f"No audio of {system} was at hand when this page was made."), class_="missing")
    heard = {ORIGINAL: _hypotheses(results, ORIGINAL), system: _hypotheses(results, system)}
    items = []
    for sample in samples:
        words = sample.text.capitalize()
        head = f"{sample.utt}, {GENDERS.get(sample.gender, 'speaker')}, {set_title(sample.set, gender=False)}"
        takes = "".join(
            _take(label, uri, sample.utt, heard[name].get(sample.utt))
            for label, uri, name in (
                ("Original", sample.original, ORIGINAL),
                ("Anonymised", sample.anonymised, system),
            )
        )
        items.append(tag("li", tag("small", text(head)) + tag("blockquote", text(words)) + takes, class_="sample"))
    intro = "The utterance of a speaker that is nearest to three seconds, before and after, without loss."
    return tag("p", text(intro)) + tag("ul", "".join(items), class_="samples")


def _take(label: str, uri: str, utt: str, hypothesis: str | None) -> str:
    player = tag("audio", controls=True, preload="none", src=uri, aria_label=f"{label}, {utt}")
    heard = "" if hypothesis is None else tag("p", text(f"Recognised: {hypothesis.lower() or 'nothing'}"))
    return tag("div", tag("span", text(label)) + player + heard, class_="take")


def _hypotheses(results: Results, system: str) -> dict[str, str]:
    """What the recogniser understood, by utterance."""
    heard: dict[str, str] = {}
    for path in dict.fromkeys(e.file("hyp") for e in results.of("wer") if e.record.system == system):
        if path and path.is_file():
            heard |= read_table(path, "text", empty=True)
    return heard


def _audit(checks: Sequence[Check]) -> str:
    if not checks:
        return tag(
            "p",
            "No audit of the attacker was made. A weak or mismatched attacker makes any system look private: run "
            "<code>local/audit_attacker.py</code> before relying on the numbers.",
            class_="caveat",
        )
    words = {True: "look here", False: "fine"}
    rows = [
        (
            text(_CHECKS.get(check.check, check.check)),
            tag("span", words[check.flagged], class_="verdict-word " + ("fail" if check.flagged else "pass")),
            text(check.sentence),
        )
        for check in checks
    ]
    return scrollable(table(("Check", "Verdict", "Finding"), rows), "Audit of the attacker")


def _legal(results: Results, system: str, several: bool) -> str:
    intro = (
        "Opinion 05/2014 of the Article 29 Working Party asks three questions of data that are said to be anonymous. "
        "Below is what was measured for each, with the metrics of the legally validated framework (Vauquier et al., "
        "2025). It is evidence for an assessment, not the assessment: whether a remaining risk is acceptable depends "
        "on the data, their use and the means that an attacker is reasonably likely to have."
    )
    cards = "".join(map(_criterion, criteria.criteria(results, system)))
    gaps = tag("h3", "Not tested") + bullets(criteria.not_tested(results, system))
    head = tag("h3", text(system)) if several else ""
    return head + tag("p", text(intro)) + tag("div", cards, class_="criteria") + gaps


def _criterion(criterion: criteria.Criterion) -> str:
    if not criterion.findings:
        kind, status = "", "not tested"
    elif any(finding.above_chance for finding in criterion.findings):
        kind, status = "above", "still possible, above chance"
    else:
        kind, status = "level", "not told from chance here"
    findings = ""
    for finding in criterion.findings:
        lines = (
            tag("span", tag("small", text(amount)) + tag("span", text(rate)) + tag("small", text(chance)))
            for amount, rate, chance in finding.numbers
        )
        findings += tag("li", tag("b", text(finding.attack)) + "".join(lines))
    content = [
        tag("h3", text(criterion.name)),
        tag("div", text(status), class_="status"),
        tag("p", tag("em", text(criterion.question))),
        tag("p", text(criterion.method)),
        tag("ul", findings) if findings else "",
    ]
    return tag("article", "".join(content), class_=f"criterion {kind}".strip())


def _methods(results: Results, context: Context) -> str:
    tested = {entry.model for entry in results.entries}
    attacks = [
        (
            text(model),
            text(LEGAL_NAMES.get(model, "–")),
            *map(text, _ATTACKS[model]),
            "yes" if model in tested else "no",
        )
        for model in ATTACK_MODELS
    ]
    heads = ("In the challenges", "In the legal framework", "Enrolment", "Trials", "Attacker trained on", "Tested")
    hashes = provenance.file_hashes(results)
    items = [
        ("Verdict", text(_rule())),
        ("Intervals", text(f"95 %, bootstrap over speakers, {_listed(provenance.resamples(results))} resamples")),
        ("Seeds", text(_listed(provenance.seeds(results)))),
        ("Records", f"{len(results.entries)} numbers, SHA-256 <code>{provenance.joint_hash(hashes)}</code>"),
        ("Versions", text(", ".join(f"{name} {version}" for name, version in provenance.versions().items()))),
    ]
    for used in provenance.used_models(entry.record.attacker for entry in results.entries):
        files = "".join(f"<br><code>{text(name)} {text(digest)}</code>" for name, digest in used.model.files.items())
        items.append((f"Model of {used.user}", text(f"{used.model.title}, {used.model.licence}") + files))
    if context.command_line:
        items.append(("Command", tag("pre", tag("code", text(context.command_line)))))
    files = tag("summary", "Files of records and their SHA-256") + definitions(
        (name, f"<code>{digest}</code>") for name, digest in hashes.items()
    )
    return (
        tag("p", "Attack models, from weak to strong. The challenges and the legal framework name them differently.")
        + scrollable(table(heads, attacks), "Attack models")
        + definitions(items)
        + tag("details", files)
    )


def _rule() -> str:
    eers = ", ".join(f"{100 * limit:.0f}" for limit in EER_LIMITS)
    found = ", ".join(f"{100 * limit:.0f}" for limit in FOUND_LIMITS)
    return (
        f"five grades; limits are an EER of {eers} % (as in VoicePrivacy 2024) and {found} % of the speakers linked or "
        "identified beyond chance; the worse of the two counts, and at most 'in part' without a semi-informed attacker"
    )


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
