"""95 % intervals over speakers that hold for few speakers and at the ends of a scale; one kind per kind of statistic.

All values of a speaker depend on each other, so speakers are the sample, whatever the number of trials. A bootstrap of
few speakers is too narrow, and of speakers who all give the same value it has no width at all, though nobody can tell
from five speakers without an error that there are none. Therefore:

- `share_intervals`, of shares of successes, as means over speakers of values from 0 to 1 (linkability, singling out,
  identification rate), and `rate_interval`, of error rates over trials (the EERs): Jeffreys' limits for an effective
  number of trials (Korn & Graubard, 1998). It is p(1-p) over the variance over speakers, times (z/t)² for the
  uncertainty of that variance. Where few errors (or few successes) were seen, speakers cannot tell how much they
  differ: the variance is the mean of the one that was seen, weighted by their number, and of the one that independent
  speakers, or trials that correlate by `CORRELATION` within a speaker, would have, weighted by `PRIOR`. The upper limit
  of a rate is that of the rate less its bias, and at least t standard errors above it. Costs on a scale from 0 to 1
  are such rates, too (min Cllr, min DCF, and what ZEBRA and D_sys leave to be disclosed).
- `mean_intervals`, of means over speakers of values in another known range: Gaffke's (2005; Learned-Miller & Thomas,
  2020). Random weights as in the Bayesian bootstrap, with one speaker more at the upper end of the range for the upper
  limit, and at the lower end for the lower limit.
- `ratio_interval`, of errors per word (WER, CER), which have no upper end: the gamma limits of Fay and Feuer (1997)
  with the variance over speakers, times (t/z)². The upper limit is at least 3.69 over the number of utterances, the
  rate at which utterances may be wholly wrong and none of these be so.
- `studentised_interval`, of everything else: value less bias ± t standard errors over resampled speakers, cut at the
  ends of the scale.

z is the normal and t Student's quantile for one degree of freedom less than there are speakers; for shares and rates
for twice as many, which simulations show to be enough. Fewer than `FEWEST`
speakers, or speakers who do not differ where the kind of interval lives on differences, have none, and the notes of the
record say so (`no_interval`). Coverage by simulation: docs/intervals.md.

Speaker-level bootstrap: how far a number would move if other speakers had been recorded.

Trials of one speaker depend on each other, so whole speakers are drawn with replacement and all values of a speaker
move together (Efron & Tibshirani, An introduction to the bootstrap, 1993; percentile interval). A resample is a vector
of multiplicities m with sum(m) = number of speakers: speaker i counts m[i] times.

Interval ends are sample values (the outer neighbour of the percentile), so infinite values are harmless.

Means over utterances, with an interval over speakers: for measures that every utterance has by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vpeval.core.arrays import Counts, Floats
from vpeval.core.seeds import generator

RESAMPLES = 1000
"""How often speakers are drawn by default, for all intervals."""

# Multiplicities are made and used in blocks of about this many numbers, which bounds the memory at some 100 MB.


@dataclass(frozen=True)
class Interval:
    """A confidence interval, both ends included."""

    lower: float
    upper: float


def multiplicities(speakers: int, resamples: int, rng: np.random.Generator) -> Counts:
    """How often each speaker is drawn in each resample: an array resamples × speakers, every row sums to `speakers`."""
    drawn = rng.integers(speakers, size=(resamples, speakers))
    drawn += np.arange(resamples)[:, None] * speakers
    return np.bincount(drawn.ravel(), minlength=resamples * speakers).reshape(resamples, speakers)


def percentile_interval(samples: ArrayLike, level: float = 0.95) -> Interval:
    """The central `level` of the samples."""
    values = np.asarray(samples, dtype=np.float64)
    tail = (1 - level) / 2
    lower = np.quantile(values, tail, method="lower")
    upper = np.quantile(values, 1 - tail, method="higher")
    return Interval(float(lower), float(upper))


def interval_notes(resamples: int, seed: int, redrawn: int = 0) -> dict[str, object]:
    """What a record says about how its interval was made; nothing if there is none."""
    if resamples == 0:
        return {}
    return {"interval": "speaker bootstrap", "resamples": resamples, "redrawn": redrawn, "seed": seed}


def bootstrap_mean(
    values_per_speaker: ArrayLike, resamples: int = RESAMPLES, seed: int = 0, label: str = "mean"
) -> Interval:
    """Interval of the mean over speakers of one value per speaker.

    >>> bootstrap_mean([0.25, 0.25, 0.25])
    Interval(lower=0.25, upper=0.25)
    """
    values = np.asarray(values_per_speaker, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"one value per speaker is expected, not an array of shape {values.shape}")
    return bootstrap_means(values[:, None], resamples, seed, label)[0]


def bootstrap_means(
    values_per_speaker: ArrayLike, resamples: int = RESAMPLES, seed: int = 0, label: str = "mean"
) -> list[Interval]:
    """Interval of the mean over speakers for every column of a matrix speakers × columns.

    All columns share the resamples, so that curves over the columns move as one.
    """
    values = np.asarray(values_per_speaker, dtype=np.float64)
    if values.ndim != 2 or len(values) == 0:
        raise ValueError(f"a matrix speakers × columns is expected, not an array of shape {values.shape}")
    speakers = len(values)
    rng = generator(seed, label)
    block = max(1, _BLOCK // speakers)
    means = [
        _weighted_sums(multiplicities(speakers, min(block, resamples - start), rng), values) / speakers
        for start in range(0, resamples, block)
    ]
    return [percentile_interval(column) for column in np.concatenate(means).T]


def _weighted_sums(weights: Counts, values: NDArray[np.float64]) -> NDArray[np.float64]:
    # Not a matrix product: BLAS adds in an order that depends on its threads, and the last digit with it.
    return np.einsum("rs,sc->rc", weights, values)


FEWEST = 4
"""Speakers below which no interval is given."""

CORRELATION = 0.2
"""Correlation of trials of one speaker where the data cannot tell it: how much a first error speaks for a second."""
PRIOR = 2.0
"""How many errors, or successes, the variance that is assumed weighs as much as."""

_TAIL = 0.025
_BLOCK = 4_000_000


@dataclass(frozen=True)
class SpeakerInterval:
    """Limits, or none of them, and what a record says about how they were made or why there are none."""

    lower: float | None
    upper: float | None
    notes: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Estimate:
    """A number of one metric with its interval, what it rests on, and what else is known about it."""

    metric: str
    value: float
    interval: SpeakerInterval
    params: Mapping[str, Any]
    counts: Mapping[str, int]
    notes: Mapping[str, Any] = field(default_factory=dict)


NO_INTERVAL = SpeakerInterval(None, None)
"""None was asked for."""


def too_few(speakers: int) -> SpeakerInterval | None:
    """No interval, if there are too few speakers for one."""
    if speakers >= FEWEST:
        return None
    reason = f"{speakers} speaker{'s' * (speakers != 1)}; an interval over speakers needs {FEWEST} or more"
    return SpeakerInterval(None, None, {"no_interval": reason})


def mean_intervals(
    values: ArrayLike,
    low: float = 0.0,
    high: float = 1.0,
    resamples: int = RESAMPLES,
    seed: int = 0,
    label: str = "mean",
    weights: ArrayLike | None = None,
) -> list[SpeakerInterval]:
    """Intervals of the means over speakers of every column of `values` (speakers × columns, from `low` to `high`).

    `weights` are those of the speakers in the mean, by default equal.
    """
    matrix = np.asarray(values, np.float64)
    speakers, columns = matrix.shape
    if resamples == 0:
        return [NO_INTERVAL] * columns
    if none := too_few(speakers):
        return [none] * columns
    share = np.ones(speakers) if weights is None else np.asarray(weights, np.float64)
    share = share / share.mean()
    rng = generator(seed, label)
    ends = []
    step = max(1, _BLOCK // speakers)
    for start in range(0, resamples, step):
        drawn = rng.standard_exponential((min(step, resamples - start), speakers + 1))
        drawn[:, :-1] *= share
        drawn /= drawn.sum(axis=1, keepdims=True)
        # Not a matrix product: BLAS adds in an order that depends on its threads, and the last digit with it.
        inside = np.einsum("rs,sc->rc", drawn[:, :-1], matrix)
        ends.append((inside + low * drawn[:, -1:], inside + high * drawn[:, -1:]))
    lower, upper = (np.concatenate(side) for side in zip(*ends, strict=True))
    notes = {"interval": "Gaffke, over speakers", "resamples": resamples, "seed": seed}
    means = share @ matrix / speakers
    return [
        SpeakerInterval(
            max(low, min(percentile_interval(lower[:, c]).lower, float(means[c]))),
            min(high, max(percentile_interval(upper[:, c]).upper, float(means[c]))),
            notes,
        )
        for c in range(columns)
    ]


def rate_interval(
    value: float,
    samples: Floats,
    trials: int,
    speakers: int,
    notes: Mapping[str, Any],
    highest: float = 1.0,
    weight: float = 1.0,
) -> SpeakerInterval:
    """Interval of an error rate over `trials` of `speakers`; `samples` are its values for resampled speakers.

    `highest` is the end of the scale; one trial more that goes wrong raises the rate by `weight` / `trials`.
    """
    if not len(samples):
        return NO_INTERVAL
    if none := too_few(speakers):
        return none
    per_speaker = max(1.0, trials / speakers)
    independent = trials / (1 + (per_speaker - 1) * CORRELATION) / weight
    variance = float(np.var(samples)) * speakers / (speakers - 1)
    # Few trials flatter the attacker, and resampled ones once more: what they add is taken off for the upper limit.
    corrected = min(highest, max(value, 2 * value - float(np.mean(samples))))
    effective = _effective(np.array([value]), np.array([variance]), trials / weight, independent, speakers)
    lower, _ = _jeffreys(np.array([value]), effective)
    _, upper = _jeffreys(np.array([corrected]), effective)
    # Where chance is the end of the scale, the limit must be able to reach it.
    highest_seen = max(float(upper[0]), corrected + _student(speakers, 2) * float(np.sqrt(variance)))
    described = {"interval": "Korn-Graubard and Jeffreys, over speakers", **notes}
    return SpeakerInterval(min(float(lower[0]), value), max(value, min(highest_seen, highest)), described)


def share_intervals(
    values: ArrayLike, resamples: int = RESAMPLES, weights: ArrayLike | None = None
) -> list[SpeakerInterval]:
    """Intervals of the means over speakers of every column of `values` (speakers × columns, from 0 to 1).

    `weights` are those of the speakers in the mean, by default equal. Nothing is resampled; 0 `resamples` stand for no
    intervals, as elsewhere.
    """
    matrix = np.asarray(values, np.float64)
    speakers, columns = matrix.shape
    if resamples == 0:
        return [NO_INTERVAL] * columns
    if none := too_few(speakers):
        return [none] * columns
    share = np.ones(speakers) if weights is None else np.asarray(weights, np.float64)
    share = share / share.sum()
    # Not matrix products: BLAS adds in an order that depends on its threads, and the last digit with it.
    means = np.einsum("s,sc->c", share, matrix)
    variance = np.einsum("s,sc->c", share**2, np.square(matrix - means)) * speakers / (speakers - 1)
    counted = float(1 / np.square(share).sum())
    lower, upper = _jeffreys(means, _effective(means, variance, counted, counted, speakers))
    notes = {"interval": "Korn-Graubard and Jeffreys, over speakers"}
    return [
        SpeakerInterval(min(float(low), float(mean)), max(float(high), float(mean)), notes)
        for low, high, mean in zip(lower, upper, means, strict=True)
    ]


def _effective(rates: Floats, variances: Floats, trials: float, independent: float, speakers: int) -> Floats:
    """How many independent trials tell as much as `trials` of `speakers` whose rates have these variances."""
    smooth = (rates * trials + 0.5) / (trials + 1)
    seen = np.minimum(rates, 1 - rates) * trials
    variance = (seen * variances + PRIOR * smooth * (1 - smooth) / independent) / (seen + PRIOR)
    found: Floats = smooth * (1 - smooth) / variance * (_normal() / _student(speakers, 2)) ** 2
    return found


def _jeffreys(rates: Floats, trials: Floats) -> tuple[Floats, Floats]:
    """Jeffreys' limits, which are the ends of the scale where nothing, or all, went wrong."""
    from scipy.special import betaincinv

    errors, rest = rates * trials + 0.5, (1 - rates) * trials + 0.5
    lower = np.where(rates > 0, betaincinv(errors, rest, _TAIL), 0.0)
    upper = np.where(rates < 1, betaincinv(errors, rest, 1 - _TAIL), 1.0)
    return lower, upper


