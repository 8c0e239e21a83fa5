#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Collect the records of run directories in one table of results.

Usage: local/collect_results.py <out.jsonl> <run-dir> ...
 e.g.: local/collect_results.py exp/mini/runs/mcadams/results.jsonl exp/mini/runs/original exp/mini/runs/mcadams
"""

from pathlib import Path

from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.results.records import read_records, write_records


def main() -> None:
    """Join the records.jsonl of all conditions, in the order of their names."""
    parser = script.Parser(__doc__)
    parser.add_argument("out", metavar="out.jsonl", type=Path)
    parser.add_argument("runs", metavar="run-dir", type=Path, nargs="+")
    args = parser.parse_args()
    records = []
    for run in args.runs:
        files = sorted(run.glob("*/records.jsonl"))
        if not files:
            raise InputError("has no records.jsonl; run stages 6 and 10 first", run)
        for file in files:
            records += read_records(file)
    write_records(args.out, records)


if __name__ == "__main__":
    script.main(main)
