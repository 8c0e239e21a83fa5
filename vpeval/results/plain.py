"""Records as one small table, whatever they are about: what a scorer prints when it is used alone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from vpeval.records.metrics import describe
from vpeval.records.record import TAGS, Record
from vpeval.results.overview import aligned
from vpeval.results.shown import show_chance, show_interval


def plain_table(records: Iterable[Record]) -> str:
    """A line per number: the tags and parameters that tell numbers apart, value, interval, chance, what it rests on.

    >>> linked = Record("linkability", 0.4, params={"N": 20, "L": 1})
    >>> print(plain_table([Record("eer_kaldi", 0.05, lower=0.02, upper=0.09), linked]), end="")
                   N   L  value  95 % interval  chance
    EER (Kaldi) %          5.00  [2.00,9.00]        50
    Linkability %  20  1   40.0
    """
    records = list(records)
    tags = [tag for tag in TAGS if len({getattr(record, tag) for record in records}) > 1]
    params = _telling(records)
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
        # What all numbers rest on is said once.
        table = [row[:-1] for row in table]
        return aligned(table) + "".join(f"{text}\n" for text in counts if text)
    return aligned(table)


def _telling(records: Sequence[Record]) -> list[str]:
    """N and L, and the parameters that differ between records of one metric."""
    values: defaultdict[tuple[str, str], set[str]] = defaultdict(set)
    names = dict.fromkeys(name for record in records for name in record.params)
    for record in records:
        for name in names:
            values[record.metric, name].add(str(record.params.get(name)))
    return [name for name in names if name in ("N", "L") or any(len(values[r.metric, name]) > 1 for r in records)]
