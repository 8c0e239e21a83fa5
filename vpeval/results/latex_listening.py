"""LaTeX tables of listening tests (VoicePrivacy 2020 supplement, Tables 16 to 18).

Tables 16 and 17 show the significance of differences. A cell compares the system of its row with that of its column:
the p value as it is, an arrow where listeners rate the row's system higher (up) or lower (down) on the mean, and a
colour for what the test shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from vpeval.listening.significance import (
    GROUP_TITLES,
    LEVELS,
    TABLES,
    Level,
    Pair,
    Significance,
    read_significance,
    show_p,
)
from vpeval.records.record import Record
from vpeval.records.tex import Tex, escape, join_cells
from vpeval.results.latex_layout import booktabs

COLOURS: Mapping[Level, str] = {"significant": "8FBBE8", "uncorrected": "D6E6F6", "none": "E3E3E3"}
"""Blue and grey as in the supplement, and pale blue for what the correction takes back."""
SIMULATED = "SIMULATED listeners: the numbers say nothing about the systems."
_TITLES = {"similarity": "speaker similarity", "quality": "naturalness and intelligibility"}


def significance_tables(records: Iterable[Record]) -> dict[str, str]:
    """LaTeX source by table name (``significance_similarity``, ``significance_quality``); none without tests."""
    found = read_significance(records)
    if found is None:
        return {}
    return {f"significance_{name}": _table(found, name, groups) for name, groups in TABLES.items()}


def _table(found: Significance, name: str, groups: Mapping[str, str]) -> str:
    width = 1 + len(found.systems)
    body = []
    for group, number in groups.items():
        title = f"({number[-1]}) {GROUP_TITLES[group]}"
        body += [r"\midrule"] * bool(body) + [rf"\multicolumn{{{width}}}{{l}}{{{title}}} \\"]
        for system in found.systems:
            cells = [_cell(found.pair(group, system, versus), system == versus) for versus in found.systems]
            body.append(rf"{join_cells([system, *cells])} \\")
    keys = ", ".join(rf"\colorbox[HTML]{{{COLOURS[level]}}}{{{words}}}" for level, words in LEVELS.items())
    caption = (
        f"Significance of differences in {_TITLES[name]}: p values of two-sided Mann-Whitney U tests, with an arrow "
        rf"where the system of the row is rated higher ($\uparrow$) or lower ($\downarrow$). Cells: {keys} (level "
        f"{found.alpha:g}, Holm's correction for all tests of the listening test)."
    )
    head = rf"{join_cells(['', *found.systems])} \\"
    caption = _marked(caption, found.simulated)
    text = booktabs("l" + "c" * (width - 1), [head], body, caption, f"tab:significance-{name}")
    return "% Needs \\usepackage[table]{xcolor}, too.\n" + text


def _cell(pair: Pair | None, same: bool) -> Tex:
    if pair is None:
        return Tex("" if same else "--")
    arrow = r"\,$\uparrow$" if pair.difference > 0 else r"\,$\downarrow$" if pair.difference < 0 else ""
    shown = show_p(pair.p_value, r"$\ll$")
    return Tex(rf"\cellcolor[HTML]{{{COLOURS[pair.level]}}}{shown}{arrow}")


def objective_table(cells: Sequence[Sequence[str]], attacker: str, simulated: bool) -> str:
    """Table 18: metrics of listeners and of the ignorant attacker; `cells` are rows of metric, set, gender, systems."""
    head, *rows = cells
    body = []
    for before, row in zip([None, *rows], rows, strict=False):
        body += [r"\addlinespace"] if before and before[0] != row[0] else []
        body.append(rf"{join_cells(row)} \\")
    source = f" (ignorant, {escape(attacker)})" if attacker else ""
    caption = f"Objective{source} and subjective metrics of speaker verification."
    colspec = "lll" + "r" * (len(head) - 3)
    return booktabs(colspec, [rf"{join_cells(head)} \\"], body, _marked(caption, simulated), "tab:objective-subjective")


def _marked(caption: str, simulated: bool) -> str:
    return rf"\textbf{{{SIMULATED}}} {caption}" if simulated else caption
