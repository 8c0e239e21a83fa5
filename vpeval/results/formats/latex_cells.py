"""Cells of the LaTeX tables beyond those of the challenge: numbers with intervals, the best one of several bold."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from vpeval.core.errors import InputError
from vpeval.records.metrics import Metric, describe
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record
from vpeval.results.formats.latex import booktabs
from vpeval.results.formats.tex import Tex, join_cells
from vpeval.results.shown import show_interval

ABSENT = "--"
_ARROWS = {1: r" $\uparrow$", -1: r" $\downarrow$", 0: ""}


def intervals(records: Iterable[Record]) -> str:
    """What a caption says of intervals."""
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


def heading(kind: Metric) -> Tex:
    """A metric, with an arrow to its better end."""
    return Tex(f"{kind.latex}{_ARROWS[kind.better]}")


def number(record: Record, bold: bool = False) -> Tex:
    """A value with its interval, if it has one."""
    text, ends = (
        shown.replace("-", "$-$").replace("inf", r"$\infty$").replace(",", ", ")
        for shown in (describe(record.metric).show(record.value), show_interval(record))
    )
    text = rf"\textbf{{{text}}}" if bold else text
    return Tex(rf"{text} {{\scriptsize {ends}}}" if ends else text)


def row_of(found: Mapping[str, Record], systems: Sequence[str], kind: Metric) -> list[str]:
    """The cells of the systems, the best anonymised one bold if there are several."""
    shown = {s: kind.show(r.value) for s, r in found.items() if s != ORIGINAL}
    best = None
    if len(shown) > 1 and kind.better:
        choose: Callable[..., str] = max if kind.better > 0 else min
        best = choose(shown.values(), key=float)
    return [number(found[s], bold=shown.get(s) == best and s != ORIGINAL) if s in found else ABSENT for s in systems]


def table(colspec: str, heads: Sequence[Sequence[str]], rows: Sequence[Sequence[str]], caption: str, label: str) -> str:
    """The table of cells; an empty row is a gap."""
    body = [f"{join_cells(row)} \\\\" if row else r"\addlinespace" for row in rows]
    return booktabs(colspec, [f"{join_cells(head)} \\\\" for head in heads], body, caption, f"tab:{label}")
