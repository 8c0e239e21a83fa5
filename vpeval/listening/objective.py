"""Ears beside machines: the metrics of the listeners' similarity scores against those of a verification system.

The objective numbers are the ignorant attacker's, who also holds anonymised trials against original enrolment, and
those of the original data (VoicePrivacy 2020 supplement, Table 18 and Figures 27 to 30).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vpeval.core.errors import InputError
from vpeval.listening.describe import ATTACKER, make_record
from vpeval.listening.opinions import VERIFICATION
from vpeval.metrics.bootstrap import Interval
from vpeval.records.attacks import IGNORANT, UNPROTECTED, attack_model
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record, read_records

Place = tuple[str, str, str]
"""System, set and gender."""


@dataclass(frozen=True)
class Both:
    """One number of a machine and of listeners, for the same trials."""

    system: str
    set: str
    gender: str
    objective: float
    subjective: float


def read_objective(runs: Path, systems: Sequence[str], attacker: str = "") -> tuple[str, list[Record]]:
    """Verification records of the ignorant attacker (the first, if none is named) and of the original data."""
    wanted = {same for same, _ in VERIFICATION.values()}
    records = []
    for system in systems:
        for path in sorted((runs / system).glob("*/records.jsonl")):
            for record in read_records(path):
                model = attack_model(record)
                fitting = UNPROTECTED if record.system == ORIGINAL else IGNORANT
                is_machine = record.metric in wanted and record.attacker != ATTACKER
                if is_machine and model == fitting and record.system == system:
                    records.append(record)
    attackers = sorted({record.attacker for record in records if record.system != ORIGINAL})
    if attacker and attacker not in attackers:
        raise InputError(f"--attacker {attacker}: there are {', '.join(attackers) or 'none'} in {runs}")
    chosen = attacker or (attackers[0] if attackers else "")
    return chosen, [record for record in records if record.attacker == chosen]


def pair_up(subjective: Iterable[Record], objective: Iterable[Record]) -> dict[str, list[Both]]:
    """Numbers of both for the same system, set and gender, by the name of the listeners' metric."""
    machine = {(r.metric, r.system, r.set, r.gender): r.value for r in objective}
    found: dict[str, list[Both]] = {name: [] for name in VERIFICATION}
    for record in subjective:
        if record.metric in VERIFICATION and record.set:
            key = (VERIFICATION[record.metric][0], record.system, record.set, record.gender)
            other = machine.get(key)
            if other is not None and math.isfinite(other) and math.isfinite(record.value):
                found[record.metric].append(Both(record.system, record.set, record.gender, other, record.value))
    return found


def correlation_records(
    pairs: Mapping[str, Sequence[Both]], attacker: str, notes: Mapping[str, object]
) -> list[Record]:
    """Pearson's correlation of each metric over systems and sets, with and without the original data.

    The interval is Fisher's, which takes the points for independent; points of one system are not, so it is too narrow.
    """
    records = []
    for metric, both in pairs.items():
        for systems in ("all", "anonymised"):
            chosen = [each for each in both if systems == "all" or each.system != ORIGINAL]
            x = np.array([each.objective for each in chosen])
            y = np.array([each.subjective for each in chosen])
            if len(chosen) < 3 or not x.std() or not y.std():
                continue
            r = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
            own = {"interval": "Fisher z, points taken for independent"} if len(chosen) > 3 else {}
            params = {"of": metric, "with": VERIFICATION[metric][0], "objective_attacker": attacker, "systems": systems}
            counts = {"points": len(chosen), "systems": len({each.system for each in chosen})}
            record = make_record(
                "listening_correlation", r, _fisher(r, len(chosen)), "", ("", ""), params, {**notes, **own}, counts
            )
            records.append(record.tagged({"condition": ""}))
    return records


def _fisher(r: float, points: int) -> Interval | None:
    if points < 4:
        return None
    if abs(r) == 1:
        return Interval(r, r)
    centre, half = math.atanh(r), 1.959964 / math.sqrt(points - 3)
    return Interval(math.tanh(centre - half), math.tanh(centre + half))
