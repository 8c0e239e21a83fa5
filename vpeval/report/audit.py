"""The audit of the attacker: is it strong enough for its numbers to mean anything?"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError

FILE = "audit.json"


@dataclass(frozen=True)
class Check:
    """One check: whether its answer needs attention, and the answer in a sentence."""

    check: str
    flagged: bool
    sentence: str


def read_audit(runs: Sequence[Path]) -> list[Check]:
    """The checks of all runs that have an audit.json; none where no audit was made."""
    return [check for run in runs if (run / FILE).is_file() for check in _read(run / FILE)]


def _read(path: Path) -> list[Check]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise InputError("is not JSON; is the file cut short? Run local/audit_attacker.py again", path) from None
    if not isinstance(content, list) or not all(isinstance(item, dict) for item in content):
        raise InputError("is not a list of checks; run local/audit_attacker.py again", path)
    for number, item in enumerate(content, start=1):
        for name, kind in (("check", str), ("flagged", bool), ("sentence", str)):
            if not isinstance(item.get(name), kind):
                raise InputError(f"check {number} has no '{name}'; run local/audit_attacker.py again", path)
    return [Check(item["check"], item["flagged"], item["sentence"]) for item in content]
