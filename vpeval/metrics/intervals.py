"""95 % intervals over speakers that hold for few speakers and at the ends of a scale; one kind per kind of statistic.

All values of a speaker depend on each other, so speakers are the sample, whatever the number of trials. A bootstrap of
few speakers is too narrow, and of speakers who all give the same value it has no width at all, though nobody can tell
from five speakers without an error that there are none. Therefore:

- `share_intervals`, of shares of successes that are means over speakers (linkability, singling out, identification
  rate, emotions recalled), and `rate_interval`, of error rates over trials (the EERs) and costs from 0 to 1 (min Cllr,
  min DCF, and what ZEBRA and D_sys leave to be disclosed): Jeffreys' limits for an effective number of trials (Korn &
  Graubard, 1998), which is p(1-p) over the variance. `_Rates` describes the variance.
- `mean_intervals`, of means over speakers of values in another known range: Gaffke's (2005; Learned-Miller & Thomas,
  2020). Random weights as in the Bayesian bootstrap, with one speaker more at the upper end of the range for the upper
  limit, and at the lower end for the lower limit.
- `ratio_interval`, of errors per word (WER, CER), which have no upper end: t relative standard errors over speakers on
  a logarithmic scale. The upper limit allows for speakers who are worse than all that were recorded.
- `studentised_interval`, of everything else: value less bias ± t standard errors over resampled speakers, cut at the
  ends of the scale.

t is Student's quantile. Fewer than `FEWEST` speakers, or speakers who do not differ where the kind of interval lives on
differences, have no interval, and the notes of the record say so (`no_interval`). Coverage and width by simulation:
docs/intervals.md.

In a bootstrap, whole speakers are drawn with replacement and all values of a speaker move together (Efron & Tibshirani,
An introduction to the bootstrap, 1993). A resample is a vector of multiplicities m with sum(m) = number of speakers:
speaker i counts m[i] times.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from vpeval.core.arrays import Counts, Floats
from vpeval.core.seeds import generator

RESAMPLES = 1000
"""How often speakers are drawn by default, for all intervals."""
FEWEST = 4
"""Speakers below which no interval is given."""
CORRELATION = 0.2
"""Correlation of trials of one speaker where the data cannot tell it: how much a first error speaks for a second."""
PRIOR = 2.5
"""How many errors, or successes, the variance that is assumed weighs as much as."""
_UNEQUAL = 4.0
"""Squared coefficient of variation of a speaker who was not recorded: the deviation is twice the mean."""

_TAIL = 0.025
_NORMAL = 1.959963984540054
# Weights of resamples are made and used in blocks of about this many numbers, which bounds the memory at some 100 MB.
_BLOCK = 4_000_000


@dataclass(frozen=True)
class Interval:
    """A confidence interval, both ends included."""

    lower: float
    upper: float


@dataclass(frozen=True)
class SpeakerInterval:
    """Limits, or none of them, and what a record says about how they were made or why there are none."""

    lower: float | None
    upper: float | None
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The limits only."""
        return "no interval" if self.lower is None or self.upper is None else f"[{self.lower:.3f}, {self.upper:.3f}]"


@dataclass(frozen=True)
class Estimate:
    """A number of one metric with its interval, what it rests on, and what else is known about it."""

    metric: str
    value: float
    interval: SpeakerInterval
    params: Mapping[str, Any]
    counts: Mapping[str, int]
    notes: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        """The value and its interval."""
        return f"{' '.join((self.metric, *map(str, self.params.values())))} {self.value:.3f} {self.interval}"


NO_INTERVAL = SpeakerInterval(None, None)
"""None was asked for."""


def multiplicities(speakers: int, resamples: int, rng: np.random.Generator) -> Counts:
    """How often each speaker is drawn in each resample: an array resamples × speakers, every row sums to `speakers`."""
    drawn = rng.integers(speakers, size=(resamples, speakers))
    drawn += np.arange(resamples)[:, None] * speakers
    return np.bincount(drawn.ravel(), minlength=resamples * speakers).reshape(resamples, speakers)


