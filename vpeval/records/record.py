"""The one table of results: every number of a run is a record, every result file is a view of records.

A record is a JSON object on a line of its own. Which number it is stands in the tags, ``metric`` and ``params``; the
number itself in ``value`` with its interval ``lower``–``upper`` (null where none was computed). ``counts`` says what it
rests on and ``notes`` what else is known about it: chance level, seed, kind of interval, side files (``files``). Two
records with the same tags, metric and parameters are about the same number, whatever their notes.

What a record is: the one description of its fields, which every table is checked against when it is read.

Views rely on this, so that a table of unknown origin is either one that they can show or an error with its line.
Unknown metrics, parameters and notes are allowed; known ones have the types below, and known metrics the ranges and
fields of their descriptions (`vpeval.records.metrics`).
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from vpeval.core.errors import InputError
from vpeval.core.files import read_lines, write_text
from vpeval.records.metrics import describe

if TYPE_CHECKING:
    from vpeval.metrics.intervals import Estimate, SpeakerInterval

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
    """A path below the table's own folder, or below one next to it (``../original/…``)."""
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
_KNOWN_NOTES: Mapping[str, Check] = {
    **dict.fromkeys(("chance", "paper_chance", "floor", "floor_95", "p_value", "p_holm", "std"), _NUMBER),
    **dict.fromkeys(("resamples", "redrawn", "folds", "average", "seed", "sets", "attacks"), _NATURAL),
    **dict.fromkeys(("attack_model", "attack_model_legal", "scoring", "calibration", "tag", "source"), _WORD),
    **dict.fromkeys(("written", "interval", "unit", "tuned_on", "warning", "missing_files", "protocol"), _WORD),
    **dict.fromkeys(("chosen", "chosen_condition", "family", "members", "no_cost", "fine_tuning"), _WORD),
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
    "estimator": ("params", _WORD),
    "group": ("params", _WORD),
    "versus": ("params", _WORD),
    "p_value": ("notes", _NUMBER),
    "p_holm": ("notes", _NUMBER),
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
        or _table_fault(row, "notes", _KNOWN_NOTES, _is_plain, "plain values without control characters")
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


RECORDS = "records.jsonl"
"""The file of a result that holds its records."""
DATA_DIGEST, MODEL_DIGEST = "data_sha256", "model_sha256"
"""Notes: of the anonymised audio and of the attacker or recogniser that a number was made from."""


_NOTES = {
    *("source", "written", "per_speaker", "curves", "matrices", "ranks", "interval", "resamples", "redrawn", "seed"),
    *("bengio_mariethoz", "p_value", "p_holm", "tag", "std", "tuned_on", "chance", "paper_chance", "floor", "floor_95"),
    *("folds", "attack_model", "attack_model_legal", "scoring", "calibration", "unit", "average"),
    *("members", "representation", "trained_on", "fine_tuning"),
}
"""Notes that stand among the parameters in tables of older versions, and in the --param options of scorers."""


@dataclass(frozen=True)
class Record:
    """One number. Tags that do not apply are empty strings."""

    metric: str
    value: float
    lower: float | None = None
    upper: float | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    recipe: str = ""
    system: str = ""
    set: str = ""
    gender: str = ""
    condition: str = ""
    attacker: str = ""
    recogniser: str = ""

    @property
    def model(self) -> str:
        """Who attacked or who recognised; a record has one of them at most."""
        return self.attacker or self.recogniser

    def tagged(self, tags: Mapping[str, str]) -> Record:
        """The same number with the given tags set."""
        if unknown := tags.keys() - set(TAGS):
            raise ValueError(f"not a tag: {unknown}")
        return replace(self, **tags)  # type: ignore[arg-type]  # every tag is a str field

    def with_params(self, more: Mapping[str, Any]) -> Record:
        """The same number with more parameters."""
        return replace(self, params={**self.params, **more})

    def with_notes(self, more: Mapping[str, Any]) -> Record:
        """The same number with more notes."""
        return replace(self, notes={**self.notes, **more})

    def with_interval(self, interval: SpeakerInterval) -> Record:
        """The same number with an interval, and with what is known about it."""
        return replace(self, lower=interval.lower, upper=interval.upper, notes={**self.notes, **interval.notes})

    @classmethod
    def from_estimate(cls, estimate: Estimate) -> Record:
        """The record of a number that a metric found."""
        record = cls(
            estimate.metric, estimate.value, params=estimate.params, counts=estimate.counts, notes=estimate.notes
        )
        return record.with_interval(estimate.interval)

    def with_files(self, more: Mapping[str, str]) -> Record:
        """The same number with more side files, named by their paths relative to the table of the record."""
        return self.with_notes({"files": {**self.files, **more}})

    @property
    def files(self) -> Mapping[str, str]:
        """Side files by what they hold: curves, matrices, scores …"""
        files: Mapping[str, str] = self.notes.get("files", {})
        return files

    @property
    def identity(self) -> str:
        """Which number it is: equal for two records of the same number."""
        return json.dumps([self.metric, *(getattr(self, tag) for tag in TAGS), self.params], sort_keys=True)

    def to_json(self) -> str:
        """One line of results.jsonl; infinities are the strings "inf" and "-inf", as JSON has no such numbers."""
        row = {
            name: getattr(self, name)
            for name in (*TAGS, "metric", "params", "value", "lower", "upper", "counts", "notes")
        }
        for name in ("value", "lower", "upper"):
            row[name] = _encode(row[name])
        return json.dumps(row, ensure_ascii=False, allow_nan=False)


def parse_tags(pairs: Iterable[str]) -> dict[str, str]:
    """``["system=mcadams", "set=mini_dev"]`` → dict, for the ``--tag`` option of the scorers."""
    tags: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or name not in TAGS:
            raise InputError(f"--tag {pair}: expected NAME=VALUE with NAME one of {', '.join(TAGS)}")
        tags[name] = value
    return tags


def parse_params(pairs: Iterable[str]) -> tuple[dict[str, str], dict[str, str]]:
    """``["lm=small", "attack_model=ignorant"]`` → parameters and notes, for the ``--param`` option of scorers."""
    given: dict[str, str] = {}
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not (name and equals):
            raise InputError(f"--param {pair}: expected NAME=VALUE")
        given[name] = value
    return _split_notes(given)


def read_records(path: str | PathLike[str]) -> list[Record]:
    """Read results.jsonl; a line that is not a record is an error with its number."""
    known = {f.name for f in fields(Record)}
    records = []
    for number, line in read_lines(path):
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            reason = getattr(error, "msg", "too large")
            raise InputError(f"is not a JSON record ({reason}); is the file cut short?", path, number) from None
        if not isinstance(row, dict) or not {"metric", "value"} <= row.keys():
            raise InputError('is not a record: an object with "metric" and "value" is expected', path, number)
        if unknown := row.keys() - known:
            raise InputError(f"unknown field {', '.join(sorted(unknown))}", path, number)
        try:
            for name in ("value", "lower", "upper"):
                row[name] = _decode(row.get(name))
        except (TypeError, ValueError, OverflowError):
            raise InputError("value, lower and upper must be numbers", path, number) from None
        if row["value"] is None:
            raise InputError("value must be a number", path, number)
        if not all(isinstance(row.get(name, {}), dict) for name in ("params", "counts", "notes")):
            raise InputError("params, counts and notes must be objects", path, number)
        if "notes" not in row:
            row["params"], row["notes"] = _split_notes(row.get("params", {}))
        if row.get("condition") in ("o", "a") and row.get("attacker") and not row.get("recogniser"):
            row["attacker"], row["recogniser"] = "", row["attacker"]  # tables of older versions
        if wrong := fault(row):
            raise InputError(f"is no record: {wrong}", path, number)
        records.append(Record(**row))
    return records


def write_records(path: str | PathLike[str], records: Iterable[Record]) -> None:
    """Write records, one a line, in the order given, atomically."""
    write_text(path, "".join(record.to_json() + "\n" for record in records))


def _split_notes(given: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and notes, which were one field in older versions."""
    params = {name: value for name, value in given.items() if name not in _NOTES}
    return params, {name: value for name, value in given.items() if name in _NOTES}


def _encode(value: float | None) -> float | str | None:
    if value is None:
        return None
    value = float(value)
    if math.isnan(value):
        raise ValueError("a record cannot hold NaN")
    return value if math.isfinite(value) else str(value)


def _decode(value: float | str | None) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or (isinstance(value, str) and value not in ("inf", "-inf")):
        raise TypeError("no number")
    number = float(value)
    if math.isnan(number):
        raise ValueError("NaN")
    return number
