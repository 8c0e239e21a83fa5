"""The log of a training, epochs.jsonl: a JSON object a line, with "epoch" and any numbers."""

from __future__ import annotations

import json
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import read_lines, write_text

EPOCHS = "epochs.jsonl"


def read_epochs(path: Path) -> list[dict[str, float]]:
    """The epochs of a log, each with all its numbers."""
    epochs = []
    for number, line in read_lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            raise InputError("is not JSON; is the file cut short?", path, number) from None
        if not isinstance(row, dict) or not _is_number(row.get("epoch")):
            raise InputError('is not an epoch: an object with a number "epoch" is expected', path, number)
        epochs.append({name: value for name, value in row.items() if _is_number(value)})
    return epochs


def add_epoch(path: Path, row: dict[str, float]) -> None:
    """Write an epoch after those before it, in place of any that an interrupted training has left."""
    before = [old for old in read_epochs(path) if old["epoch"] < row["epoch"]] if path.is_file() else []
    write_text(path, "".join(json.dumps(line) + "\n" for line in [*before, row]))


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
