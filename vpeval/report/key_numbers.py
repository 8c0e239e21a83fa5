"""The compact table of a report: the few numbers that matter, of original speech, of systems and of baselines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from vpeval.figures.data import Results
from vpeval.records.attacks import UNPROTECTED, attack_model
from vpeval.records.metrics import Metric, describe
from vpeval.records.record import Record
from vpeval.records.remarks import PROTOCOL
from vpeval.report.verdict import stated
from vpeval.results.published import Published, published
from vpeval.results.shown import show_chance
from vpeval.results.worst import key_numbers


@dataclass(frozen=True)
class Cell:
    """A number with its interval, and the attack or recogniser that it is by."""

    value: str
    interval: str = ""
    by: str = ""


@dataclass(frozen=True)
class Row:
    """A metric: what it is, where chance is, and a cell per system; None where it was not measured."""

    title: str
    explanation: str
    aim: str
    chance: str
    cells: Sequence[Cell | None]


@dataclass(frozen=True)
class KeyTable:
    """The table; `published` are the names of baselines, which come after the systems, and `about` where they are from.

    `rebuilt` says that the sets of the run are not the official ones.
    """

    systems: Sequence[str]
    rows: Sequence[Row]
    partition: str
    published: Sequence[str] = ()
    about: Published | None = None
    rebuilt: bool = False


_AIMS = {+1: "higher is better", -1: "lower is better", 0: ""}


def key_table(results: Results, edition: str) -> KeyTable:
    """The table of some results; baselines of the edition stand beside systems that were measured on its corpus."""
    records = stated(results)
    numbers = key_numbers(records, results.systems, edition)
    recipes = {record.recipe for record in records if record.recipe}
    about = published(recipes.pop(), edition) if len(recipes) == 1 else None
    others: Mapping[str, Mapping[str, Record]] = about.systems if about else {}
    rows = [
        Row(
            number.metric.label,
            number.metric.explanation,
            _AIMS[number.metric.better],
            _chance(number.metric, number.of),
            [
                *(_cell(number.of.get(system)) for system in results.systems),
                *(_without_attack(_cell(own.get(number.metric.name))) for own in others.values()),
            ],
        )
        for number in numbers
    ]
    rebuilt = any(record.notes.get(PROTOCOL) == "rebuilt" for record in records)
    partition = "dev" if all(_is_dev(number.of.values()) for number in numbers) else "test"
    return KeyTable(results.systems, rows, partition, list(others), about, rebuilt)


def _is_dev(records: Iterable[Record]) -> bool:
    """Whether numbers are of development sets, or of sets that are of no partition."""
    return not any(record.set == "test" for record in records)


def _chance(metric: Metric, of: Mapping[str, Record]) -> str:
    """Chance of the last system, which is one that was anonymised, if there is any."""
    return show_chance(list(of.values())[-1]) if metric.aspect == "privacy" else ""


def _without_attack(cell: Cell | None) -> Cell | None:
    """Of baselines the attack is told once, below the table."""
    return replace(cell, by="") if cell else None


def _cell(record: Record | None) -> Cell | None:
    if record is None:
        return None
    kind = describe(record.metric)
    ends = [kind.typeset(end) for end in (record.lower, record.upper) if end is not None]
    model = attack_model(record)
    by = ", ".join(filter(None, (model if model != UNPROTECTED else "o-o", record.attacker)))
    return Cell(kind.typeset(record.value), " – ".join(ends) if len(ends) == 2 else "", by)
