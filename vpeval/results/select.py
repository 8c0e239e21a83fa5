"""Choosing among records: which metrics, attackers and systems a table is about."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from vpeval.core.errors import InputError
from vpeval.records.metrics import METRICS
from vpeval.records.names import CONDITIONS
from vpeval.records.record import Record


def select(
    records: Iterable[Record], metrics: Sequence[str] = (), attackers: Sequence[str] = (), systems: Sequence[str] = ()
) -> list[Record]:
    """The records of the named metrics, attackers and systems, where any are named; systems come in the given order.

    Attackers choose among the numbers of attacks alone: recognisers and the like are not among them.
    """
    records = list(records)
    _refuse_unknown("metric", metrics, {r.metric for r in records}, METRICS)
    _refuse_unknown("attacker", attackers, {r.attacker for r in records if r.condition in CONDITIONS})
    _refuse_unknown("system", systems, {r.system for r in records})
    chosen = [
        r
        for r in records
        if (not metrics or r.metric in metrics)
        and (not attackers or r.condition not in CONDITIONS or r.attacker in attackers)
        and (not systems or r.system in systems)
    ]
    return sorted(chosen, key=lambda r: systems.index(r.system)) if systems else chosen


def _refuse_unknown(what: str, names: Sequence[str], there: Collection[str], known: Collection[str] = ()) -> None:
    for name in names:
        if name not in there:
            why = f"no {what} '{name}' in these results" if name not in known else f"'{name}' was not measured"
            raise InputError(f"{why}; there are: {', '.join(sorted(there)) or 'none'}")
