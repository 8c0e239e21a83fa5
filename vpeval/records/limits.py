"""Limits of verdicts and audits, from conf/verdict.yaml, which says where each one comes from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cache
from itertools import pairwise
from pathlib import Path

from vpeval.core.config import check_section, read_config
from vpeval.core.errors import InputError
from vpeval.core.places import CONF

FILE = CONF / "verdict.yaml"
_GRADES = 6


@dataclass(frozen=True)
class VerdictLimits:
    """EERs and shares of speakers found at which a system gets a better grade, and what bounds the grade."""

    eer: tuple[float, ...]
    found: tuple[float, ...]
    untrained_grade: int
    disagreement: int
    speech_gone: float
    not_understood: float


@dataclass(frozen=True)
class AuditLimits:
    """Limits that the checks of an audit compare EERs and similarities with."""

    weak_on_original: float
    near_chance: float
    voice_kept: float
    shared_pseudo_speaker: float
    same_in_all_sets: float
    as_alike: float
    one_voice: float
    passed: float


@dataclass(frozen=True)
class Limits:
    """All of them; `significance` is the p value below which a difference is starred."""

    significance: float
    verdict: VerdictLimits
    audit: AuditLimits


@cache
def read_limits(path: Path = FILE) -> Limits:
    """Read and check a file of limits, once."""
    config = read_config(path, significance=float, verdict=dict, audit=dict)
    _in_range(config["significance"], "significance", path)
    kinds = {"eer": list, "found": list, "untrained_grade": int, "disagreement": int}
    shares = ("speech_gone", "not_understood")
    verdict = check_section(config["verdict"], "verdict", path, **kinds, **dict.fromkeys(shares, float))
    for key in ("untrained_grade", "disagreement"):
        if not 0 <= verdict[key] < _GRADES:
            raise InputError(f"'verdict.{key}' must be a number of grades from 0 to {_GRADES - 1}", path)
    for key in shares:
        _in_range(verdict[key], f"verdict.{key}", path)
    steps = {key: _steps(verdict[key], f"verdict.{key}", path) for key in ("eer", "found")}
    for key, values in steps.items():
        if len(values) != _GRADES - 1:
            raise InputError(f"'verdict.{key}' must have {_GRADES - 1} limits, for {_GRADES} grades", path)
    if steps["eer"] != tuple(sorted(steps["eer"])) or steps["found"] != tuple(sorted(steps["found"], reverse=True)):
        raise InputError(
            "'verdict.eer' must rise and 'verdict.found' must fall, from the worst grade to the best", path
        )
    audit = check_section(config["audit"], "audit", path, **{field.name: float for field in fields(AuditLimits)})
    for key, value in audit.items():
        _in_range(value, f"audit.{key}", path)
    return Limits(config["significance"], VerdictLimits(**{**verdict, **steps}), AuditLimits(**audit))


def _steps(values: Sequence[object], name: str, path: Path) -> tuple[float, ...]:
    """Different fractions in order."""
    steps = tuple(_in_range(value, name, path) for value in values)
    if not steps or len({a < b for a, b in pairwise(steps)}) > 1 or len(set(steps)) < len(steps):
        raise InputError(f"'{name}' must be a list of fractions that rises or falls", path)
    return steps


def _in_range(value: object, name: str, path: Path) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise InputError(f"'{name}' must be made of fractions between 0 and 1, not {value!r}", path)
    return float(value)
