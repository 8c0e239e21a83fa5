"""The metrics of listening tests: how they are called, and the one place where their records are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vpeval.metrics.bootstrap import Interval
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record

ATTACKER = "listeners"


@dataclass(frozen=True)
class Described:
    """A metric for people: title, unit, which way is better (+1, -1, 0), and its level without information."""

    title: str
    unit: str = ""
    better: int = 0
    chance: float | None = None


METRICS: Mapping[str, Described] = {
    "listening_naturalness": Described("Naturalness (listeners)", "normalised rank", +1),
    "listening_intelligibility": Described("Intelligibility (listeners)", "normalised rank", +1),
    "listening_similarity_same": Described("Similarity, same speaker (listeners)", "normalised rank", -1),
    "listening_similarity_different": Described("Similarity, different speakers (listeners)", "normalised rank"),
    "listening_difference": Described("Difference between systems (listeners)", "normalised rank"),
    "listening_eer": Described("EER (listeners)", "%", +1, 0.5),
    "listening_eer_rocch": Described("EER, ROCCH (listeners)", "%", +1, 0.5),
    "listening_cllr": Described("Cllr (listeners)", "bit"),
    "listening_min_cllr": Described("min Cllr (listeners)", "bit", +1, 1.0),
    "listening_cluster_accuracy": Described("Clustering accuracy (listeners)", "%", -1),
    "listening_dsys": Described("D_sys of distances (listeners)", "", -1, 0.0),
    "listening_dsys_null": Described("D_sys of distances, shuffled labels", ""),
    "listening_distance_eer": Described("EER of distances (listeners)", "%", +1, 0.5),
    "listening_correlation": Described("Correlation with the objective metric", ""),
}
"""Titles of all metrics of this room."""


def make_record(
    metric: str,
    value: float,
    interval: Interval | None,
    system: str,
    cell: tuple[str, str] = ("", ""),
    params: Mapping[str, Any] | None = None,
    notes: Mapping[str, Any] | None = None,
    counts: Mapping[str, int] | None = None,
) -> Record:
    """A record of listeners: `params` say which number it is, `notes` what is known about it."""
    assert metric in METRICS, metric
    lower, upper = (interval.lower, interval.upper) if interval else (None, None)
    tags = {"system": system, "set": cell[0], "gender": cell[1], "attacker": ATTACKER}
    tags["condition"] = "oo" if system == ORIGINAL else "oa"
    return Record(metric, value, lower, upper, params or {}, counts or {}, notes or {}).tagged(tags)
