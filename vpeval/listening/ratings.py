"""Results of ratings: means, differences between systems with their significance, and EERs of the similarity scores.

Naturalness and intelligibility are compared over all pages of a system, similarity separately for same-speaker and
different-speaker pairs (VoicePrivacy 2020 supplement, Tables 16 and 17). Similarity scores are also treated as the
scores of a verification system: EER, Cllr and min Cllr of the normalised ranks (Table 18), same-speaker against
different-speaker pairs of each system. Holm's correction covers all tests of an experiment.

Ratings depend on each other through listeners and speakers. The bootstrap draws both with replacement: a rating of
listener l counts m[l] times the count of its speakers (as in `vpeval.metrics.verification`: the enrolled speaker for a
same-speaker pair, both speakers for a different-speaker pair, and the speaker of the utterance where only that is
played).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vpeval.core.seeds import generator
from vpeval.listening.answers import Floats, Ints, Ratings
from vpeval.metrics.intervals import Interval, multiplicities, percentile_interval, widened
from vpeval.metrics.paired import MannWhitney, holm, mann_whitney
from vpeval.metrics.score_metrics import cllr, min_cllr
from vpeval.metrics.scores import PooledScores, eer_rocch, eer_threshold, pool
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record

Counts = NDArray[np.int64]
Place = tuple[str, str, str]
"""System, set and gender; set and gender are empty for a number over all sets."""

ATTACKER = "listeners"
"""The attacker of all records of listening tests."""

GROUPS = {
    "naturalness": ("naturalness", None),
    "intelligibility": ("intelligibility", None),
    "similarity_same": ("similarity", True),
    "similarity_different": ("similarity", False),
}
"""Groups of ratings that are compared: the task, and for similarity the kind of pair."""

VERIFICATION: Mapping[str, tuple[str, Callable[[PooledScores], float]]] = {
    "listening_eer": ("eer_threshold", lambda pooled: eer_threshold(pooled).value),
    "listening_eer_rocch": ("eer_rocch", lambda pooled: eer_rocch(pooled).value),
    "listening_cllr": ("cllr", cllr),
    "listening_min_cllr": ("min_cllr", min_cllr),
}
"""Metrics of the similarity scores, each with the corresponding objective metric."""

ALPHA = 0.01
"""The significance level of the supplement."""
RANKS = "normalised rank"
_POINTS = "1 to 10"
_SCALES = {RANKS: (0.0, 1.0), _POINTS: (1.0, 10.0)}
_HIGHEST = {"eer_threshold": 1.0, "eer_rocch": 0.5, "cllr": (1 + math.log2(1 + math.e)) / 2, "min_cllr": 1.0}
"""The ends of the scales of ranks and ratings, and of their metrics; the Cllr is that of ranks, from 0 to 1."""


@dataclass(frozen=True)
class Comparison:
    """Two systems compared in one group."""

    group: str
    system: str
    versus: str
    test: MannWhitney
    p_holm: float


@dataclass(frozen=True)
class Estimate:
    """A number with its interval and what it is computed from."""

    value: float
    interval: Interval | None
    counts: Mapping[str, int]


@dataclass(frozen=True)
class Draws:
    """How often every listener and every speaker is drawn, a row per resample."""

    listener: Counts
    spk: Counts

    def __len__(self) -> int:
        return len(self.listener)

    def weights(self, ratings: Ratings, pairs: bool) -> Iterator[Counts]:
        """How often each rating counts, resample by resample; `pairs`: two speakers were played."""
        for listener, spk in zip(self.listener, self.spk, strict=True):
            weight = spk[ratings.spk]
            if pairs:
                weight = np.where(ratings.is_target, spk[ratings.enroll], spk[ratings.enroll] * weight)
            yield listener[ratings.listener] * weight


def draw(listeners: list[int], places: int, spks: int, resamples: int, seed: int) -> Draws:
    """Draw among the listeners who answered (numbers below `places`) and among all speakers."""
    rng = generator(seed, "listening")
    drawn = np.zeros((resamples, places), dtype=np.int64)
    drawn[:, listeners] = multiplicities(len(listeners), resamples, rng)
    return Draws(drawn, multiplicities(spks, resamples, rng))


def make_record(
    metric: str, estimate: Estimate, place: Place, params: Mapping[str, Any], notes: Mapping[str, Any]
) -> Record:
    """A record of a listening test."""
    interval = estimate.interval
    lower, upper = (interval.lower, interval.upper) if interval else (None, None)
    tags = dict(zip(("system", "set", "gender"), place, strict=True))
    tags |= {"attacker": ATTACKER, "condition": "oo" if place[0] == ORIGINAL else "oa"}
    return Record(metric, estimate.value, lower, upper, params, estimate.counts, notes).tagged(tags)


def group_ratings(tables: Mapping[str, Ratings], group: str) -> Ratings:
    """The ratings of a group."""
    task, kind = GROUPS[group]
    ratings = tables[task]
    return ratings if kind is None else ratings.where(ratings.is_target == kind)


def compare_systems(tables: Mapping[str, Ratings]) -> list[Comparison]:
    """Compare all pairs of systems that have ratings, in all groups."""
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
        for scale, values in ((RANKS, ratings.score), (_POINTS, ratings.value)):
            for by_cell in (False, True):
                places, place_of = _places(ratings, by_cell)
                weights = draws.weights(ratings, _has_pairs(group))
                means, samples = _means(values, place_of, len(places), weights)
                for k, place in enumerate(places):
                    if np.isfinite(means[k]):
                        counts = _rating_counts(ratings.where(place_of == k))
                        ends = _interval(samples[:, k], float(means[k]), _SCALES[scale], counts)
                        estimate = Estimate(float(means[k]), ends, counts)
                        records.append(make_record(f"listening_{group}", estimate, place, {"scores": scale}, notes))
    return records


def difference_records(
    tables: Mapping[str, Ratings], comparisons: Sequence[Comparison], draws: Draws, notes: Mapping[str, object]
) -> list[Record]:
    """Mean differences of normalised ranks, with the p values of Mann-Whitney tests before and after Holm."""
    records = []
    for group in GROUPS:
        ratings = group_ratings(tables, group)
        systems = ratings.names.systems
        weights = draws.weights(ratings, _has_pairs(group))
        means, samples = _means(ratings.score, ratings.system, len(systems), weights)
        for each in (c for c in comparisons if c.group == group):
            i, j = systems.index(each.system), systems.index(each.versus)
            counts = _rating_counts(ratings.where((ratings.system == i) | (ratings.system == j)))
            own = {"p_value": each.test.p_value, "p_holm": each.p_holm, "u": each.test.u, "test": "Mann-Whitney U"}
            params = {"group": group, "versus": each.versus, "scores": RANKS}
            value = float(means[i] - means[j])
            estimate = Estimate(value, _interval(samples[:, i] - samples[:, j], value, (-1, 1), counts), counts)
            place = (each.system, "", "")
            records.append(make_record("listening_difference", estimate, place, params, {**notes, **own}))
    return records


def verification_records(ratings: Ratings, draws: Draws, notes: Mapping[str, object]) -> list[Record]:
    """EER, ROCCH-EER, Cllr and min Cllr of the similarity scores of every system, over all sets and set by set."""
    records = []
    for by_cell in (False, True):
        places, place_of = _places(ratings, by_cell)
        for k, place in enumerate(places):
            own = ratings.where(place_of == k)
            if not own.is_target.any() or own.is_target.all():
                continue
            values, samples = _verification(own, draws)
            targets = int(own.is_target.sum())
            counts = {"targets": targets, "nontargets": len(own) - targets, **_rating_counts(own)}
            for (name, (objective, _)), value, column in zip(VERIFICATION.items(), values, samples.T, strict=True):
                params = {"estimator": objective, "scores": RANKS}
                ends = _interval(column, value, (0, _HIGHEST[objective]), counts)
                records.append(make_record(name, Estimate(value, ends, counts), place, params, notes))
    return records


def _has_pairs(group: str) -> bool:
    return GROUPS[group][1] is not None


def _rating_counts(ratings: Ratings) -> dict[str, int]:
    spks = np.unique(np.concatenate((ratings.spk, ratings.enroll)))
    return {"ratings": len(ratings), "listeners": len(np.unique(ratings.listener)), "speakers": len(spks)}


def _places(ratings: Ratings, by_cell: bool) -> tuple[list[Place], Ints]:
    """Systems, or systems in cells; and to which of them each rating belongs."""
    names = ratings.names
    if not by_cell:
        return [(system, "", "") for system in names.systems], ratings.system
    places = [(system, *cell) for system in names.systems for cell in names.cells]
    return places, ratings.system * len(names.cells) + ratings.cell


def _means(values: Floats, group: Ints, size: int, weights: Iterator[Counts]) -> tuple[Floats, Floats]:
    """Means of every group (NaN where it is empty), and those of every resample."""

    def mean(weight: NDArray[Any]) -> Floats:
        total = np.bincount(group, weight, minlength=size)
        with np.errstate(invalid="ignore"):
            return np.bincount(group, weight * values, minlength=size) / total

    samples = [mean(weight) for weight in weights]
    return mean(np.ones(len(values))), np.array(samples).reshape(-1, size)


def _verification(own: Ratings, draws: Draws) -> tuple[list[float], Floats]:
    pooled = pool(own.score[own.is_target], own.score[~own.is_target])
    samples = np.full((len(draws), len(VERIFICATION)), np.nan)
    for row, weight in zip(samples, draws.weights(own, True), strict=True):
        if (weight * own.is_target).any() and (weight * ~own.is_target).any():
            again = reweighted(pooled, own.score, own.is_target, weight)
            row[:] = [function(again) for _, function in VERIFICATION.values()]
    return [function(pooled) for _, function in VERIFICATION.values()], samples


def reweighted(pooled: PooledScores, score: Floats, is_target: NDArray[np.bool_], weight: Counts) -> PooledScores:
    """The pooled scores in which each of the scores they were pooled from counts `weight` times."""
    position = np.searchsorted(pooled.score, score)
    targets, nontargets = (
        np.bincount(position, weight * mask, len(pooled.score)).astype(np.int64) for mask in (is_target, ~is_target)
    )
    return pooled.reweighted(targets, nontargets)


def _interval(samples: Floats, value: float, scale: tuple[float, float], counts: Mapping[str, int]) -> Interval | None:
    """The interval of the finite samples, on a scale; none if less than half of the samples are finite.

    Ratings that are all the same are as many observations as there are listeners or speakers, whichever are fewer.
    """
    valid = samples[np.isfinite(samples)]
    if not len(valid) or 2 * len(valid) < len(samples):
        return None
    return widened(percentile_interval(valid), value, *scale, min(counts["listeners"], counts["speakers"]))
