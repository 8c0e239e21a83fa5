"""How numbers and tables are set in LaTeX, so that tables stay readable however many systems and attackers they have.

A table that is too wide for an upright page is set sideways (package rotating), one that is too wide for that is
divided into parts with some of its columns each, below the same row labels. A table that is too tall continues on
further pages. Parts and pages are floats of their own under one number, in one file. The width is estimated from the
letters; what is a little too wide is shrunk.

A cell is a number with its interval, where the record has one. Among several anonymisation systems the best number is
bold if all of them were measured in the same way; equal numbers, as they are shown, are equally good. Published numbers
are marked: once in the caption, and where there are others as well, with a dagger at the names of their systems;
systems that were measured on other data have a double dagger.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from vpeval.core.errors import InputError
from vpeval.records.metrics import Metric, describe
from vpeval.records.names import ORIGINAL, OTHER_DATA, PUBLISHED, attack_model
from vpeval.records.record import Record
from vpeval.records.tex import Tex, escape, join_cells
from vpeval.results.text_tables import show_interval

_UPRIGHT, _SIDEWAYS = 105.0, 185.0
"""The widest tables in letters of normal size: with 10 pt on a page with margins of an inch, 6 pt are left of those."""
_TALL, _FLAT = 56, 40
"""The most lines of an upright and of a sideways page."""
_GAP_HEIGHT = 0.5
_BETWEEN = 2.0
_SMALL = 0.7
"""The width of a small letter."""
_COMMAND = re.compile(
    r"\\cellcolor\[HTML\]\{\w+\}|\\rotatebox\{90\}\{[^}]*\}|\\multicolumn\{\d+\}\{[^}]*\}|\\[A-Za-z]+\*? ?|\\.|[{}$^]"
)

ABSENT = "--"
CONTINUED = " (continued)"


class Title(Tex):
    """A line over all columns of a table, above the rows that it names."""

    __slots__ = ()


Row = Sequence[str] | Title
"""The cells of a row; an empty one is a gap."""


@dataclass(frozen=True)
class Column:
    """The heads of a column, from top to bottom, and how it is aligned.

    Columns with the same upper heads share them.
    """

    heads: tuple[str, ...]
    align: str = "r"


def typeset(columns: Sequence[Column], labels: int, rows: Sequence[Row], caption: str, label: str) -> str:
    """The table; its first columns, `labels` of them, name the rows and stand in every part."""
    widths = [_width_of(place, columns, rows) for place in range(len(columns))]
    parts = _parts(widths, labels)
    floats = []
    for places in parts:
        own = [columns[place] for place in places]
        sideways = sum(widths[place] for place in places) > _UPRIGHT
        cut = [row if isinstance(row, Title) or not row else [row[place] for place in places] for row in rows]
        for page in pages(_filled(cut, labels) if len(parts) > 1 else cut, _FLAT if sideways else _TALL):
            floats.append((own, [_line(row, len(own)) for row in page], sideways))
    return "\n".join(
        booktabs("".join(column.align for column in own), _heads(own), body, caption, label, sideways, number > 0)
        for number, (own, body, sideways) in enumerate(floats)
    )


def booktabs(
    colspec: str,
    heads: Sequence[str],
    body: Sequence[str],
    caption: str,
    label: str,
    sideways: bool = False,
    continued: bool = False,
) -> str:
    """A float of head lines and body lines; a continued one has the number of the one before."""
    kind = "sidewaystable" if sideways else "table"
    numbered = [r"  \addtocounter{table}{-1}"] if continued else []
    lines = [
        rf"% Needs \usepackage{{booktabs,graphicx{',rotating' * sideways}}}.",
        rf"\begin{{{kind}}}",
        r"  \centering",
        *numbered,
        rf"  \caption{{{continue_caption(caption) if continued else caption}}}",
        *([] if continued else [rf"  \label{{{label}}}"]),
        r"  \resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        rf"  \begin{{tabular}}{{{colspec}}}",
        r"    \toprule",
        *(f"    {line}" for line in heads),
        r"    \midrule",
        *(f"    {line}" for line in body),
        r"    \bottomrule",
        r"  \end{tabular}}",
        rf"\end{{{kind}}}",
    ]
    return "\n".join(lines) + "\n"


def continue_caption(caption: str) -> str:
    """The caption of a table that continues: its first sentence.

    >>> continue_caption("All results. Larger is better.")
    'All results (continued).'
    """
    first, *_ = re.split(r"\.(?:\s|$)", caption, maxsplit=1)
    return f"{first}{CONTINUED}."


def pages(rows: Sequence[Row], most: int) -> list[list[Row]]:
    """The rows page by page; pages end between groups, which begin with a gap or a title, where they can."""
    found: list[list[Row]] = [[]]
    for group in _groups(rows):
        if found[-1] and _height(found[-1]) + _height(group) > most:
            found.append([])
            group = group if group[0] else group[1:]
        while _height(group) > most:
            found[-1], group = [*found[-1], *group[:most]], group[most:]
            found.append([])
        found[-1] += group
    return [page for page in found if page]


def _groups(rows: Sequence[Row]) -> list[list[Row]]:
    found: list[list[Row]] = []
    for before, row in zip([None, *rows], rows, strict=False):
        begins = not row or (isinstance(row, Title) and before != [])
        if begins or not found:
            found.append([])
        found[-1].append(row)
    return found


def _filled(rows: Sequence[Row], labels: int) -> list[Row]:
    """The rows that have a number, below their titles."""

    def is_filled(row: Row) -> bool:
        return bool(row) and not isinstance(row, Title) and any(cell not in ("", ABSENT) for cell in row[labels:])

    kept: list[Row] = []
    for group in _groups(rows):
        if any(map(is_filled, group)):
            kept += [row for row in group if not row or isinstance(row, Title) or is_filled(row)]
    return kept if not kept or kept[0] else kept[1:]


def _height(rows: Sequence[Row]) -> float:
    return sum(1 if row else _GAP_HEIGHT for row in rows)


def _parts(widths: Sequence[float], labels: int) -> list[list[int]]:
    """The columns of every part: all in one, or as many as fit, about the same width in each."""
    fixed, places = list(range(labels)), list(range(labels, len(widths)))
    room = _SIDEWAYS - sum(widths[:labels])
    total = sum(widths[labels:])
    if total <= room or not places:
        return [[*fixed, *places]]
    share = total / -(-total // max(room, 1.0))
    parts: list[list[int]] = [[]]
    used = 0.0
    for place in places:
        if parts[-1] and (used + widths[place] > room or used + widths[place] / 2 > share):
            parts.append([])
            used = 0.0
        parts[-1].append(place)
        used += widths[place]
    return [[*fixed, *part] for part in parts]


def _width_of(place: int, columns: Sequence[Column], rows: Sequence[Row]) -> float:
    cells = [row[place] for row in rows if row and not isinstance(row, Title)]
    return _BETWEEN + max(width(cell) for cell in (columns[place].heads[-1], *_own_heads(place, columns), *cells))


def _own_heads(place: int, columns: Sequence[Column]) -> Iterable[str]:
    """The upper heads of a column that it shares with no neighbour: the others have room over several."""
    near = [columns[i] for i in (place - 1, place + 1) if 0 <= i < len(columns)]
    for line, head in enumerate(columns[place].heads[:-1]):
        if not any(column.heads[: line + 1] == columns[place].heads[: line + 1] for column in near):
            yield head


def width(cell: str) -> float:
    r"""About how many letters of normal size a cell is wide.

    >>> width("a_b"), width(Tex(r"$C_\mathrm{llr}$")), width(Tex(r"\textbf{5.00} {\scriptsize [4.1, 6.2]}"))
    (3, 5, 12.0)
    """
    if not isinstance(cell, Tex):
        return len(cell)
    text, small, rest = cell.partition(r"{\scriptsize ")
    return len(_COMMAND.sub("", text)) + (_SMALL * len(_COMMAND.sub("", rest)) if small else 0)


def _heads(columns: Sequence[Column]) -> list[str]:
    """The lines of heads, with rules below heads that columns share."""
    lines = []
    for line in range(len(columns[0].heads)):
        last = line == len(columns[0].heads) - 1
        cells, rules, end = [], [], 0
        for _, run in groupby(enumerate(columns), key=lambda item: (item[1].heads[: line + 1], last and item[0])):
            start, end = end, end + len(list(run))
            head = escape(columns[start].heads[line])
            if end - start == 1 or not head:
                cells += [head] * (end - start)
                continue
            cells.append(Tex(rf"\multicolumn{{{end - start}}}{{c}}{{{head}}}"))
            rules.append(rf"\cmidrule(lr){{{start + 1}-{end}}}")
        lines.append(" ".join(f"{' & '.join(cells)} \\\\".split()) if not last else f"{' & '.join(cells)} \\\\")
        lines += [" ".join(rules)] if rules else []
    return lines


def _line(row: Row, columns: int) -> str:
    if isinstance(row, Title):
        return rf"\multicolumn{{{columns}}}{{l}}{{{row}}} \\"
    return f"{join_cells(row)} \\\\" if row else r"\addlinespace"


_ARROWS = {1: r" $\uparrow$", -1: r" $\downarrow$", 0: ""}


def heading(kind: Metric) -> Tex:
    """A metric, with an arrow to its better end."""
    return Tex(f"{kind.latex}{_ARROWS[kind.better]}")


def number(record: Record, bold: bool = False) -> Tex:
    """A value with its interval, if it has one."""
    text, ends = (
        signs(shown).replace(",", ", ") for shown in (describe(record.metric).show(record.value), show_interval(record))
    )
    text = rf"\textbf{{{text}}}" if bold else text
    return Tex(rf"{text} {{\scriptsize {ends}}}" if ends else text)


def signs(shown: str) -> Tex:
    """A number in plain text with the signs of LaTeX."""
    return Tex(shown.replace("-", "$-$").replace("inf", r"$\infty$"))


def row_of(found: Mapping[str, Record], systems: Sequence[str], kind: Metric) -> list[str]:
    """The cells of the systems, the best anonymised one bold if there are several that were measured alike."""
    shown = {s: kind.show(r.value) for s, r in found.items() if s != ORIGINAL}
    best = None
    if len(shown) > 1 and kind.better and len({_way(found[s]) for s in shown}) == 1:
        choose: Callable[..., str] = max if kind.better > 0 else min
        best = choose(shown.values(), key=float)
    return [number(found[s], bold=shown.get(s) == best and s != ORIGINAL) if s in found else ABSENT for s in systems]


def _way(record: Record) -> tuple[object, ...]:
    """How a number was measured: only numbers that share it can be better or worse."""
    params = json.dumps(dict(record.params), sort_keys=True)
    notes = (record.notes.get(name) for name in ("average", PUBLISHED, OTHER_DATA))
    return attack_model(record), record.model, params, *notes


def intervals(records: Iterable[Record]) -> str:
    """The words of a caption about intervals."""
    return r", with 95\,\% intervals" if any(record.lower is not None for record in records) else ""


def in_order(names: Iterable[str]) -> list[str]:
    """Names once each, original data first."""
    known = list(dict.fromkeys(names))
    return [ORIGINAL] * (ORIGINAL in known) + [name for name in known if name != ORIGINAL]


def put(cells: dict[Any, Any], key: Any, value: Any, record: Record) -> None:
    """Fill a cell that must be empty."""
    if key in cells:
        where = " ".join(filter(None, (record.system, record.set, record.condition)))
        raise InputError(f"two values of {record.metric} for {where}; give each run once")
    cells[key] = value


@dataclass(frozen=True)
class Marks:
    """How published numbers and those on other data are marked: sentences of the caption, and signs of systems."""

    sentence: str = ""
    signs: Mapping[str, str] = field(default_factory=dict)

    def name(self, system: str) -> str:
        """The name of a system, as a cell."""
        return Tex(f"{escape(system)}$^{{{self.signs[system]}}}$") if system in self.signs else system


def marks(records: Sequence[Record]) -> Marks:
    """The marks of a table of some records; where all are published, no system needs a sign."""
    published = {str(record.notes[PUBLISHED]): None for record in records if PUBLISHED in record.notes}
    where = escape(", ".join(published))
    mixed = any(PUBLISHED not in record.notes for record in records)
    found: dict[str, dict[str, None]] = {}
    for record in records:
        if PUBLISHED in record.notes and mixed:
            found.setdefault(record.system, {})[r"\dagger"] = None
        if OTHER_DATA in record.notes:
            found.setdefault(record.system, {})[r"\ddagger"] = None
    sentence = (rf" $\dagger$: published numbers ({where})." if mixed else f" Published numbers ({where}).") * bool(
        where
    )
    sentence += r" $\ddagger$: on other data." * any(r"\ddagger" in own for own in found.values())
    return Marks(sentence, {system: "".join(sorted(own)) for system, own in found.items()})
