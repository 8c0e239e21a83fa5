"""Systems beside each other in one table: averages over the sets of a partition, with their intervals."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from vpeval.core.errors import InputError
from vpeval.records.averages import averages
from vpeval.records.metrics import describe, rank
from vpeval.records.names import CONDITIONS, ORIGINAL, SetName
from vpeval.records.record import Record
from vpeval.results.headline import EERS, in_challenge_mode, with_one_eer
from vpeval.results.shown import show_interval

_OVERVIEW = ("min_cllr", "dsys_calibrated", "deid", "wer", "uar", "pitch_correlation", "g_vd")


def means(records: Iterable[Record]) -> list[Record]:
    """Averages per partition.

    Of recognition those of all speakers, with the large language model if there is one; of metrics with several
    estimators the challenge's, if it is there.
    """
    records = [r for r in records if _partition(r) and not (r.metric in ("wer", "cer") and r.gender)]
    refuse_unlike(records)
    records = in_challenge_mode(records, lambda record: record)
    large = {(r.system, r.attacker) for r in records if r.metric == "wer" and r.params.get("lm") == "large"}
    return averages(r for r in records if (r.system, r.attacker) not in large or r.params.get("lm") != "small")


def refuse_unlike(records: Iterable[Record]) -> None:
    """Averages stand beside each other only if they are over the same sets of a corpus, and by the same text rules."""
    sets: defaultdict[tuple[str, ...], defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    rules: dict[str, tuple[str, str]] = {}
    for record in records:
        name = SetName.parse(record.set)
        if name and name.partition and record.system != ORIGINAL:
            key = record.metric, record.condition, record.attacker, name.corpus, name.partition
            sets[key][record.system].add(record.set)
        if stated := record.params.get("normalizer"):
            first, system = rules.setdefault(record.metric, (stated, record.system))
            if first != stated and system != record.system:
                message = (
                    f"{record.metric} of {system} was counted by the text rules {first}, of {record.system} by {stated}"
                )
                raise InputError(f"{message}; run both for the same edition to compare them")
    for (metric, *_), systems in sets.items():
        (one, have), *others = systems.items()
        for other, found in others:
            if odd := sorted(have ^ found):
                message = f"{metric}: {one} and {other} were not measured on the same sets ({odd[0]}); run both on all"
                raise InputError(message)


def overview(records: Iterable[Record], edition: str) -> str:
    """A table with a line per system, attack and metric, and the averages of both partitions with their intervals."""
    rows: defaultdict[tuple[object, ...], dict[str, Record]] = defaultdict(dict)
    all_means = [r for r in with_one_eer(means(records), edition) if r.metric in (*EERS, *_OVERVIEW)]
    systems = [ORIGINAL, *dict.fromkeys(r.system for r in all_means if r.system != ORIGINAL)]
    for r in all_means:
        condition = CONDITIONS.index(r.condition) if r.condition in CONDITIONS else len(CONDITIONS)
        found = rows[rank(r.metric), condition, systems.index(r.system), r.attacker, r.condition]
        if r.set in found:
            raise InputError(f"two values of {r.metric} for {r.system} {r.set} {r.condition}; choose one estimator")
        found[r.set] = r
    if not rows:
        raise InputError("no verification or recognition results to compare; run the scoring stages first")
    partitions = sorted({name for found in rows.values() for name in found})
    table = [["", "system", "condition", "attacker", *partitions]]
    for key in sorted(rows):
        one = next(iter(rows[key].values()))
        cells = [cell(rows[key][name]) if name in rows[key] else "-" for name in partitions]
        names = [describe(one.metric).label, one.system, "-".join(one.condition), one.attacker]
        table.append([*names, *cells])
    return aligned(table)


def cell(record: Record) -> str:
    """A number with its interval, as a cell of a table."""
    return f"{describe(record.metric).show(record.value)} {show_interval(record)}".rstrip()


def aligned(table: Sequence[Sequence[str]]) -> str:
    """Cells in columns: words to the left, numbers to the right; empty columns are left out, repeated names blank."""
    columns = [i for i in range(len(table[0])) if any(row[i] for row in table[1:])]
    widths = {i: max(len(row[i]) for row in table) for i in columns}
    lines = []
    for row in table:
        cells = (row[i].rjust(widths[i]) if row[i][:1] in "0123456789+-" else row[i].ljust(widths[i]) for i in columns)
        lines.append("  ".join(cells).rstrip() + "\n")
    return "".join(lines)


def _partition(record: Record) -> str:
    name = SetName.parse(record.set)
    return name.partition if name else ""
