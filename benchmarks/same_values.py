"""Compare two tables of results number by number: what is gone, what is new, and what has another value.

Usage: python3 benchmarks/same_values.py [--tolerance X] old/results.jsonl new/results.jsonl

Numbers are matched by tags, metric and parameters, whatever their notes; tables of older versions are read. Exit
code 1 where a number is gone or differs by more than the tolerance (default 0).
"""

import argparse
import sys
from collections import Counter

from vpeval.records.record import Record, read_records


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tolerance", type=float, default=0.0)
    parser.add_argument("old")
    parser.add_argument("new")
    args = parser.parse_args()
    old, new = ({record.identity: record for record in read_records(path)} for path in (args.old, args.new))
    same = old.keys() & new.keys()
    other = [(old[key], new[key]) for key in same if abs(old[key].value - new[key].value) > args.tolerance]
    print(f"{len(old)} numbers before, {len(new)} now; {len(same)} are the same ones, {len(other)} of them differ")
    for title, records in (
        ("gone", [old[key] for key in old.keys() - same]),
        ("new", [new[key] for key in new.keys() - same]),
    ):
        for (metric, params), count in sorted(Counter((r.metric, _told(r)) for r in records).items()):
            print(f"{title}: {count} x {metric} {params}")
    worst: dict[str, tuple[float, Record, Record]] = {}
    for before, now in other:
        gap = abs(before.value - now.value)
        if gap > worst.get(now.metric, (-1.0, before, now))[0]:
            worst[now.metric] = gap, before, now
    for metric, (gap, before, now) in sorted(worst.items()):
        count = sum(one.metric == metric for one, _ in other)
        print(f"differs: {count} x {metric}, at most by {gap:.3g} ({before.value!r} -> {now.value!r}, {now.set})")
    return 1 if other or old.keys() - same else 0


def _told(record: Record) -> str:
    return " ".join(f"{name}={value}" for name, value in record.params.items() if name in ("mode", "estimator", "lm"))


if __name__ == "__main__":
    sys.exit(main())
