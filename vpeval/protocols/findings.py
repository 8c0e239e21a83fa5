"""Findings of the audits, and the files that keep them: audit.json and utility_audit.json of a run."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text

FILE, UTILITY_FILE = "audit.json", "utility_audit.json"
"""What was found about attackers, and about recognisers."""
CHECKS = {
    "a": "control",
    "b": "ladder",
    "c": "enrolment",
    "d": "level",
    "e": "pass-through",
    "f": "strongest",
}
"""What the checks look at, by their letters."""
_AGAIN = "run local/audit_attacker.py again"


@dataclass(frozen=True)
class Finding:
    """The answer of one check; `flagged` means that the results are not to be believed without a look at it."""

    check: str
    flagged: bool
    sentence: str
    numbers: Mapping[str, float | str] = field(default_factory=dict)


def write_findings(path: Path, findings: Sequence[Finding]) -> None:
    """Write the findings as a list of objects, atomically."""
    rows = [
        {"check": f.check, "flagged": f.flagged, "sentence": f.sentence, "numbers": dict(f.numbers)} for f in findings
    ]
    write_text(path, json.dumps(rows, indent=1, ensure_ascii=False) + "\n")


def read_findings(path: Path) -> list[Finding]:
    """The findings in a file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise InputError(f"is not JSON, or cut short; {_AGAIN}", path) from None
    if not isinstance(content, list) or not all(isinstance(item, dict) for item in content):
        raise InputError(f"is not a list of findings; {_AGAIN}", path)
    for number, item in enumerate(content, start=1):
        for name, kind in (("check", str), ("flagged", bool), ("sentence", str)):
            if not isinstance(item.get(name), kind):
                raise InputError(f"finding {number} has no '{name}'; {_AGAIN}", path)
        if not isinstance(item.get("numbers", {}), dict):
            raise InputError(f"the 'numbers' of finding {number} are not an object; {_AGAIN}", path)
    return [Finding(item["check"], item["flagged"], item["sentence"], item.get("numbers", {})) for item in content]
