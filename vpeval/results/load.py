"""Records of one or several runs, from results.jsonl or from results.txt."""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from os import PathLike
from pathlib import Path

from vpeval.errors import InputError
from vpeval.records import TAGS, Record, read_records
from vpeval.results import vpc2020
from vpeval.results.names import BOOKKEEPING, ORIGINAL


def load(paths: Sequence[str | PathLike[str]]) -> list[Record]:
    """All records, each number once.

    Runs repeat the numbers of the original data: the first file wins. Two values for one number of a system are an
    error.
    """
    numbers: dict[str, Record] = {}
    differing = 0
    for path in paths:
        for record in _read(Path(path)):
            known = numbers.setdefault(_identity(record), record)
            if known.value == record.value:
                continue
            if record.system != ORIGINAL:
                where = " ".join(filter(None, (record.system, record.set, record.condition)))
                raise InputError(f"a second, different {record.metric} for {where}; give each run once", path)
            differing += 1
    if differing:
        logging.warning(f"{differing} numbers of the original data differ between the files; the first ones are taken")
    return list(numbers.values())


def _read(path: Path) -> list[Record]:
    if path.suffix == ".jsonl":
        return read_records(path)
    # A results.txt does not name its system; its directory does, or a copy's own name as in RESULTS_mcadams.
    directory = path.absolute().parent.name
    return vpc2020.read(path, directory if path.name == "results.txt" else path.stem.removeprefix("RESULTS_"))


def _identity(record: Record) -> str:
    params = {name: value for name, value in record.params.items() if name not in BOOKKEEPING}
    return json.dumps([record.metric, *(getattr(record, tag) for tag in TAGS), params], sort_keys=True)
