"""Chance levels and intervals of records, as they are shown beside the numbers."""

from __future__ import annotations

from collections.abc import Iterable

from vpeval.records.metrics import describe
from vpeval.records.record import Record


def chance_level(record: Record) -> float | None:
    """Where nothing is disclosed: what finite data measure there (`floor`), if the record states it, or else theory."""
    for name in ("floor", "chance"):
        if name in record.notes:
            return float(record.notes[name])
    return describe(record.metric).chance


def show_chance(record: Record) -> str:
    """The chance level of a record as it is shown; empty where there is none.

    >>> show_chance(Record("eer_kaldi", 0.07)), show_chance(Record("linkability", 0.6, notes={"chance": 0.05}))
    ('50', '5.0')
    """
    level, metric = chance_level(record), describe(record.metric)
    if level is None:
        return ""
    return f"{metric.scale * level:g}" if level == metric.chance else metric.show(level)


def show_interval(record: Record) -> str:
    """``[3.41,8.20]`` in the shown unit; empty where the record has none."""
    if record.lower is None or record.upper is None:
        return ""
    metric = describe(record.metric)
    return f"[{metric.show(record.lower)},{metric.show(record.upper)}]"


def with_null_levels(records: Iterable[Record]) -> list[Record]:
    """The records, D_sys with a floor: finite data do not give 0 by chance, but what they give at shuffled labels."""
    records = list(records)
    levels = {_attack(record): record.value for record in records if record.metric == "dsys_null"}
    return [
        r.with_notes({"floor": levels[_attack(r)]}) if r.metric == "dsys" and _attack(r) in levels else r
        for r in records
    ]


def _attack(record: Record) -> tuple[str, ...]:
    return record.system, record.set, record.gender, record.condition, record.attacker
