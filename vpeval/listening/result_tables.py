"""Tables 16, 17 and 18 of the VoicePrivacy 2020 supplement, as text and in LaTeX."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from vpeval.listening.analysis import Analysis
from vpeval.listening.ratings import Comparison
from vpeval.records.record import Record

_TINY = 1e-4
GROUP_TITLES = {
    "similarity_same": "Speaker similarity, same speaker (Table 16a)",
    "similarity_different": "Speaker similarity, different speakers (Table 16b)",
    "naturalness": "Naturalness (Table 17a)",
    "intelligibility": "Intelligibility (Table 17b)",
}
_METRICS = {
    "listening_eer": ("EER", 100, 2),
    "listening_eer_rocch": ("ROCCH-EER", 100, 2),
    "listening_min_cllr": ("min Cllr", 1, 3),
    "listening_cllr": ("Cllr", 1, 3),
}
Cells = list[list[str]]


def show_p(p: float) -> str:
    """A p value as the supplement prints it.

    >>> [show_p(p) for p in (0.66, 0.027, 0.0057, 0.00001)]
    ['0.660', '0.027', '0.0057', '<<0.01']
    """
    if p < _TINY:
        return "<<0.01"
    return f"{p:.4f}" if p < 0.01 else f"{p:.3f}"


def text_tables(analysis: Analysis) -> str:
    """All tables as text for a terminal."""
    parts = [_heading(analysis), _means(analysis), *_significance(analysis), _verification(analysis)]
    parts += [_linking(analysis), _correlations(analysis), _listeners(analysis)]
    return "\n".join(part for part in parts if part)


def latex_tables(analysis: Analysis) -> dict[str, str]:
    """Booktabs tables by name; p values that stay significant after correction are bold."""
    systems = list(analysis.test.settings.systems)
    simulated = "% SIMULATED listeners, no real answers.\n" if analysis.test.settings.simulated else ""
    tables = {}
    for group in GROUP_TITLES:
        cells = p_matrix(analysis.comparisons, group, systems, lambda c: _latex_p(c, analysis.options.alpha))
        tables[f"significance_{group}"] = simulated + _booktabs(cells)
    tables["objective_subjective"] = simulated + _booktabs(_table_18(analysis))
    return tables


def p_matrix(
    comparisons: Sequence[Comparison], group: str, systems: Sequence[str], show: Callable[[Comparison], str]
) -> Cells:
    """A symmetric table of the comparisons of a group, with a header row and column."""
    found = {frozenset((c.system, c.versus)): show(c) for c in comparisons if c.group == group}
    return [["", *systems], *([a, *(found.get(frozenset((a, b)), "") for b in systems)] for a in systems)]


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
    systems = list(analysis.test.settings.systems)
    alpha = analysis.options.alpha
    parts = []
    for group, title in GROUP_TITLES.items():

        def show(each: Comparison) -> str:
            return f"{show_p(each.test.p_value)} | {show_p(each.p_holm)}{'*' * (each.p_holm < alpha)}"

        cells = p_matrix(analysis.comparisons, group, systems, show)
        parts.append(f"{title}: p of the two-sided Mann-Whitney U test | after Holm\n" + _aligned(cells))
    count = len(analysis.comparisons)
    parts.append(f"* significant at {alpha:g} after Holm's correction for all {count} tests of the four tables.\n")
    return parts


def _table_18(analysis: Analysis) -> Cells:
    systems = list(analysis.test.settings.systems)
    rows = [["", "set", "gender", *systems]]
    for metric, (title, scale, digits) in _METRICS.items():
        objective = {(p.system, p.set, p.gender): p.objective for p in analysis.pairs[metric]}
        cells = sorted({(r.set, r.gender) for r in analysis.records if r.metric == metric})
        subjective = {(r.system, r.set, r.gender): r.value for r in analysis.records if r.metric == metric}
        for source, values in (("objective", objective), ("subjective", subjective)):
            for name, gender in cells:
                found = [values.get((system, name, gender)) for system in systems]
                row = ["-" if value is None else f"{scale * value:.{digits}f}" for value in found]
                if any(cell != "-" for cell in row):
                    rows.append([f"{title}, {source}", name or "all sets", gender, *row])
    return rows


def _verification(analysis: Analysis) -> str:
    attacker = analysis.attacker or "no objective results found"
    return f"Objective (ignorant attacker: {attacker}) and subjective metrics (Table 18)\n" + _aligned(
        _table_18(analysis)
    )


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


def _latex_p(each: Comparison, alpha: float) -> str:
    shown = r"$\ll$0.01" if each.test.p_value < _TINY else show_p(each.test.p_value)
    return rf"\textbf{{{shown}}}" if each.p_holm < alpha else shown


def _booktabs(cells: Cells) -> str:
    def line(row: list[str]) -> str:
        return " & ".join(cell if "\\" in cell else cell.replace("_", r"\_") for cell in row) + r" \\"

    head, *body = cells
    words = sum(name in ("", "set", "gender") for name in head)
    columns = "l" * words + "r" * (len(head) - words)
    lines = [rf"\begin{{tabular}}{{{columns}}}", r"\toprule", line(head), r"\midrule", *map(line, body)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _aligned(rows: Cells) -> str:
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() + "\n" for row in rows
    )