def percentile_interval(samples: ArrayLike, level: float = 0.95) -> Interval:
    """The central `level` of the samples; its ends are samples, the outer neighbours of the percentiles."""
    values = np.asarray(samples, dtype=np.float64)
    tail = (1 - level) / 2
    lower = np.quantile(values, tail, method="lower")
    upper = np.quantile(values, 1 - tail, method="higher")
    return Interval(float(lower), float(upper))


def widened(interval: Interval, value: float, low: float, high: float, units: int) -> Interval:
    """An interval of zero width, widened by what as many as `units` equal observations may have missed.

    Where all of them are the same, so is every resample. A share of 1 - (0.05 / 2)^(1/units) of the others may still
    differ without one among the observed; at worst it is all at an end of the scale, which reaches from `low` to
    `high`. Other intervals stay as they are.

    >>> widened(Interval(1, 1), 1, 0, 1, 2)
    Interval(lower=0.158113883008419, upper=1.0)
    """
    if interval.upper - interval.lower > 1e-9 * (high - low):  # less is rounding
        return interval
    share = 1 - (0.05 / 2) ** (1 / units)
    return Interval(value - share * (value - low), value + share * (high - value))


def too_few(speakers: int) -> SpeakerInterval | None:
    """No interval, if there are too few speakers for one."""
    if speakers >= FEWEST:
        return None
    reason = f"{speakers} speaker{'s' * (speakers != 1)}; an interval over speakers needs {FEWEST} or more"
    return SpeakerInterval(None, None, {"no_interval": reason})


@dataclass(frozen=True)
class _Rates:
    """Rates from 0 to 1 over `trials` of `speakers`, with the variances that were seen.

    Two things make a variance that was seen too small. Few speakers tell little about it: Student's quantile takes the
    place of the normal one, and where errors come from few speakers, its degrees of freedom are their number (`spread`)
    and one more. And where few errors, or few successes, were `seen`, speakers cannot tell how much they differ: the
    variance is the mean of the one that was seen, weighted by that number, and of the one that correlated trials would
    have, weighted by `PRIOR`. No variance need be above that of speakers whose trials all go wrong or all right, but
    for the factor `assumed`, which allows for numbers of speakers being whole.
    """

    rates: Floats
    variances: Floats
    trials: float
    speakers: float
    independent: float
    assumed: float = 1.0

    @property
    def smooth(self) -> Floats:
        """The rates with half an error, and half a success, more."""
        return (self.rates * self.trials + 0.5) / (self.trials + 1)

    def spread(self, shares: Floats) -> Floats:
        """Over how many speakers the successes with these shares are spread: n for speakers who are all alike."""
        found: Floats = shares**2 / np.maximum(self.variances + shares**2 / self.speakers, 1e-300)
        return found

    def effective(self, seen: Floats, freedom: Floats | None) -> Floats:
        """How many independent trials tell as much, with Student's quantile for `freedom` or the normal one."""
        from scipy.special import stdtrit

        each = self.smooth * (1 - self.smooth)
        variances = self.variances
        if freedom is not None:
            most = np.maximum(self.assumed * each / self.speakers, variances)
            variances = np.minimum(variances * (stdtrit(freedom, 1 - _TAIL) / _NORMAL) ** 2, most)
        blended = (seen * variances + PRIOR * self.assumed * each / self.independent) / (seen + PRIOR)
        found: Floats = each / blended
        return found


def _independent(trials: float, speakers: float) -> float:
    """How many independent trials as many of these speakers are worth if they correlate by `CORRELATION`."""
    return trials / (1 + (max(1.0, trials / speakers) - 1) * CORRELATION)


def _jeffreys(rates: Floats, trials: Floats, level: float) -> Floats:
    """Jeffreys' limit, which is the end of the scale where nothing, or all, went wrong."""
    from scipy.special import betaincinv

    found = betaincinv(rates * trials + 0.5, (1 - rates) * trials + 0.5, level)
    return np.where(rates > 0, found, 0.0) if level < 0.5 else np.where(rates < 1, found, 1.0)


