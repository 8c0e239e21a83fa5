"""Numbers of several runs, recipes and publications next to each other: what keeps them apart, and their marks.

A view compares like with like. So a system or a model of another recipe or publication never has the name of one that
was there before, and a number on other data than the first run is marked (`OTHER_DATA`) and left out of rankings.
Published numbers are marked as well (`PUBLISHED`); they have no intervals and are in no test.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import replace

from vpeval.records.metrics import describe
from vpeval.records.names import ORIGINAL, OTHER_DATA, PROTOCOL, PUBLICATION, PUBLISHED, SetName
from vpeval.records.record import Record

DAGGER, DOUBLE_DAGGER = "†", "‡"
"""The marks of a published number, and of one on other data."""
_CHOSEN = "chosen"
"""The note that names the attacker of a strongest attack."""
_AVERAGES = ("dev", "test")
_Origin = tuple[bool, str]
_Kind = tuple[str, str]
"""Metric (all estimators of the EER are one) and partition: an average is over the sets of one kind."""


def told_apart(records: Sequence[Record]) -> list[Record]:
    """The records with names that tell systems and models of different origins apart, and with notes on other data.

    Names of the first recipe stay. Those of another recipe or publication get its name where they are those of a
    system or model of a different origin.
    """
    recipe = next((record.recipe for record in records if record.recipe and PUBLISHED not in record.notes), "")
    origins = [_origin(record, recipe) for record in records]
    order = sorted(dict.fromkeys(origins), key=lambda origin: origin[0])  # runs before publications
    if len(order) < 2:
        return list(records)
    renamed = {tag: _clashing(records, origins, order, tag) for tag in ("system", "attacker", "recogniser")}
    others = _other_data(records, origins, order)
    found = []
    for record, origin in zip(records, origins, strict=True):
        names = {
            tag: f"{getattr(record, tag)} ({_label(origin, tag)})"
            for tag, clashes in renamed.items()
            if (origin, getattr(record, tag)) in clashes
        }
        notes = dict(record.notes)
        if (origin, notes.get(_CHOSEN)) in renamed["attacker"]:
            notes[_CHOSEN] = f"{notes[_CHOSEN]} ({_label(origin, 'attacker')})"
        if data := others.get((origin, record.system, _kind(record))):
            notes[OTHER_DATA] = data
        found.append(replace(record.tagged(names), notes=notes))
    return found


def without_foreign_original(records: Iterable[Record]) -> list[Record]:
    """The records without published numbers of original speech where there are own ones, to show them as one system."""
    records = list(records)
    if not any(record.system == ORIGINAL and PUBLISHED not in record.notes for record in records):
        return records
    return [record for record in records if record.system != ORIGINAL or PUBLISHED not in record.notes]


def is_average(record: Record) -> bool:
    """Whether a number was published as the average of a partition, without those of its sets."""
    return PUBLISHED in record.notes and record.set in _AVERAGES


def mark(record: Record) -> str:
    """The marks of a number: a dagger if it is published, a double dagger if it is on other data."""
    return DAGGER * (PUBLISHED in record.notes) + DOUBLE_DAGGER * (OTHER_DATA in record.notes)


def footnotes(records: Iterable[Record]) -> list[str]:
    """What the marks of some numbers mean, a line for every source and for all other data."""
    sources: dict[str, None] = {}
    data: dict[str, None] = {}
    for record in records:
        if PUBLISHED in record.notes:
            sources[str(record.notes[PUBLISHED])] = None
        if OTHER_DATA in record.notes:
            data[str(record.notes[OTHER_DATA])] = None
    lines = [f"{DAGGER} published: {source}" for source in sources]
    if data:
        lines.append(f"{DOUBLE_DAGGER} measured on other data ({'; '.join(data)}), so not ranked")
    return lines


def _origin(record: Record, first: str) -> _Origin:
    """Whether a number is published, and the publication; else its recipe, the `first` one where it names none."""
    if PUBLISHED in record.notes:
        return True, str(record.notes.get(PUBLICATION, PUBLISHED))
    return False, record.recipe or first


def _label(origin: _Origin, tag: str) -> str:
    return origin[1] if tag == "system" else origin[1].removeprefix(f"{PUBLISHED} ")


def _clashing(
    records: Sequence[Record], origins: Sequence[_Origin], order: Sequence[_Origin], tag: str
) -> set[tuple[_Origin, str]]:
    """The names of a tag that are not those of their origin alone; the first run keeps its names."""
    owners: defaultdict[str, set[_Origin]] = defaultdict(set)
    for record, origin in zip(records, origins, strict=True):
        if (name := getattr(record, tag)) and name != ORIGINAL:
            owners[name].add(origin)
    keeps = order[0] if not order[0][0] else None
    return {(one, name) for name, own in owners.items() if len(own) > 1 for one in own if one != keeps}


def _other_data(
    records: Sequence[Record], origins: Sequence[_Origin], order: Sequence[_Origin]
) -> dict[tuple[_Origin, str, _Kind], str]:
    """The corpora of the systems whose numbers are not on the sets of the first origin."""
    own: defaultdict[tuple[_Origin, str, _Kind], set[str]] = defaultdict(set)
    whole: defaultdict[tuple[_Origin, _Kind], set[str]] = defaultdict(set)
    for record, origin in zip(records, origins, strict=True):
        kind = _kind(record)
        # Sets that were drawn anew are not those of the same names that others were measured on.
        name = f"{record.set} {record.recipe}" if record.notes.get(PROTOCOL) == "rebuilt" else record.set
        sets = {name} - set(_AVERAGES)
        own[origin, record.system, kind] |= sets
        whole[origin, kind] |= sets
    known = {name for (origin, _), sets in whole.items() if origin == order[0] for name in sets}
    found = {}
    for (origin, system, kind), sets in own.items():
        measured = sets or whole[origin, kind]  # where averages alone are published
        alike = {_role(name) for name in measured}
        if origin != order[0] and measured != (whole[order[0], kind] or {n for n in known if _role(n) in alike}):
            found[origin, system, kind] = _corpora(measured) or origin[1]
    return found


def _kind(record: Record) -> _Kind:
    parts = SetName.parse(record.set)
    partition = parts.partition if parts else record.set if record.set in _AVERAGES else ""
    return describe(record.metric).estimator_of or record.metric, partition


def _role(name: str) -> tuple[str, str]:
    """What a set is for, and its partition."""
    parts = SetName.parse(name.split(" ")[0])
    return (parts.role, parts.partition) if parts else ("", "")


def _corpora(sets: Iterable[str]) -> str:
    parsed = [SetName.parse(name.split(" ")[0]) for name in sorted(sets)]
    return ", ".join(dict.fromkeys(parts.corpus for parts in parsed if parts))
