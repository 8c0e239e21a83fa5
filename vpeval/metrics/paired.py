"""Two systems on the same speech: how far apart they are, and whether that may be chance.

Both are measured on the same speakers, and a resample draws the same speakers for both (`ScoredTrials` tells how often
a trial then counts), so that what is common to both cancels. A difference is assessed by its standard error over
resamples: value less bias, over the standard error, against Student's distribution with a degree of freedom less per
group of speakers than there are speakers. p can be as small as the speakers allow, whatever the number of resamples; a
share of resamples cannot be below 1/resamples, which no correction for many tests survives. It is never below
2^(1-speakers), which a sign test reaches if all speakers agree: tails beyond that are those of Student's distribution
and not of the speakers. From six speakers on, p is below 0.05 where the interval is clear of 0, and only there.

EERs of all resamples are found at once. Sorted scores with cumulated weights are monotone in the threshold, so that a
search by halves finds the crossing in every resample.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.metrics.intervals import FEWEST
from vpeval.metrics.scores import Floats

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

_CELLS = 4_000_000


@dataclass(frozen=True)
class Assessed:
    """A difference with its 95 % interval and the two-sided p value of "no difference"; None where none can be told."""

    value: float
    lower: float | None = None
    upper: float | None = None
    p_value: float | None = None


def assess(value: float, samples: Floats, speakers: int, groups: int = 1) -> Assessed:
    """Assess a difference by its values for resampled speakers, who were drawn within each of `groups`.

    >>> assess(0.0, np.zeros(100), speakers=10)
    Assessed(value=0.0, lower=0.0, upper=0.0, p_value=1.0)
    """
    freedom = speakers - groups
    if freedom < FEWEST - 1 or not len(samples) or not np.isfinite(value) or not np.isfinite(samples).all():
        return Assessed(value)
    least = 2.0 ** (1 - speakers)
    error = float(np.std(samples)) * np.sqrt(speakers / freedom)
    if error <= 1e-12 * max(1.0, abs(value)):
        return Assessed(value, value, value, least if value else 1.0)
    from scipy.special import stdtr, stdtrit

    centre = 2 * value - float(np.mean(samples))
    reach = float(stdtrit(freedom, 0.975)) * error
    p = max(least, min(1.0, 2 * float(stdtr(freedom, -abs(centre) / error))))
    return Assessed(value, min(value, centre - reach), max(value, centre + reach), p)


@dataclass(frozen=True)
class SortedTrials:
    """Scores of trials in ascending order, and the rows of `drawn` (speakers × resamples) that weigh them."""

    targets: Floats
    nontargets: Floats
    of_target: Ints
    enrolled: Ints
    spoken: Ints

    @classmethod
    def of(cls, score: Floats, is_target: Flags, enroll: Ints, speaker: Ints) -> SortedTrials:
        """Sort trials; `enroll` and `speaker` are the rows of `drawn` of the enrolled and of the speaking person."""
        target, nontarget = np.flatnonzero(is_target), np.flatnonzero(~is_target)
        target = target[np.argsort(score[target], kind="stable")]
        nontarget = nontarget[np.argsort(score[nontarget], kind="stable")]
        return cls(score[target], score[nontarget], enroll[target], enroll[nontarget], speaker[nontarget])


def resampled_eers(trials: SortedTrials, drawn: Ints, metric: str) -> Floats:
    """The EER of every resample; NaN where no target or no nontarget trial is left.

    `metric` is ``eer_kaldi`` (in its fair form) or ``eer_threshold``; the numbers are those of `vpeval.metrics.eer`.
    """
    find = _FAST[metric]
    resamples = drawn.shape[1]
    values = np.full(resamples, np.nan)
    step = max(1, _CELLS // max(1, len(trials.nontargets)))
    for start in range(0, resamples, step):
        block = _narrow(drawn[:, start : start + step])
        weights = _Weights.of(trials, block)
        left = np.flatnonzero((weights.n_targets > 0) & (weights.n_nontargets > 0))
        if len(left) < block.shape[1]:
            weights = _Weights.of(trials, block[:, left])
        values[start + left] = find(trials, weights)
    return values


@dataclass(frozen=True)
class _Weights:
    """Cumulated weights from 0 on: how many trials of a resample (column) are among the first of the sorted ones."""

    targets: Ints
    nontargets: Ints

    @classmethod
    def of(cls, trials: SortedTrials, drawn: Ints) -> _Weights:
        return cls(_cumulated(drawn[trials.of_target]), _cumulated(drawn[trials.enrolled] * drawn[trials.spoken]))

    @property
    def n_targets(self) -> Ints:
        return self.targets[-1].astype(np.int64)

    @property
    def n_nontargets(self) -> Ints:
        return self.nontargets[-1].astype(np.int64)


def _narrow(drawn: Ints) -> Ints:
    """The same numbers in few bytes, as time goes into memory; their squares must fit as well."""
    return drawn.astype(np.int16 if drawn.max(initial=0) < 181 else np.int64)


def _cumulated(weights: Ints) -> Ints:
    wide = len(weights) * int(weights.max(initial=0)) >= 2**31
    total = np.zeros((len(weights) + 1, weights.shape[1]), np.int64 if wide else np.int32)
    for i, row in enumerate(weights):  # cumsum goes column by column through memory, which takes five times as long
        np.add(total[i], row, out=total[i + 1])
    return total


def _threshold(trials: SortedTrials, weights: _Weights) -> Floats:
    score = np.unique(np.concatenate((trials.targets, trials.nontargets)))
    rejected = np.searchsorted(trials.nontargets, score, side="right")
    missed = np.searchsorted(trials.targets, score, side="right")
    column = np.arange(weights.targets.shape[1])
    nt, nn = weights.n_targets, weights.n_nontargets

    def gap(place: Ints) -> Ints:
        """Nt·Nn·(Pmiss - Pfa), which rises with the threshold."""
        miss, correct = weights.targets[missed[place], column], weights.nontargets[rejected[place], column]
        return miss * nn + correct * nt - nt * nn

    above = _first(lambda place: gap(place) >= 0, np.full(len(column), len(score)))
    below = np.maximum(above - 1, 0)
    best = np.where(abs(gap(below)) <= abs(gap(above)), below, above)
    miss, correct = weights.targets[missed[best], column], weights.nontargets[rejected[best], column]
    return ((nn - correct) / nn + miss / nt) / 2


def _kaldi(trials: SortedTrials, weights: _Weights) -> Floats:
    column = np.arange(weights.targets.shape[1])
    nt, nn = weights.n_targets, weights.n_nontargets

    def pair(k: Ints) -> tuple[Floats, Floats]:
        """The k-th target score of a resample, and the nontarget score that Kaldi compares it with."""
        opposite = nn - 1 - nn * k // nt
        target = _first(lambda i: weights.targets[i + 1, column] > k, np.full(len(k), len(trials.targets)))
        other = _first(lambda i: weights.nontargets[i + 1, column] > opposite, np.full(len(k), len(trials.nontargets)))
        return trials.targets[target], trials.nontargets[other]

    def kept(k: Ints) -> Flags:
        target, opposite = pair(k)
        return opposite < target

    def lenient(k: Ints) -> Flags:
        target, opposite = pair(k)
        return opposite <= target

    searched = np.maximum(1, nt - 1)
    in_favour = _first(lenient, searched)
    # Without ties it is the same place.
    same = kept(np.minimum(in_favour, searched - 1)) | (in_favour == searched)
    against = in_favour if same.all() else _first(kept, searched)
    found = in_favour < searched
    in_favour = np.where(found, in_favour, nt - 1)
    # Where scores tie up to the end, Kaldi's search ends one short of it.
    against = np.where(against < searched, against, np.where(found, nt, nt - 1))
    return (in_favour + against) / 2 / nt


_FAST: Mapping[str, Callable[[SortedTrials, _Weights], Floats]] = {"eer_threshold": _threshold, "eer_kaldi": _kaldi}
FAST = tuple(_FAST)
"""The EERs that `resampled_eers` knows."""


def _first(holds: Callable[[Ints], Flags], end: Ints) -> Ints:
    """In every column the first place before `end` from which on `holds` is true; `end` where it never is."""
    low, high = np.zeros_like(end), end.copy()
    while (low < high).any():
        middle = np.minimum((low + high) // 2, end - 1)
        true = holds(middle)
        high, low = np.where(true, np.minimum(high, middle), high), np.where(true, low, np.maximum(low, middle + 1))
    return low
