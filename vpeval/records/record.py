"""The one table of results: every number of a run is a record, every result file is a view of records.

A record is a JSON object on a line of its own. Which number it is stands in the tags, ``metric`` and ``params``; the
number itself in ``value`` with its interval ``lower``–``upper`` (null where none was computed). ``counts`` says what it
rests on and ``notes`` what else is known about it: chance level, seed, kind of interval, side files (``files``). Two
records with the same tags, metric and parameters are about the same number, whatever their notes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from os import PathLike
from typing import TYPE_CHECKING, Any

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.tables import read_lines
from vpeval.records.schema import TAGS, fault

if TYPE_CHECKING:
    from vpeval.metrics.intervals import Estimate, SpeakerInterval

DATA_DIGEST, MODEL_DIGEST = "data_sha256", "model_sha256"
"""Notes: of the anonymised audio and of the attacker or recogniser that a number was made from."""


_NOTES = {
    *("source", "written", "per_speaker", "curves", "matrices", "ranks", "interval", "resamples", "redrawn", "seed"),
    *("bengio_mariethoz", "p_value", "p_holm", "tag", "std", "tuned_on", "chance", "paper_chance", "floor", "floor_95"),
    *("folds", "attack_model", "attack_model_legal", "scoring", "calibration", "unit", "average"),
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
        known = {"params": estimate.params, "counts": estimate.counts, "notes": estimate.notes}
        return cls(estimate.metric, estimate.value, **known).with_interval(estimate.interval)

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
