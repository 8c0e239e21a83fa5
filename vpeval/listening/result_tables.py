"""Tables 16, 17 and 18 of the VoicePrivacy 2020 supplement as text."""

from __future__ import annotations

from collections.abc import Sequence

from vpeval.listening.analysis import Analysis
from vpeval.listening.ratings import VERIFICATION
from vpeval.listening.significance import GROUP_TITLES, TABLES, read_significance, show_p
from vpeval.records.metrics import describe
from vpeval.records.record import Record

Cells = list[list[str]]


def text_tables(analysis: Analysis) -> str:
    """All tables as text for a terminal."""
    parts = [_heading(analysis), _means(analysis), *_significance(analysis), _verification(analysis)]
    parts += [_linking(analysis), _correlations(analysis), _listeners(analysis)]
    return "\n".join(part for part in parts if part)


def _heading(analysis: Analysis) -> str:
    kept, answers = len(analysis.responses.listeners), len(analysis.responses.answers)
    lines = [f"Listening test: {analysis.test.settings.title}"]
    if analysis.test.settings.simulated:
        lines.append("SIMULATED listeners, no real answers. These numbers say nothing about the systems.")
    rules = ", ".join(analysis.options.rules) or "none"
    lines.append(f"{kept} listeners, {len(analysis.excluded)} excluded (rules: {rules}), {answers} answers")
    return "\n".join(lines) + "\n"


def _means(analysis: Analysis) -> str:
    rows = [["", "naturalness", "intelligibility", "similarity, same", "similarity, different"]]
    groups = ("naturalness", "intelligibility", "similarity_same", "similarity_different")
    for system in analysis.test.settings.systems:
        cells = []
        for group in groups:
            cells.append(_cell(_find(analysis.records, f"listening_{group}", system, scores="normalised rank"), 1, 3))
        rows.append([system, *cells])
    return "Mean normalised ranks, 95 % intervals over listeners and speakers (Figure 24)\n" + _aligned(rows)


def _significance(analysis: Analysis) -> list[str]:
    found = read_significance(analysis.records)
    if found is None:
        return []
    parts = []
    for group, number in (item for groups in TABLES.values() for item in groups.items()):
        rows = [["", *found.systems]]
        for system in found.systems:
            pairs = [found.pair(group, system, versus) for versus in found.systems]
            shown = [
                f"{show_p(pair.p_value, '<<')} | {show_p(pair.p_holm, '<<')}{'*' * (pair.level == 'significant')}"
                if pair
                else ""
                for pair in pairs
            ]
            rows.append([system, *shown])
        title = f"{GROUP_TITLES[group]} (Table {number}): p of the two-sided Mann-Whitney U test | after Holm"
        parts.append(f"{title}\n{_aligned(rows)}")
    count = len(found.pairs) // 2
    parts.append(
        f"* significant at {found.alpha:g} after Holm's correction for all {count} tests of the four tables.\n"
    )
    return parts


def _objective_subjective(analysis: Analysis) -> Cells:
    """Metrics of listeners and of the ignorant attacker, with a header row: metric, set, gender, systems."""
    systems = list(analysis.test.settings.systems)
    rows = [["Metric", "Set", "Gender", *systems]]
    for metric, (name, _) in VERIFICATION.items():
        kind = describe(name)
        objective = {(p.system, p.set, p.gender): p.objective for p in analysis.pairs[metric]}
        subjective = {(r.system, r.set, r.gender): r.value for r in analysis.records if r.metric == metric}
        cells = sorted({place[1:] for place in subjective})
        for source, values in (("objective", objective), ("subjective", subjective)):
            for where, gender in cells:
                found = [values.get((system, where, gender)) for system in systems]
                row = ["-" if value is None else kind.show(value) for value in found]
                if any(cell != "-" for cell in row):
                    rows.append([f"{kind.label}, {source}", where or "all sets", gender, *row])
    return rows


def _verification(analysis: Analysis) -> str:
    attacker = analysis.attacker or "no objective results found"
    title = f"Objective (ignorant attacker: {attacker}) and subjective metrics (Table 18)"
    return f"{title}\n{_aligned(_objective_subjective(analysis))}"


def _linking(analysis: Analysis) -> str:
    rows = [["", "clustering accuracy %", "chance %", "EER of distances %", "D_sys", "D_sys, shuffled", "boards"]]
    for system in analysis.test.settings.systems:
        accuracy = _find(analysis.records, "listening_cluster_accuracy", system)
        if accuracy is None:
            continue
        eer, link, null = (
            _find(analysis.records, f"listening_{name}", system) for name in ("distance_eer", "dsys", "dsys_null")
        )
        cells = [_cell(accuracy, 100, 1), f"{100 * accuracy.notes['chance']:.1f}", _cell(eer, 100, 1)]
        cells += [_cell(link, 1, 3), _cell(null, 1, 3), str(accuracy.counts["boards"])]
        rows.append([system, *cells])
    return "Linkability: points of one speaker close together\n" + _aligned(rows) if len(rows) > 1 else ""


def _correlations(analysis: Analysis) -> str:
    rows = [["listeners", "machine", "systems", "Pearson r", "points"]]
    for r in analysis.correlations:
        rows.append([r.params["of"], r.params["with"], r.params["systems"], _cell(r, 1, 2), str(r.counts["points"])])
    return "Correlation over systems and sets\n" + _aligned(rows) if len(rows) > 1 else ""


def _listeners(analysis: Analysis) -> str:
    lines = []
    for each in analysis.excluded:
        rules = ", ".join(rule for rule in each.reasons if rule in analysis.options.rules)
        lines.append(f"excluded: listener {each.listener + 1} ({rules})")
    for each in analysis.listeners:
        if each not in analysis.excluded and each.reasons:
            lines.append(f"kept, though a rule is broken: listener {each.listener + 1} ({', '.join(each.reasons)})")
    return "\n".join(lines) + "\n" if lines else ""


def _find(records: Sequence[Record], metric: str, system: str, **params: str) -> Record | None:
    """The record of a system over all sets."""
    for record in records:
        if (record.metric, record.system, record.set) == (
            metric,
            system,
            "",
        ) and params.items() <= record.params.items():
            return record
    return None


def _cell(record: Record | None, scale: float, digits: int) -> str:
    if record is None:
        return "-"
    ends = ""
    if record.lower is not None and record.upper is not None:
        ends = f" [{scale * record.lower:.{digits}f},{scale * record.upper:.{digits}f}]"
    return f"{scale * record.value:.{digits}f}{ends}"


def _aligned(rows: Cells) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows
    )
