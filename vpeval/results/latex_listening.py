"""LaTeX tables of the significance of differences between ratings (VoicePrivacy 2020 supplement, Tables 16 and 17).

A cell compares the system of its row with that of its column: the p value as it is, an arrow where listeners rate the
row's system higher (up) or lower (down) on the mean, and a colour for what the test shows.
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
from vpeval.records.tex import Tex, escape
from vpeval.results.latex_layout import ABSENT, Column, Row, Title, typeset

COLOURS: Mapping[Level, str] = {"significant": "8FBBE8", "uncorrected": "D6E6F6", "none": "E3E3E3"}
"""Blue and grey as in the supplement, and pale blue for what the correction takes back."""
SIMULATED = r"\textbf{SIMULATED listeners: the numbers say nothing about the systems.} "
"""The beginning of captions where listeners are simulated."""
_FEW, _NARROW = 5, 7
_TITLES = {"similarity": "speaker similarity", "quality": "naturalness and intelligibility"}


def significance_tables(records: Iterable[Record]) -> dict[str, str]:
    """LaTeX source by table name (``significance_similarity``, ``significance_quality``); none without tests."""
    found = read_significance(records)
    if found is None:
        return {}
    return {f"significance_{name}": _table(found, name, groups) for name, groups in TABLES.items()}


def _table(found: Significance, name: str, groups: Mapping[str, str]) -> str:
    rows: list[Row] = []
    for group, number in groups.items():
        rows += [[]] * bool(rows) + [Title(f"({number[-1]}) {GROUP_TITLES[group]}")]
        for system in found.systems:
            cells = [_cell(found.pair(group, system, versus), system == versus) for versus in found.systems]
            rows.append([system, *cells])
    keys = ", ".join(rf"\colorbox[HTML]{{{COLOURS[level]}}}{{{words}}}" for level, words in LEVELS.items())
    caption = (
        f"{SIMULATED * found.simulated}Significance of differences in {_TITLES[name]}: p values of two-sided "
        r"Mann-Whitney U tests, with an arrow where the system of the row is rated higher ($\uparrow$) or lower "
        rf"($\downarrow$). Cells: {keys} (level {found.alpha:g}, Holm's correction for all tests of the experiment)."
    )
    columns = [Column(("",), "l"), *(Column((head,), "c") for head in _heads(found.systems))]
    text = typeset(columns, 1, rows, caption, f"tab:significance-{name}")
    return "% Needs \\usepackage[table]{xcolor}, too.\n" + text


def _heads(systems: Sequence[str]) -> list[str]:
    """The names of the systems above columns: upright where they are as narrow as cells, or few."""
    if len(systems) <= _FEW or max(map(len, systems)) <= _NARROW:
        return list(systems)
    return [Tex(rf"\rotatebox{{90}}{{{escape(system)}}}") for system in systems]


def _cell(pair: Pair | None, same: bool) -> Tex:
    if pair is None:
        return Tex("" if same else ABSENT)
    arrow = r"\,$\uparrow$" if pair.difference > 0 else r"\,$\downarrow$" if pair.difference < 0 else ""
    shown = show_p(pair.p_value, r"$\ll$")
    return Tex(rf"\cellcolor[HTML]{{{COLOURS[pair.level]}}}{shown}{arrow}")