def ratio_interval(numerators: ArrayLike, denominators: ArrayLike, events: int) -> SpeakerInterval:
    """Interval of Σ numerators / Σ denominators, one of each per speaker; `events` could each go wrong as a whole."""
    top, bottom = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    speakers = len(top)
    if none := too_few(speakers):
        return none
    if bottom.sum() == 0:
        return SpeakerInterval(None, None, {"no_interval": "nothing to divide by"})
    from scipy.stats import chi2

    rate, events = float(top.sum() / bottom.sum()), max(1, events)
    residual = top - rate * bottom
    variance = float(np.square(residual).sum() / bottom.sum() ** 2) * speakers / (speakers - 1)
    # Never less than if every word went wrong by itself.
    variance = max(variance, rate / float(bottom.sum())) * (_student(speakers) / _normal()) ** 2
    word = 1 / float(bottom.sum())
    more, spread = rate + word, variance + (_student(speakers) / _normal() * word) ** 2
    lower = variance / rate / 2 * chi2.ppf(_TAIL, 2 * rate**2 / variance) if rate > 0 else 0.0
    upper = spread / more / 2 * chi2.ppf(1 - _TAIL, 2 * more**2 / spread)
    # Were each event wrong as a whole by a chance as high as this, none of them would be so with probability 0.025.
    unseen = -np.log(_TAIL) / events
    return SpeakerInterval(float(lower), float(max(upper, unseen)), {"interval": "Fay-Feuer gamma, over speakers"})


