"""All verification metrics of one set of trials, with intervals over speakers.

Resampling. Speakers are drawn with replacement from the union of enrolled and trial speakers. If speaker s is drawn
m[s] times, a nontarget trial of enrolled speaker e and an utterance of speaker u counts m[e]·m[u] times, since every
copy of e meets every copy of u; a target trial counts m[e] times, since a copy meets its own utterances only (a copy
that met another copy of the same speaker would be neither a target nor a nontarget trial). Both ways in which
trials depend on each other, through the enrolment and through the utterance, thus move together. Resamples in
which no target or no nontarget trial is left are drawn again, and their number is stated.

The scores are sorted once: a resample is new counts on the pooled scores. What the resamples become an interval by is
told in `intervals`; the speakers that count there are those with target trials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vpeval.core.seeds import generator
from vpeval.metrics.bootstrap import multiplicities
from vpeval.metrics.cllr import cllr, min_cllr
from vpeval.metrics.dcf import min_dcf
from vpeval.metrics.dsys import DsysNull, dsys, dsys_null, dsys_pav, level_of_strangers
from vpeval.metrics.eer import Eer, bengio_mariethoz, eer_kaldi_fair, eer_rocch, eer_threshold
from vpeval.metrics.intervals import SpeakerInterval, rate_interval, studentised_interval, too_few
from vpeval.metrics.paired import assess
from vpeval.metrics.scores import Floats, PooledScores, pool
from vpeval.metrics.zebra import zebra_individual, zebra_population, zebra_tag
from vpeval.results.records import Record


@dataclass(frozen=True)
class ScoredTrials:
    """Scores with their labels and the indices, from 0, of the enrolled speaker and of the speaker of the utterance."""

    score: Floats
    is_target: NDArray[np.bool_]
    enroll: NDArray[np.intp]
    speaker: NDArray[np.intp]

    @property
    def n_speakers(self) -> int:
        """Number of speakers, enrolled or not."""
        return int(max(self.enroll.max(), self.speaker.max())) + 1

    @property
    def n_target_speakers(self) -> int:
        """Number of speakers who have target trials."""
        return len(np.unique(self.enroll[self.is_target]))

    @property
    def counts(self) -> dict[str, int]:
        """What a metric of these trials rests on."""
        targets = int(self.is_target.sum())
        return {"targets": targets, "nontargets": len(self.score) - targets, "speakers": self.n_speakers}

    def pooled(self) -> PooledScores:
        """The scores sorted and pooled."""
        return pool(self.score[self.is_target], self.score[~self.is_target])


@dataclass(frozen=True)
class _Metric:
    """A metric and its interval: of an error rate up to `highest`, or None for a studentised one.

    What an attacker gains is `gain` less an error rate; one more error weighs as `weight` do (see `rate_interval`).
    """

    name: str
    function: Callable[[PooledScores], float]
    params: Mapping[str, object] = field(default_factory=dict)
    highest: float | None = None
    weight: float = 1.0
    gain: float = 0.0

    def interval(
        self, value: float, samples: Floats, trials: ScoredTrials, drawn: Mapping[str, object]
    ) -> SpeakerInterval:
        """The interval of `value` by its values for resampled speakers."""
        speakers = trials.n_target_speakers
        if self.highest is None:
            return studentised_interval(value, samples, speakers, drawn, low=0.0)
        targets = int(trials.is_target.sum())
        if not self.gain:
            return rate_interval(value, samples, targets, speakers, drawn, self.highest, self.weight)
        rate, rates = 1 - value / self.gain, 1 - samples / self.gain
        found = rate_interval(rate, rates, targets, speakers, drawn, self.highest, self.weight)
        if found.lower is None or found.upper is None:
            return found
        return replace(found, lower=self.gain * (1 - found.upper), upper=self.gain * (1 - found.lower))


_EERS: dict[str, Callable[[PooledScores], Eer]] = {
    "eer_kaldi": eer_kaldi_fair,
    "eer_threshold": eer_threshold,
    "eer_rocch": eer_rocch,
}
EERS: Mapping[str, Callable[[PooledScores], float]] = {
    "eer_kaldi": lambda pooled: eer_kaldi_fair(pooled).value,
    "eer_threshold": lambda pooled: eer_threshold(pooled).value,
    "eer_rocch": lambda pooled: eer_rocch(pooled).value,
}
"""The estimators of the equal error rate, by the names of their metrics."""
_METRICS = (
    _Metric("eer_kaldi", EERS["eer_kaldi"], {"estimator": "k/Nt of Kaldi's compute-eer"}, 1.0),
    _Metric("eer_threshold", EERS["eer_threshold"], {"estimator": "closest error rates"}, 1.0),
    _Metric("eer_rocch", EERS["eer_rocch"], {"estimator": "ROC convex hull"}, 0.5),
    _Metric("cllr", cllr, {"estimator": "scores as log-likelihood ratios"}),
    _Metric("min_cllr", min_cllr, {"estimator": "PAV"}, 1.0, weight=4),
    _Metric("zebra_population", zebra_population, {"estimator": "PAV"}, 1.0, weight=4, gain=1 / math.log(4)),
    _Metric("zebra_individual", zebra_individual, {"estimator": "Laplace PAV"}),
    _Metric("dsys", dsys, {"estimator": "histograms", "omega": 1}),
    _Metric("min_dcf", lambda pooled: min_dcf(pooled, 0.01), {"estimator": "normalised", "p": 0.01}, 1.0, 4),
    _Metric("min_dcf", lambda pooled: min_dcf(pooled, 0.001), {"estimator": "normalised", "p": 0.001}, 1.0, 4),
)
POINT_ESTIMATES: Mapping[str, Callable[[PooledScores], float]] = {
    metric.name: metric.function for metric in _METRICS if "p" not in metric.params
}
"""The metrics that need nothing but scores, by name."""


def verification(trials: ScoredTrials, resamples: int = 1000, seed: int = 0) -> list[Record]:
    """Every verification metric, with 95 % intervals over speakers unless `resamples` is 0.

    `params` says which estimator it is, `notes` how the interval was made. The three EERs have the interval of Bengio &
    Mariéthoz there as well, the individual ZEBRA value its tag. `dsys_null` is the level of `dsys` at shuffled labels,
    its interval the central 95 % of that level. `dsys_calibrated` is the D_sys to look at (see `dsys`).
    """
    pooled = trials.pooled()
    own_notes: dict[str, dict[str, object]] = {"zebra_individual": {"tag": zebra_tag(zebra_individual(pooled))}}
    for name, function in _EERS.items():
        independent = bengio_mariethoz(function(pooled), pooled.n_targets, pooled.n_nontargets)
        own_notes[name] = {"bengio_mariethoz": [independent.lower, independent.upper]}
    null = dsys_null(pooled, seed=seed)
    level = level_of_strangers(trials.score, trials.is_target, trials.enroll, trials.speaker, seed=seed)
    own_notes["dsys_calibrated"] = {"chance": 0.0, "strangers": level}
    metrics = (*_METRICS, _calibrated(level))
    samples, redrawn = _resample(trials, resamples, seed, metrics)
    drawn = {"resamples": resamples, "redrawn": redrawn, "seed": seed}
    records = []
    for metric, column in zip(metrics, samples.T, strict=True):
        record = Record(metric.name, metric.function(pooled), params=metric.params, counts=trials.counts)
        record = record.with_notes(own_notes.get(metric.name, {}))
        records.append(metric.interval(record.value, column, trials, drawn).of(record))
    return [*records[:-1], _null_record(null, trials, seed), records[-1]]


def _calibrated(level: float) -> _Metric:
    """D_sys from calibrated likelihood ratios, less the `level` at which strangers are taken for targets."""

    def function(pooled: PooledScores) -> float:
        return max(0.0, (dsys_pav(pooled) - level) / (1 - level)) if level < 1 else 0.0

    return _Metric("dsys_calibrated", function, {"estimator": "PAV", "omega": 1}, 1.0, weight=2, gain=1.0)


def _null_record(null: DsysNull, trials: ScoredTrials, seed: int) -> Record:
    ends = null.interval.lower, null.interval.upper
    estimator = {"estimator": "label permutation"}
    return Record("dsys_null", null.mean, *ends, estimator, trials.counts, {"seed": seed})


def paired_difference(trials: ScoredTrials, other_score: Floats, resamples: int = 1000, seed: int = 0) -> list[Record]:
    """Each metric of `trials` minus the same metric with `other_score` for the same trials, as `<metric>_difference`.

    Both sides of a difference see the same resampled speakers. `notes` holds the two-sided p value of "no difference"
    (see `paired`). Too few speakers for an interval are too few for a p value.
    """
    other = replace(trials, score=other_score)
    ours, redrawn = _resample(trials, resamples, seed)
    theirs, _ = _resample(other, resamples, seed)
    drawn = {"resamples": resamples, "redrawn": redrawn, "seed": seed}
    pooled, other_pooled = trials.pooled(), other.pooled()
    speakers = trials.n_target_speakers
    records = []
    for metric, column in zip(_METRICS, (ours - theirs).T, strict=True):
        value = metric.function(pooled) - metric.function(other_pooled)
        if math.isnan(value):  # both infinite
            continue
        record = Record(f"{metric.name}_difference", value, params=metric.params, counts=trials.counts)
        p_value = assess(value, column, speakers).p_value
        if p_value is not None:
            record = record.with_notes({"p_value": p_value})
        records.append(_difference_interval(value, column, speakers, drawn).of(record))
    return records


def _difference_interval(value: float, samples: Floats, speakers: int, drawn: Mapping[str, object]) -> SpeakerInterval:
    """A studentised interval; where no resample differs from the value, that alone."""
    if len(samples) and not too_few(speakers) and (samples == value).all():
        return SpeakerInterval(value, value, {"interval": "no resample differs", **drawn})
    return studentised_interval(value, samples, speakers, drawn)


def _values(pooled: PooledScores, metrics: Sequence[_Metric] = _METRICS) -> list[float]:
    return [metric.function(pooled) for metric in metrics]


def _resample(
    trials: ScoredTrials, resamples: int, seed: int, metrics: Sequence[_Metric] = _METRICS
) -> tuple[Floats, int]:
    """The metrics of every resample (resamples × metrics), and the number of draws that had to be repeated."""
    samples = np.empty((resamples, len(metrics)))
    redrawn = 0
    for number, (pooled, repeated) in enumerate(resampled(trials, resamples, seed)):
        samples[number] = _values(pooled, metrics)
        redrawn += repeated
    return samples, redrawn


def resampled(trials: ScoredTrials, resamples: int, seed: int) -> Iterator[tuple[PooledScores, int]]:
    """The scores of every resample, and how many draws had to be repeated for it.

    The same seed draws the same speakers, whatever the scores are.
    """
    resampling = Resampling.of(trials)
    resampling.pooled.costs  # noqa: B018 (taken along by every resample)
    done = repeated = 0
    for drawn in draws(trials.n_speakers, seed) if resamples else ():
        if (pooled := resampling(drawn)) is not None:
            yield pooled, repeated
            done += 1
            repeated = 0
            if done == resamples:
                return
        else:
            repeated += 1


def draws(speakers: int, seed: int) -> Iterator[NDArray[np.int64]]:
    """How often each speaker is drawn, again and again."""
    rng = generator(seed, "verification")
    while True:
        yield multiplicities(speakers, 1, rng)[0]


@dataclass(frozen=True)
class Resampling:
    """Trials made ready to be counted again for drawn speakers."""

    trials: ScoredTrials
    pooled: PooledScores
    position: NDArray[np.intp]
    target: NDArray[np.intp]
    nontarget: NDArray[np.intp]

    @classmethod
    def of(cls, trials: ScoredTrials) -> Resampling:
        """Sort the scores once and for all."""
        pooled = trials.pooled()
        position = np.searchsorted(pooled.score, trials.score)
        return cls(trials, pooled, position, np.flatnonzero(trials.is_target), np.flatnonzero(~trials.is_target))

    def __call__(self, drawn: NDArray[np.int64]) -> PooledScores | None:
        """The scores where every speaker is `drawn` so often; None where no target or no nontarget trial is left."""
        trials, target, nontarget = self.trials, self.target, self.nontarget
        target_weight = drawn[trials.enroll[target]]
        nontarget_weight = drawn[trials.enroll[nontarget]] * drawn[trials.speaker[nontarget]]
        if not (target_weight.any() and nontarget_weight.any()):
            return None
        counts = (
            np.bincount(self.position[rows], weight, len(self.pooled.score)).astype(np.int64)
            for rows, weight in ((target, target_weight), (nontarget, nontarget_weight))
        )
        return self.pooled.reweighted(*counts)
