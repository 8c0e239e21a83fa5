"""Numbers as text: with chance level and interval, in tables of plain text, and the tables of docs/metrics.md."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.records.metrics import GROUPS, OTHER, Metric, describe, known_metrics
from vpeval.records.record import TAGS, Record
from vpeval.results.origins import mark


def chance_level(record: Record) -> float | None:
    """Where nothing is disclosed: theory, or, where that is 0, what finite data measure there (`floor`), if stated.

    A share above 0 that theory gives, such as 1/N, is exact; a simulated floor of it is not.
    """
    theory = record.notes.get("chance", describe(record.metric).chance)
    if not theory and "floor" in record.notes:
        return float(record.notes["floor"])
    return None if theory is None else float(theory)


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


def cell(record: Record) -> str:
    """A number with its marks and its interval, as a cell of a table."""
    return f"{describe(record.metric).show(record.value)}{mark(record)} {show_interval(record)}".rstrip()


def aligned(table: Sequence[Sequence[str]]) -> str:
    """Cells in columns: words to the left, numbers to the right; empty columns are left out, repeated names blank."""
    columns = [i for i in range(len(table[0])) if any(row[i] for row in table[1:])]
    widths = {i: max(len(row[i]) for row in table) for i in columns}
    lines = []
    for row in table:
        cells = (row[i].rjust(widths[i]) if row[i][:1] in "0123456789+-" else row[i].ljust(widths[i]) for i in columns)
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def plain_table(records: Iterable[Record]) -> str:
    """A line per number: the tags and parameters that distinguish numbers, value, interval, chance and counts.

    >>> linked = Record("linkability", 0.4, params={"N": 20, "L": 1})
    >>> print(plain_table([Record("eer_kaldi", 0.05, lower=0.02, upper=0.09), linked]), end="")
                   N   L  value  95 % interval  chance
    EER (Kaldi) %          5.00  [2.00,9.00]        50
    Linkability %  20  1   40.0
    """
    records = list(records)
    tags = [tag for tag in TAGS if len({getattr(record, tag) for record in records}) > 1]
    params = _distinguishing(records)
    table = [["", *tags, *params, "value", "95 % interval", "chance", "of"]]
    for record in records:
        table.append(
            [
                describe(record.metric).label,
                *(str(getattr(record, tag)) for tag in tags),
                *(str(record.params.get(name, "")) for name in params),
                describe(record.metric).show(record.value),
                show_interval(record),
                show_chance(record) if describe(record.metric).aspect == "privacy" else "",
                ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in record.counts.items() if count),
            ]
        )
    counts = {row[-1] for row in table[1:]}
    if len(counts) == 1:
        # What all numbers rest on is shown once.
        table = [row[:-1] for row in table]
        return aligned(table) + "".join(f"{text}\n" for text in counts if text)
    return aligned(table)


def _distinguishing(records: Sequence[Record]) -> list[str]:
    """N and L, and the parameters that differ between records of one metric."""
    values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    names = dict.fromkeys(name for record in records for name in record.params)
    for record in records:
        for name in names:
            values[record.metric, name].add(str(record.params.get(name)))
    return [name for name in names if name in ("N", "L") or any(len(values[r.metric, name]) > 1 for r in records)]


_BETTER = {+1: "higher", -1: "lower", 0: ""}
_TABLE = re.compile(r"(<!-- metrics: (?P<group>[^\n]+?) -->\n).*?(<!-- end of metrics -->)", re.DOTALL)


def with_tables(page: str, path: Path) -> str:
    """A page of the documentation with its tables filled in; it must have a place for every group."""
    places = [match["group"] for match in _TABLE.finditer(page)]
    wanted = [group for group in GROUPS if group != OTHER]
    if sorted(places) != sorted(wanted):
        missing = ", ".join(sorted(set(wanted) ^ set(places))) or "a group twice"
        raise InputError(
            "must have lines '<!-- metrics: GROUP -->' and '<!-- end of metrics -->' for every group of "
            f"vpeval/records/metrics.py, once; check {missing}",
            path,
        )
    return _TABLE.sub(lambda match: match[1] + _table(match["group"]) + match[3], page)


def _table(group: str) -> str:
    rows = [_row(metric) for metric in known_metrics().values() if metric.group == group]
    heads = ["metric", "shown as", "better", "chance", "what it is"]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [heads, ["---"] * len(heads), *rows])


def _row(metric: Metric) -> list[str]:
    """Where a record states its chance level, the page cannot."""
    chance = "" if metric.chance is None else f"{metric.scale * metric.chance:g}"
    return [f"`{metric.name}`", metric.label, _BETTER[metric.better], chance, metric.explanation]