def studentised_interval(
    value: float,
    samples: Floats,
    speakers: int,
    notes: Mapping[str, Any],
    low: float = -np.inf,
    high: float = np.inf,
) -> SpeakerInterval:
    """Interval of a statistic from its values for resampled speakers; `low` and `high` are the ends of its scale."""
    if not len(samples):
        return NO_INTERVAL
    if none := too_few(speakers):
        return none
    inside = samples[np.isfinite(samples)]
    if not np.isfinite(value) or len(inside) < len(samples):
        return SpeakerInterval(None, None, {"no_interval": "infinite, or so for some of the speakers"})
    deviation = float(np.std(inside)) * np.sqrt(speakers / (speakers - 1))
    if deviation <= 1e-12 * max(1.0, abs(value)):
        return SpeakerInterval(None, None, {"no_interval": "speakers do not differ; how others would is not known"})
    centre = 2 * value - float(np.mean(inside))
    reach = _student(speakers) * deviation
    lower, upper = min(centre - reach, value), max(centre + reach, value)
    described = {"interval": "studentised speaker bootstrap", **notes}
    return SpeakerInterval(max(lower, min(low, value)), min(upper, max(high, value)), described)


def _normal() -> float:
    return 1.959963984540054


def _student(speakers: int, times: int = 1) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(times * (speakers - 1), 1 - _TAIL))


