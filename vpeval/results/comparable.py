"""Numbers of several runs side by side: what is alike is kept, and what is not is named.

A clash leaves out a number, never a system: an attacker that scored or was calibrated otherwise, or is another model of
the same name; words that were counted by other rules; means over other sets; two values for one number of original
speech. What most systems have is kept, or else what the first of them has. Inside one table such a clash is an error.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.run_names import base_and_seed
from vpeval.data.layout import first_few
from vpeval.records.metrics import describe, known_metrics
from vpeval.records.names import (
    CONDITIONS,
    IGNORANT,
    LAZY,
    ORIGINAL,
    OTHER_DATA,
    PUBLISHED,
    UNPROTECTED,
    SetName,
    attack_model,
)
from vpeval.records.record import DATA_DIGEST, MODEL_DIGEST, Record

Table = Sequence[Record]
_Way = Callable[[Record], tuple[Hashable, str] | None]
"""What a record is about, and the way in which it was measured; None where any way will do."""


@dataclass(frozen=True)
class Comparable:
    """Records, each number once, and sentences about what was left out."""

    records: list[Record]
    left_out: tuple[str, ...] = ()


def comparable(tables: Mapping[Path, Table]) -> Comparable:
    """The records of all tables, by their files, that can be compared.

    Of original speech those with the seed of most tables are kept.
    """
    for path, table in tables.items():
        _refuse_mixture(path, table)
    left_out: list[str] = []
    kept = _of_one_seed(list(tables.values()))
    for way, says in _WAYS:
        kept = _keep_alike(kept, way, says, left_out)
    kept = _keep_same_sets(kept, left_out)
    return Comparable(_merge(dict(zip(tables, kept, strict=True)), left_out), tuple(left_out))


def _systems(table: Table) -> list[str]:
    return list(dict.fromkeys(record.system for record in table if record.system != ORIGINAL))


def one_run_each(systems: Iterable[str]) -> list[str]:
    """Of every system the run with the seed that most of them have, or else with its least seed.

    >>> one_run_each(["a", "a_seed1", "b_seed1", "b_seed2", "c_seed3"])
    ['a_seed1', 'b_seed1', 'c_seed3']
    """
    names = list(dict.fromkeys(systems))
    chosen = _usual_seed(base_and_seed(name)[1] for name in names)
    runs: dict[str, list[tuple[bool, int, str]]] = {}
    for name in names:
        base, seed = base_and_seed(name)
        runs.setdefault(base, []).append((seed != chosen, seed, name))
    return [min(own)[2] for own in runs.values()]


def _usual_seed(seeds: Iterable[int]) -> int:
    """The seed that most runs have, the least of several."""
    found = Counter(seeds)
    return min(found, key=lambda seed: (-found[seed], seed), default=0)


def _of_one_seed(tables: Sequence[Table]) -> list[list[Record]]:
    """The tables, where those of other seeds than most have no original speech: that, too, was measured with a seed."""
    seeds = [{base_and_seed(name)[1] for name in _systems(table)} for table in tables]
    chosen = _usual_seed(seed for own in seeds for seed in own)
    return [
        [record for record in table if record.system != ORIGINAL or not own or chosen in own]
        for table, own in zip(tables, seeds, strict=True)
    ]


def _scored(note: str) -> _Way:
    def way(record: Record) -> tuple[Hashable, str] | None:
        if record.condition not in CONDITIONS or note not in record.notes:
            return None
        return record.attacker, str(record.notes[note])

    return way


def _model(record: Record) -> tuple[Hashable, str] | None:
    """The model behind a number; those that were trained on speech of a system differ between systems."""
    if MODEL_DIGEST not in record.notes:
        return None
    if record.condition in CONDITIONS and attack_model(record) not in (UNPROTECTED, IGNORANT, LAZY):
        return None
    seed = 0 if record.system == ORIGINAL else base_and_seed(record.system)[1]
    return (record.recipe, record.model, seed), str(record.notes[MODEL_DIGEST])


def _rules(record: Record) -> tuple[Hashable, str] | None:
    rules = record.params.get("normalizer")
    return (record.metric, str(rules)) if rules else None


_WAYS: tuple[tuple[_Way, str], ...] = (
    (_scored("scoring"), "{what} was scored as {other} for {system}, not as {way} as for others"),
    (_scored("calibration"), "{what} has calibration {other} for {system}, not {way} as for others"),
    (_scored("members"), "{what} fuses {other} for {system}, not {way} as for others"),
    (_model, "{what} is another model for {system} than for others"),
    (_rules, "{what} of {system} was counted by the text rules {other}, not by {way} as for others"),
)


def _keep_alike(tables: Sequence[Table], way: _Way, says: str, left_out: list[str]) -> list[list[Record]]:
    """The records that were measured in the way of most tables."""
    votes: defaultdict[Hashable, dict[str, int]] = defaultdict(dict)
    for table in tables:
        for subject, name in dict.fromkeys(filter(None, map(way, table))):
            votes[subject][name] = votes[subject].get(name, 0) + 1
    best = {subject: max(names, key=lambda name: names[name]) for subject, names in votes.items()}
    kept = []
    for table in tables:
        system = ", ".join(_systems(table)) or ORIGINAL
        own, dropped = [], dict[str, None]()
        for record in table:
            found = way(record)
            if found is None or best[found[0]] == found[1]:
                own.append(record)
                continue
            subject, other = found
            what = _title(subject) if way is _rules else record.model
            dropped[says.format(what=what, other=other, system=system, way=best[subject])] = None
        left_out += [f"{sentence}: its numbers are left out; run both alike." for sentence in dropped]
        kept.append(own)
    return kept


def _title(metric: Hashable) -> str:
    return describe(str(metric)).title if metric in known_metrics() else str(metric)


def _keep_same_sets(tables: Sequence[Table], left_out: list[str]) -> list[list[Record]]:
    """The records of partitions that systems were measured on alike: means over other sets are other numbers."""
    sets: defaultdict[tuple[str, ...], defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for record in (record for table in tables for record in table):
        if key := _partition(record):
            sets[key][record.system].add(record.set)
    odd: dict[tuple[str, ...], set[str]] = {}
    sentences: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for key, systems in sets.items():
        counts = Counter(frozenset(found) for found in systems.values())
        most = max(counts, key=lambda found: (counts[found], len(found)))
        for system, found in systems.items():
            if found != most:
                odd.setdefault(key, set()).add(system)
                other = min(most ^ found)
                sentences[system, other].append(_title(key[0]))
    for (system, other), metrics in sentences.items():
        words = first_few(list(dict.fromkeys(metrics)), 4)
        left_out.append(f"{system} was not measured on the same sets as others ({other}): {words} are left out.")
    return [[record for record in table if record.system not in odd.get(_partition(record), ())] for table in tables]


def _partition(record: Record) -> tuple[str, ...]:
    """What a mean over sets is a mean of; empty where a record takes part in none."""
    name = SetName.parse(record.set)
    if not name or not name.partition or record.system == ORIGINAL or OTHER_DATA in record.notes:
        return ()
    return record.metric, record.condition, record.model, name.corpus, name.partition


def _merge(tables: Mapping[Path, Table], left_out: list[str]) -> list[Record]:
    """Each number once; two values for a number of original speech leave it out, for one of a system are an error.

    Published numbers of original speech may differ, as they are rounded: the first ones are used.
    """
    numbers: dict[str, Record] = {}
    clashes: dict[str, Record] = {}
    rounded = 0
    for path, table in tables.items():
        for record in table:
            known = numbers.setdefault(record.identity, record)
            if known.value == record.value:
                continue
            if record.system != ORIGINAL:
                where = " ".join(filter(None, (record.system, record.set, record.condition)))
                message = f"a second, different {record.metric} for {where}; give each run once, or another name to one"
                raise InputError(message, path)
            if PUBLISHED in known.notes or PUBLISHED in record.notes:
                rounded += 1
            else:
                clashes[record.identity] = record
    if rounded:
        left_out.append(f"{rounded} numbers of the original data differ between the files; the first ones are used.")
    subjects = Counter((_title(record.metric), record.model) for record in clashes.values())
    for (title, model), count in subjects.items():
        by = f" by {model}" if model else ""
        left_out.append(
            f"{title}{by} of original speech differs between runs: {count} numbers are left out; run all systems with "
            "the same options."
        )
    return [record for identity, record in numbers.items() if identity not in clashes]


def _refuse_mixture(path: Path, records: Table) -> None:
    """One table comes from one run: each attacker has one way of scoring and one model, each set one kind of data."""
    known: dict[tuple[object, ...], str] = {}
    for record in records:
        ways = [(note, found) for note in ("scoring", "calibration") if (found := _scored(note)(record))]
        for note, (attacker, name) in ways:
            if (way := known.setdefault((note, attacker), name)) != name:
                raise InputError(
                    f"{note} of attacker '{attacker}' is {way} for some of these numbers and {name} for others: they "
                    "cannot be compared; run the evaluation again",
                    path,
                )
        for note, what, key in (
            (DATA_DIGEST, f"data of {record.system} on {record.set}", (record.recipe, record.system, record.set)),
            (MODEL_DIGEST, f"model of '{record.model}'", (record.recipe, record.system, "", record.model)),
        ):
            if note in record.notes and known.setdefault(key, record.notes[note]) != record.notes[note]:
                raise InputError(
                    f"these numbers are a mixture: not all come from the same {what}; run the evaluation again", path
                )
