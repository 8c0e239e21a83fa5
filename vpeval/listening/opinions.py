"""What listeners think of the systems: means, differences with their significance, and EERs of the similarity scores.

Naturalness and intelligibility are compared over all pages of a system, similarity apart for same-speaker and
different-speaker pairs (VoicePrivacy 2020 supplement, Tables 16 and 17). A similarity score is the score of a
verification system whose ears are human: EER, Cllr and min Cllr of the normalised ranks (Table 18), each system's
same-speaker against its different-speaker pairs. All tests of an experiment are one family for Holm's correction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from vpeval.listening.describe import make_record
from vpeval.listening.resample import Draws
from vpeval.listening.responses import Floats, Ratings
from vpeval.metrics.bootstrap import Interval, percentile_interval
from vpeval.metrics.cllr import cllr, min_cllr
from vpeval.metrics.eer import eer_rocch, eer_threshold
from vpeval.metrics.holm import holm
from vpeval.metrics.mann_whitney import MannWhitney, mann_whitney
from vpeval.metrics.scores import PooledScores, pool
from vpeval.records.record import Record

GROUPS = {
    "naturalness": ("naturalness", None),
    "intelligibility": ("intelligibility", None),
    "similarity_same": ("similarity", True),
    "similarity_different": ("similarity", False),
}
"""What is compared: the task, and for similarity the kind of pair."""

VERIFICATION: Mapping[str, tuple[str, Callable[[PooledScores], float]]] = {
    "listening_eer": ("eer_threshold", lambda pooled: eer_threshold(pooled).value),
    "listening_eer_rocch": ("eer_rocch", lambda pooled: eer_rocch(pooled).value),
    "listening_cllr": ("cllr", cllr),
    "listening_min_cllr": ("min_cllr", min_cllr),
}
"""Metrics of the similarity scores, each with the objective metric that is the same number of a machine."""

_RANKS = "normalised rank"
_POINTS = "1 to 10"


@dataclass(frozen=True)
class Comparison:
    """Two systems compared in one group."""

    group: str
    system: str
    versus: str
    test: MannWhitney
    p_holm: float


def group_ratings(tables: Mapping[str, Ratings], group: str) -> Ratings:
    """The ratings of a group."""
    task, kind = GROUPS[group]
    ratings = tables[task]
    return ratings if kind is None else ratings.where(ratings.is_target == kind)


def compare_systems(tables: Mapping[str, Ratings]) -> list[Comparison]:
    """All pairs of systems in all groups; pairs of which one has no ratings are left out."""
    found: list[tuple[str, str, str, MannWhitney]] = []
    for group in GROUPS:
        ratings = group_ratings(tables, group)
        by_system = [ratings.score[ratings.system == i] for i in range(len(ratings.names.systems))]
        for (i, versus), (j, system) in combinations(enumerate(ratings.names.systems), 2):
            if len(by_system[i]) and len(by_system[j]):
                found.append((group, system, versus, mann_whitney(by_system[j], by_system[i])))
    corrected = holm([test.p_value for *_, test in found])
    return [Comparison(*row, float(p)) for row, p in zip(found, corrected, strict=True)]


def mean_records(tables: Mapping[str, Ratings], draws: Draws, notes: Mapping[str, object]) -> list[Record]:
    """Mean normalised rank and mean rating of every system, over all sets and set by set."""
    records = []
    for group in GROUPS:
        ratings = group_ratings(tables, group)
        for scale, values in ((_RANKS, ratings.score), (_POINTS, ratings.value)):
            for by_cell in (False, True):
                rows, group_of = _groups(ratings, by_cell)
                means, samples = _means(ratings, values, group_of, len(rows), draws, group.startswith("similarity"))
                for k, (system, cell) in enumerate(rows):
                    if np.isfinite(means[k]):
                        counts = rating_counts(ratings.where(group_of == k))
                        interval = _interval(samples[:, k])
                        params = {"scores": scale}
                        name = f"listening_{group}"
                        records.append(
                            make_record(name, float(means[k]), interval, system, cell, params, notes, counts)
                        )
    return records


def difference_records(
    tables: Mapping[str, Ratings], comparisons: Sequence[Comparison], draws: Draws, notes: Mapping[str, object]
) -> list[Record]:
    """Mean differences of normalised ranks, with the p values of Mann-Whitney tests as they are and after Holm."""
    records = []
    for group in GROUPS:
        ratings = group_ratings(tables, group)
        systems = ratings.names.systems
        pairs = group.startswith("similarity")
        means, samples = _means(ratings, ratings.score, ratings.system, len(systems), draws, pairs)
        for each in (c for c in comparisons if c.group == group):
            i, j = systems.index(each.system), systems.index(each.versus)
            counts = rating_counts(ratings.where((ratings.system == i) | (ratings.system == j)))
            own = {"p_value": each.test.p_value, "p_holm": each.p_holm, "u": each.test.u, "test": "Mann-Whitney U"}
            params = {"group": group, "versus": each.versus, "scores": _RANKS}
            interval = _interval(samples[:, i] - samples[:, j])
            difference = float(means[i] - means[j])
            records.append(
                make_record(
                    "listening_difference",
                    difference,
                    interval,
                    each.system,
                    ("", ""),
                    params,
                    {**notes, **own},
                    counts,
                )
            )
    return records


def verification_records(ratings: Ratings, draws: Draws, notes: Mapping[str, object]) -> list[Record]:
    """EER, ROCCH-EER, Cllr and min Cllr of the similarity scores of every system, over all sets and set by set."""
    records = []
    for by_cell in (False, True):
        rows, group_of = _groups(ratings, by_cell)
        for k, (system, cell) in enumerate(rows):
            own = ratings.where(group_of == k)
            if not own.is_target.any() or own.is_target.all():
                continue
            values, samples = _verification(own, draws)
            for (name, (same, _)), value, column in zip(VERIFICATION.items(), values, samples.T, strict=True):
                targets = int(own.is_target.sum())
                counts = {"targets": targets, "nontargets": len(own) - targets, **rating_counts(own)}
                params = {"estimator": same, "scores": _RANKS}
                records.append(make_record(name, value, _interval(column), system, cell, params, notes, counts))
    return records


def rating_counts(ratings: Ratings) -> dict[str, int]:
    """What a number of these ratings rests on."""
    spks = np.unique(np.concatenate((ratings.spk, ratings.enroll)))
    return {"ratings": len(ratings), "listeners": len(np.unique(ratings.listener)), "speakers": len(spks)}


def _groups(ratings: Ratings, by_cell: bool) -> tuple[list[tuple[str, tuple[str, str]]], np.ndarray]:
    """Systems, or systems in cells; and which of them each rating is of."""
    names = ratings.names
    if not by_cell:
        return [(system, ("", "")) for system in names.systems], ratings.system
    rows = [(system, cell) for system in names.systems for cell in names.cells]
    return rows, ratings.system * len(names.cells) + ratings.cell


def _means(
    ratings: Ratings, values: Floats, group: np.ndarray, size: int, draws: Draws, pairs: bool
) -> tuple[Floats, Floats]:
    """Means of every group (NaN where it is empty), and those of every resample."""

    def mean(weight: np.ndarray) -> Floats:
        total = np.bincount(group, weight, minlength=size)
        with np.errstate(invalid="ignore"):
            return np.bincount(group, weight * values, minlength=size) / total

    samples = [mean(weight) for weight in draws.weights(ratings, pairs)]
    return mean(np.ones(len(values))), np.array(samples).reshape(-1, size)


def _verification(own: Ratings, draws: Draws) -> tuple[list[float], Floats]:
    pooled = pool(own.score[own.is_target], own.score[~own.is_target])
    position = np.searchsorted(pooled.score, own.score)
    samples = np.full((len(draws), len(VERIFICATION)), np.nan)
    for row, weight in zip(samples, draws.weights(own, True), strict=True):
        targets, nontargets = (
            np.bincount(position, weight * mask, len(pooled.score)).astype(np.int64)
            for mask in (own.is_target, ~own.is_target)
        )
        if targets.any() and nontargets.any():
            row[:] = [function(pooled.reweighted(targets, nontargets)) for _, function in VERIFICATION.values()]
    return [function(pooled) for _, function in VERIFICATION.values()], samples


def _interval(samples: Floats) -> Interval | None:
    """The interval of the resamples that have a value; none where too few have."""
    valid = samples[np.isfinite(samples)]
    return percentile_interval(valid) if len(valid) and 2 * len(valid) >= len(samples) else None