def share_intervals(
    values: ArrayLike, resamples: int = RESAMPLES, weights: ArrayLike | None = None, trials: int | None = None
) -> list[SpeakerInterval]:
    """Intervals of the means over speakers of every column of `values` (speakers × columns, from 0 to 1).

    `weights` are those of the speakers in the mean, by default equal. The value of a speaker is the share of successes
    in some of all `trials`; where their number is not given, it may be one trial. Nothing is resampled; 0 `resamples`
    stand for no intervals, as elsewhere.
    """
    from scipy.special import stdtrit

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
    variances = np.einsum("s,sc->c", share**2, np.square(matrix - means)) / max(1 - np.square(share).sum(), 1e-12)
    counted = float(1 / np.square(share).sum())
    freedom = max(1.0, counted - 1)
    total = counted if trials is None else max(float(trials), counted)
    assumed = (float(stdtrit(2 * freedom, 1 - _TAIL)) / _NORMAL) ** 2
    found = _Rates(means, variances, total, counted, _independent(total, counted), assumed)
    right, wrong = found.spread(means), found.spread(1 - means)
    seen = np.maximum(np.minimum(right, wrong), np.minimum(means, 1 - means) * total)
    lower = _jeffreys(means, found.effective(seen, np.minimum(1 + wrong, freedom)), _TAIL)
    upper = _jeffreys(means, found.effective(seen, np.minimum(1 + right, freedom)), 1 - _TAIL)
    notes = {"interval": "Korn-Graubard and Jeffreys, over speakers"}
    return [
        SpeakerInterval(min(float(low), float(mean)), max(float(high), float(mean)), notes)
        for low, high, mean in zip(lower, upper, means, strict=True)
    ]


def rate_lines(title: str, size: str, sizes: Iterable[int], values: Floats, chances: Floats) -> str:
    """A line for every rate of a result, with its chance level.

    >>> rate_lines("linkability", "N'", [2], np.array([0.75]), np.array([0.5]))
    "linkability 0.750 at N' = 2 (chance 0.500)"
    """
    rows = zip(sizes, values, chances, strict=True)
    return "\n".join(f"{title} {value:.3f} at {size} = {n} (chance {chance:.3f})" for n, value, chance in rows)


def rate_interval(
    value: float,
    samples: Floats,
    trials: int,
    speakers: int,
    notes: Mapping[str, Any],
    highest: float = 1.0,
    weight: float = 1.0,
    bias: float = 1.0,
) -> SpeakerInterval:
    """Interval of an error rate over `trials` of `speakers`; `samples` are its values for resampled speakers.

    `highest` is the end of the scale; one trial more that goes wrong raises the rate by `weight` / `trials`. Few trials
    flatter the attacker, and resampled ones once more: what these lose, times `bias`, is added for the upper limit.

    Resamples of trials, in which a pair of speakers counts as the product of both, vary by somewhat more than the rate
    does, so that the normal quantile is enough for the lower limit.
    """
    from scipy.special import stdtrit

    if not len(samples):
        return NO_INTERVAL
    if none := too_few(speakers):
        return none
    rate, variance = np.array([value]), np.array([float(np.var(samples))])
    found = _Rates(rate, variance, trials / weight, speakers, _independent(trials, speakers) / weight)
    seen, freedom = np.minimum(rate, 1 - rate) * found.trials, 1 + found.spread(rate)
    corrected = min(highest, max(value, value + bias * (value - float(np.mean(samples)))))
    lower = float(_jeffreys(rate, found.effective(seen, None), _TAIL)[0])
    upper = float(_jeffreys(np.array([corrected]), found.effective(seen, freedom), 1 - _TAIL)[0])
    # Jeffreys' limit never reaches the end of the scale, which is the true rate where there is nothing to find.
    upper = max(upper, corrected + float(stdtrit(freedom[0], 1 - _TAIL)) * float(np.sqrt(variance[0])))
    described = {"interval": "Korn-Graubard and Jeffreys, over speakers", **notes}
    return SpeakerInterval(min(lower, value), max(value, min(upper, highest)), described)