@dataclass(frozen=True)
class UtteranceMean:
    """Mean and standard deviation (of the population) over utterances."""

    mean: float
    std: float
    interval: SpeakerInterval
    utts: int
    speakers: int


def utterance_mean(
    values: Mapping[str, float],
    utt2spk: Mapping[str, str],
    resamples: int = RESAMPLES,
    seed: int = 0,
    label: str = "mean",
) -> UtteranceMean:
    """Summarise values by utterance; `resamples` = 0 leaves the interval out.

    >>> utterance_mean({"a-1": 1.0, "a-2": 3.0, "b-1": 2.0}, {"a-1": "a", "a-2": "a", "b-1": "b"}).interval.notes
    {'no_interval': '2 speakers; an interval over speakers needs 4 or more'}
    """
    if not values:
        raise ValueError("no utterances to summarise")
    column = np.array(list(values.values()), float)
    names, index = np.unique([utt2spk[utt] for utt in values], return_inverse=True)
    mean = float(column.mean())
    totals, counts = np.bincount(index, column), np.bincount(index)
    drawn = multiplicities(len(names), resamples, generator(seed, label))
    samples = (drawn * totals).sum(axis=1) / (drawn * counts).sum(axis=1)
    interval = studentised_interval(mean, samples, len(names), {"resamples": resamples, "seed": seed})
    return UtteranceMean(mean, float(column.std()), interval, len(column), len(names))
