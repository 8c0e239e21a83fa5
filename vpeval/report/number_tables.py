"""The tables of a report: the key numbers of systems and baselines, and all numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from vpeval.figures.run_results import Entry, Results
from vpeval.records.metrics import GROUPS, Metric, describe, rank
from vpeval.records.names import NO_COST, PROTOCOL, UNPROTECTED, attack_model, set_title
from vpeval.records.record import Record
from vpeval.results.published import Published, published
from vpeval.results.text_tables import chance_level, show_chance, with_null_levels
from vpeval.results.worst import key_numbers, with_choice

_AIMS = {+1: "higher is better", -1: "lower is better", 0: ""}
_SHOWN_NOTES = ("scoring", "calibration")
_FILTERS = MappingProxyType({"group": "Kind", "system": "System"})
SYSTEM_FILTERS = MappingProxyType(
    {"system": "System", "title": "Metric", "model": "Attacker or recogniser", "data": "Data"}
)
"""The columns to filter the numbers of many systems by, and their labels."""
_COLUMNS = MappingProxyType(
    {
        "title": "Metric",
        "system": "System",
        "data": "Data",
        "attack": "Attack",
        "model": "Attacker or recogniser",
        "details": "Details",
        "value": "Value",
        "interval": "95 % interval",
        "chance": "Chance",
        "counts": "Counts",
    }
)
"""The columns of the table of all numbers, and their heads."""


@dataclass(frozen=True)
class KeyCell:
    """A number with its interval, and its attack or recogniser."""

    value: str
    interval: str = ""
    by: str = ""


@dataclass(frozen=True)
class KeyRow:
    """A metric with its chance level, and a cell per system; None if it was not measured."""

    title: str
    explanation: str
    aim: str
    chance: str
    cells: Sequence[KeyCell | None]


@dataclass(frozen=True)
class KeyTable:
    """The key numbers. Columns are the systems, then the baselines (`published`), which `about` describes.

    `rebuilt`: the sets of the run are not the official ones.
    """

    systems: Sequence[str]
    rows: Sequence[KeyRow]
    partition: str
    published: Sequence[str] = ()
    about: Published | None = None
    rebuilt: bool = False


def key_table(results: Results, edition: str) -> KeyTable:
    """The key numbers of all systems, and of the baselines of the edition on its own corpus."""
    numbers = key_numbers(results.records, results.systems, edition)
    recipes = {record.recipe for record in results.records if record.recipe}
    about = published(recipes.pop(), edition) if len(recipes) == 1 else None
    baselines: Mapping[str, Mapping[str, Record]] = about.systems if about else {}
    rows = [
        KeyRow(
            number.metric.label,
            number.metric.explanation,
            _AIMS[number.metric.better],
            _chance(number.metric, number.of),
            [
                *(_key_cell(number.of.get(system)) for system in results.systems),
                *(_without_attack(_key_cell(own.get(number.metric.name))) for own in baselines.values()),
            ],
        )
        for number in numbers
    ]
    rebuilt = any(record.notes.get(PROTOCOL) == "rebuilt" for record in results.records)
    partition = "dev" if all(_is_dev(number.of.values()) for number in numbers) else "test"
    return KeyTable(results.systems, rows, partition, list(baselines), about, rebuilt)


def _is_dev(records: Iterable[Record]) -> bool:
    """Whether numbers are of development sets, or of sets without a partition."""
    return not any(record.set == "test" for record in records)


def _chance(metric: Metric, values: Mapping[str, Record]) -> str:
    """The chance level for the last system, which is an anonymised one if there is any."""
    return show_chance(list(values.values())[-1]) if metric.aspect == "privacy" else ""


def _without_attack(cell: KeyCell | None) -> KeyCell | None:
    """The attack on baselines is named once, below the table."""
    return replace(cell, by="") if cell else None


def _key_cell(record: Record | None) -> KeyCell | None:
    if record is None:
        return None
    attack = attack_model(record)
    by = ", ".join(filter(None, (attack if attack != UNPROTECTED else "o-o", record.model)))
    return KeyCell(describe(record.metric).typeset(record.value), show_range(record), by)


def show_range(record: Record) -> str:
    """The interval of a record, ``3.41 – 8.20``; empty if it has none."""
    metric = describe(record.metric)
    if record.lower is None or record.upper is None:
        return ""
    return f"{metric.typeset(record.lower)} – {metric.typeset(record.upper)}"


@dataclass(frozen=True)
class NumberRow:
    """A number as it is shown."""

    title: str
    group: str
    system: str
    data: str
    attack: str
    model: str
    details: str
    value: str
    interval: str
    chance: str
    counts: str

    @property
    def cells(self) -> list[str]:
        """The texts of all columns but the first."""
        return [getattr(self, name) for name in _COLUMNS if name != "title"]


@dataclass(frozen=True)
class Numbers:
    """All rows, the filters (label, field, place of its column or None, values), and what the metrics are."""

    rows: Sequence[NumberRow]
    filters: Sequence[tuple[str, str, int | None, Sequence[str]]]
    glossary: Sequence[tuple[str, str]]
    heads: Sequence[str] = tuple(_COLUMNS.values())


def numbers(results: Results, filters: Mapping[str, str] = _FILTERS) -> Numbers:
    """All numbers, metric by metric; `filters` are columns and their labels."""
    records = [entry.record for entry in results.entries]
    pairs = sorted(
        zip(results.entries, with_null_levels(with_choice(records, records)), strict=True),
        key=lambda pair: (GROUPS.index(describe(pair[1].metric).group), rank(pair[1].metric)),
    )
    metrics = [describe(name) for name in dict.fromkeys(record.metric for _, record in pairs)]
    rows = [_number_row(entry, record) for entry, record in pairs]
    values = {name: list(dict.fromkeys(getattr(row, name) for row in rows)) for name in filters}
    places = list(_COLUMNS)
    if "system" in filters:
        values["system"] = list(results.systems)
    return Numbers(
        rows,
        [
            (label, name, places.index(name) if name in places else None, [value for value in values[name] if value])
            for name, label in filters.items()
        ],
        [(m.title, f"{m.explanation or m.name} {_sentence(_AIMS[m.better])}".rstrip()) for m in metrics],
    )


def _number_row(entry: Entry, record: Record) -> NumberRow:
    metric = describe(record.metric)
    category = f" ({record.notes['tag']})" if "tag" in record.notes else ""
    attack = f"{entry.attack_model} ({record.condition})" if entry.attack_model else record.condition
    notes = {name: record.notes[name] for name in _SHOWN_NOTES if name in record.notes}
    if NO_COST in record.notes:
        notes["no cost"] = record.notes[NO_COST]
    value = f"{metric.typeset(record.value)} {metric.unit}".rstrip() + category
    level = chance_level(record)
    about = "≈ " if level == record.notes.get("floor") else ""
    return NumberRow(
        title=metric.title,
        group=metric.group,
        system=record.system,
        data=set_title(record.set),
        attack=attack,
        model=record.model,
        details=", ".join(f"{name} {value}" for name, value in {**record.params, **notes}.items()),
        value=f"({value})" if NO_COST in record.notes else value,
        interval=show_range(record),
        chance="" if level is None else about + metric.typeset(level),
        counts=", ".join(f"{n} {name.replace('_', ' ')}" for name, n in record.counts.items() if n),
    )


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}." if words else ""


def sort_key(value: float) -> str:
    """A number in the notation of JavaScript."""
    return repr(float(value)).replace("inf", "Infinity")