def mean_intervals(
    values: ArrayLike,
    low: float = 0.0,
    high: float = 1.0,
    resamples: int = RESAMPLES,
    seed: int = 0,
    label: str = "mean",
) -> list[SpeakerInterval]:
    """Intervals of the means over speakers of every column of `values` (speakers × columns, from `low` to `high`)."""
    matrix = np.asarray(values, np.float64)
    speakers, columns = matrix.shape
    if resamples == 0:
        return [NO_INTERVAL] * columns
    if none := too_few(speakers):
        return [none] * columns
    rng = generator(seed, label)
    ends = []
    step = max(1, _BLOCK // speakers)
    for start in range(0, resamples, step):
        drawn = rng.standard_exponential((min(step, resamples - start), speakers + 1))
        drawn /= drawn.sum(axis=1, keepdims=True)
        # Not a matrix product: BLAS adds in an order that depends on its threads, and the last digit with it.
        inside = np.einsum("rs,sc->rc", drawn[:, :-1], matrix)
        ends.append((inside + low * drawn[:, -1:], inside + high * drawn[:, -1:]))
    lower, upper = (np.concatenate(side) for side in zip(*ends, strict=True))
    notes = {"interval": "Gaffke, over speakers", "resamples": resamples, "seed": seed}
    means = matrix.mean(axis=0)
    return [
        SpeakerInterval(
            max(low, min(percentile_interval(lower[:, c]).lower, float(means[c]))),
            min(high, max(percentile_interval(upper[:, c]).upper, float(means[c]))),
            notes,
        )
        for c in range(columns)
    ]


def ratio_interval(numerators: ArrayLike, denominators: ArrayLike, events: int) -> SpeakerInterval:
    """Interval of Σ numerators / Σ denominators, one of each per speaker; `events` could each go wrong as a whole.

    k² is the relative variance of the ratio over speakers, at least that of errors that happen by themselves. The lower
    limit is the ratio times exp(-t k). For the upper one there is one error more, and the squared coefficient of
    variation of speakers is its mean with that of one speaker more, for which it is `_UNEQUAL`: few speakers are far
    worse than the others, and may not be in the sample. The limit is exp(t k + k²) times the ratio, but not above 1 and
    twice the highest ratio of a speaker, whichever is greater. It is at least 3.69 over the number of events, the rate
    at which they may be wholly wrong and none of these be so.
    """
    top, bottom = np.asarray(numerators, np.float64), np.asarray(denominators, np.float64)
    speakers, total = len(top), float(bottom.sum())
    if none := too_few(speakers):
        return none
    if total == 0:
        return SpeakerInterval(None, None, {"no_interval": "nothing to divide by"})
    rate, more, t = float(top.sum()) / total, (float(top.sum()) + 1) / total, _student(speakers)
    seen = float(np.square(top - rate * bottom).sum()) / total**2 * speakers / (speakers - 1)
    variance = max(seen, rate / total)
    lower = rate * np.exp(-t * np.sqrt(variance) / rate) if rate > 0 else 0.0
    relative = ((variance + 1 / total**2) / more**2 * speakers + _UNEQUAL / speakers) / (speakers + 1)
    most = 2 * float(np.max(top / np.maximum(bottom, 1)))
    upper = min(more * np.exp(t * np.sqrt(relative) + relative), max(1.0, most))
    # Were each event wrong as a whole by a chance as high as this, none of them would be so with probability 0.025.
    unseen = -np.log(_TAIL) / max(1, events)
    return SpeakerInterval(float(lower), float(max(upper, unseen)), {"interval": "log-normal, over speakers"})


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


def _student(speakers: int) -> float:
    """Student's quantile for one degree of freedom less than there are speakers."""
    from scipy.special import stdtrit

    return float(stdtrit(speakers - 1, 1 - _TAIL))


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
    """Summarise values that every utterance has by itself; `resamples` = 0 leaves the interval over speakers out.

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
