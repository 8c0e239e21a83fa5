"""Records from results.jsonl, from result files of any edition and from published tables, and a choice of them."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import read_lines
from vpeval.editions.base import format_of, system_of
from vpeval.records.metrics import known_metrics
from vpeval.records.names import CONDITIONS, ORIGINAL, PUBLISHED
from vpeval.records.record import Record, read_records
from vpeval.results.comparable import Comparable, comparable
from vpeval.results.origins import told_apart
from vpeval.results.published import BASELINES, HEADER, read_baselines, read_tables

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Source:
    """A file, and the name of its anonymised system where the file should not decide it."""

    path: Path
    system: str = ""

    @classmethod
    def parse(cls, text: str) -> Source:
        """``NAME=PATH`` or ``PATH``."""
        name, equals, path = text.partition("=")
        return cls(Path(path), name) if equals and name and not Path(text).exists() else cls(Path(text))


def load(sources: Sequence[Source | str | PathLike[str]]) -> list[Record]:
    """All records that can be compared, each number once; warnings tell what was left out."""
    found = load_comparable(sources)
    for sentence in found.left_out:
        log.warning(sentence)
    return found.records


def load_comparable(sources: Sequence[Source | str | PathLike[str]]) -> Comparable:
    """The records of several files that can be compared, and what was left out: see `vpeval.results.comparable`."""
    tables: dict[Path, list[Record]] = {}
    for record, path in read_all(sources):
        tables.setdefault(path, []).append(record)
    return comparable(tables)


def read_all(sources: Iterable[Source | str | PathLike[str]]) -> list[tuple[Record, Path]]:
    """The records of some files, each with its file; systems and models of different origins have different names."""
    given = [one if isinstance(one, Source) else Source(Path(one)) for one in sources]
    found = [(record, source.path) for source in given for record in read(source)]
    records = told_apart([record for record, _ in found])
    return [(record, path) for record, (_, path) in zip(records, found, strict=True)]


def read(source: Source) -> list[Record]:
    """The records of one file of any kind, which its first line shows; those of result files are published ones."""
    path = source.path
    line, first = next(read_lines(path, blanks=True), (1, ""))
    if not first:
        raise InputError("is empty; was the run that wrote it completed?", path, line)
    if first.lstrip().startswith("{"):
        return _renamed(read_records(path), source)
    if first == HEADER:
        return _renamed(read_tables(path), source)
    if first.startswith(BASELINES):
        return _renamed(read_baselines(path), source)
    if found := format_of(first):
        records = found.read(path, source.system or system_of(path))
        return [record.with_notes({PUBLISHED: path.name}) for record in records]
    raise InputError("is neither a results file of the challenges, nor results.jsonl, nor published tables", path, line)


def _renamed(records: list[Record], source: Source) -> list[Record]:
    systems = {record.system for record in records} - {ORIGINAL}
    if not source.system:
        return records
    if len(systems) > 1:
        raise InputError(f"holds {len(systems)} systems; only a single one can be named '{source.system}'", source.path)
    return [r if r.system == ORIGINAL else r.tagged({"system": source.system}) for r in records]


def select(
    records: Iterable[Record], metrics: Sequence[str] = (), attackers: Sequence[str] = (), systems: Sequence[str] = ()
) -> list[Record]:
    """The records of the named metrics, attackers and systems, where any are named; systems come in the given order.

    Attackers choose among the numbers of attacks alone: recognisers and the like are not among them.
    """
    records = list(records)
    _refuse_unknown("metric", metrics, {r.metric for r in records}, known_metrics())
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
