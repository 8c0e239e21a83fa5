"""What a record is: the one description of its fields, which every table is checked against when it is read.

Views rely on this, so that a table of unknown origin is either one that they can show or an error with its line.
Unknown metrics, parameters and notes are allowed; known ones have the types below, and known metrics the ranges and
fields of their descriptions (`vpeval.records.metrics`).
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from pathlib import PurePosixPath
from typing import Any

from vpeval.records.metrics import describe

TAGS = ("recipe", "system", "set", "gender", "condition", "attacker", "recogniser")
_LONGEST = 10_000
_DEEPEST = 4
_MOST = 1e12
_METRIC = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.+-]{0,99}")

Check = tuple[Callable[[Any], bool], str]


def is_word(value: object) -> bool:
    """Whether a value is text that can be shown on a line: no control characters, no half of a character."""
    return (
        isinstance(value, str) and len(value) <= _LONGEST and (value.isascii() or _is_utf8(value)) and _is_shown(value)
    )


def is_number(value: object) -> bool:
    """Whether a value is a finite number."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= _MOST


def is_natural(value: object) -> bool:
    """Whether a value is a whole number of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST


def is_scalar(value: object) -> bool:
    """Whether a value is text, a number, true, false or null."""
    return value is None or isinstance(value, bool) or is_number(value) or is_word(value)


def _is_utf8(text: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


def _is_shown(text: str) -> bool:
    return text.isprintable() or not any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in text)


def _is_size(value: object) -> bool:
    return is_natural(value) or value == "all"


def _is_side_file(value: object) -> bool:
    """A path below the table's own folder, or below one beside it (``../original/…``)."""
    if not is_word(value):
        return False
    path = PurePosixPath(str(value))
    rest = path.parts[1:] if path.parts[:1] == ("..",) else path.parts
    return bool(rest) and not path.is_absolute() and ".." not in rest


def _are_side_files(value: object) -> bool:
    return isinstance(value, dict) and all(is_word(name) and _is_side_file(path) for name, path in value.items())


_WORD: Check = (is_word, "text without control characters")
_NUMBER: Check = (is_number, "a number")
_NATURAL: Check = (is_natural, "a whole number of at least 0")
_SIZE: Check = (_is_size, 'a whole number or "all"')
_NOTES: Mapping[str, Check] = {
    **dict.fromkeys(("chance", "paper_chance", "floor", "floor_95", "p_value", "p_holm", "std"), _NUMBER),
    **dict.fromkeys(("resamples", "redrawn", "folds", "average", "seed", "sets", "attacks"), _NATURAL),
    **dict.fromkeys(("attack_model", "attack_model_legal", "scoring", "calibration", "tag", "source"), _WORD),
    **dict.fromkeys(("written", "interval", "unit", "tuned_on", "warning", "missing_files", "protocol"), _WORD),
    **dict.fromkeys(("chosen", "chosen_condition", "family", "members", "no_cost"), _WORD),
    "files": (_are_side_files, "side files by name, as paths relative to the table"),
}
_PARAMS: Mapping[str, Check] = {
    **dict.fromkeys(("lm", "normalizer", "mode", "estimator", "emotion", "across", "versus", "enroll", "eer"), _WORD),
    "N": _SIZE,
    "L": _SIZE,
}
_REQUIRED: Mapping[str, tuple[str, Check]] = {
    "N": ("params", _NATURAL),
    "L": ("params", _SIZE),
    "across": ("params", _WORD),
    "eer": ("params", _WORD),
    "emotion": ("params", _WORD),
    "chance": ("notes", _NUMBER),
    "chosen": ("notes", _WORD),
    "sets": ("notes", _NATURAL),
    "tag": ("notes", _WORD),
}
"""Fields that a metric may require of its records (`Metric.requires`), and what they must be."""


def fault(row: Mapping[str, Any]) -> str:
    """What is wrong with a record whose numbers have been read; empty if nothing is."""
    if not isinstance(row["metric"], str) or not _METRIC.fullmatch(row["metric"]):
        return "metric must be a word of letters, digits and _"
    for name in TAGS:
        if not is_word(row.get(name, "")):
            return f"{name} must be text without control characters"
    least, most = describe(row["metric"]).range
    if not least - 1e-9 <= row["value"] <= most + 1e-9:
        return f"a {row['metric']} of {row['value']:g} cannot be: it is from {least:g} to {most:g}"
    for name in ("value", "lower", "upper"):
        if row.get(name) is not None and not (math.isinf(row[name]) or abs(row[name]) <= _MOST):
            return f"{name} {row[name]:g} is beyond all measure"
    return (
        _table_fault(row, "params", _PARAMS, is_scalar, "text, a number, true, false or null")
        or _table_fault(row, "counts", {}, is_natural, _NATURAL[1])
        or _table_fault(row, "notes", _NOTES, _is_plain, "plain values without control characters")
        or _lacking(row)
    )


def _table_fault(
    row: Mapping[str, Any], field: str, known: Mapping[str, Check], usual: Callable[[Any], bool], what: str
) -> str:
    for name, value in row.get(field, {}).items():
        if not is_word(name):
            return f"{field} must have names without control characters"
        is_right, words = known.get(name, (usual, what))
        if not is_right(value):
            return f"{field} '{name}' must be {words}"
    return ""


def _lacking(row: Mapping[str, Any]) -> str:
    for name in describe(row["metric"]).requires:
        field, (is_right, words) = _REQUIRED[name]
        if not is_right(row.get(field, {}).get(name)):
            return f"a {row['metric']} needs '{name}' among its {field}: {words}"
    return ""


def _is_plain(value: object, depth: int = 0) -> bool:
    """Whether a value is made of scalars, lists and objects that are not nested deeply."""
    if depth > _DEEPEST:
        return False
    if isinstance(value, dict):
        return all(is_word(name) and _is_plain(item, depth + 1) for name, item in value.items())
    if isinstance(value, list):
        return all(_is_plain(item, depth + 1) for item in value)
    return is_scalar(value)
