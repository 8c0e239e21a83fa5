"""The table of all numbers of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from vpeval.figures.data import Entry, Results
from vpeval.records.costs import NO_COST
from vpeval.records.metrics import GROUPS, describe, rank
from vpeval.records.names import set_title
from vpeval.records.record import Record
from vpeval.results.shown import chance_level, with_null_levels

_SHOWN_NOTES = ("scoring", "calibration")
_BETTER = {+1: "Higher is better.", -1: "Lower is better.", 0: ""}


@dataclass(frozen=True)
class Row:
    """A number as it is shown; `sort` and `interval_sort` are for JavaScript to order by."""

    title: str
    group: str
    system: str
    data: str
    attack: str
    details: str
    value: str
    sort: str
    interval: str
    interval_sort: str
    chance: str
    counts: str
    attacker: str


@dataclass(frozen=True)
class Numbers:
    """The rows, what they can be chosen by (label, name of a column, its values), and what every metric of them is."""

    rows: Sequence[Row]
    choices: Sequence[tuple[str, str, Sequence[str]]]
    glossary: Sequence[tuple[str, str]]


_CHOICES = {"group": "Kind", "system": "System"}
OF_SYSTEMS = {"system": "System", "title": "Metric", "attacker": "Attacker or recogniser", "data": "Data"}
"""What numbers of many systems can be chosen by."""


def numbers(results: Results, choices: Mapping[str, str] = MappingProxyType(_CHOICES)) -> Numbers:
    """All numbers, metric by metric; `choices` are columns to choose by, and their labels."""
    levelled = with_null_levels(entry.record for entry in results.entries)
    pairs = sorted(
        zip(results.entries, levelled, strict=True),
        key=lambda pair: (GROUPS.index(describe(pair[1].metric).group), rank(pair[1].metric)),
    )
    metrics = [describe(name) for name in dict.fromkeys(record.metric for _, record in pairs)]
    rows = [_row(entry, record) for entry, record in pairs]
    values = {name: list(dict.fromkeys(getattr(row, name) for row in rows)) for name in choices} | (
        {"system": list(results.systems)} if "system" in choices else {}
    )
    return Numbers(
        rows,
        [(label, name, [value for value in values[name] if value]) for name, label in choices.items()],
        [(m.title, f"{m.explanation or m.name} {_BETTER[m.better]}".rstrip()) for m in metrics],
    )


def _row(entry: Entry, record: Record) -> Row:
    metric = describe(record.metric)
    category = f" ({record.notes['tag']})" if "tag" in record.notes else ""
    interval, lowest = "", 0.0
    if record.lower is not None and record.upper is not None:
        interval, lowest = f"{metric.typeset(record.lower)} – {metric.typeset(record.upper)}", record.lower
    attack = f"{entry.model} ({record.condition})" if entry.model else record.condition
    notes = {name: record.notes[name] for name in _SHOWN_NOTES if name in record.notes}
    if NO_COST in record.notes:
        notes["no cost"] = record.notes[NO_COST]
    value = f"{metric.typeset(record.value)} {metric.unit}".rstrip() + category
    level = chance_level(record)
    about = "≈ " if "floor" in record.notes else ""
    return Row(
        title=metric.title,
        group=metric.group,
        system=record.system,
        data=set_title(record.set),
        attack=", ".join(filter(None, (attack, record.attacker))),
        details=", ".join(f"{name} {value}" for name, value in {**record.params, **notes}.items()),
        value=f"({value})" if NO_COST in record.notes else value,
        sort=_number(metric.scale * record.value),
        interval=interval,
        interval_sort=_number(metric.scale * lowest),
        chance="" if level is None else about + metric.typeset(level),
        attacker=record.attacker,
        counts=", ".join(f"{n} {name.replace('_', ' ')}" for name, n in record.counts.items() if n),
    )


def _number(value: float) -> str:
    """A number as JavaScript reads it."""
    return repr(float(value)).replace("inf", "Infinity")
