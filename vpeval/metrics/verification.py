"""All verification metrics of one set of trials, with intervals over speakers.

`resampling` describes what a resample is and how its metrics are found. Resamples in which no target or no nontarget
trial is left are drawn again, and their number is noted. `intervals` describes how resamples become an interval; the
speakers that count there are those with target trials.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from vpeval.core.arrays import Floats
from vpeval.metrics.intervals import RESAMPLES, Estimate, SpeakerInterval, rate_interval, studentised_interval, too_few
from vpeval.metrics.paired import assess
from vpeval.metrics.resampling import (
    Draws,
    ScoredTrials,
    SortedTrials,
    Statistic,
    one_by_one,
    resample,
    resampled_cllr,
    resampled_dsys,
    resampled_eer_kaldi,
    resampled_eer_threshold,
    resampled_tpr,
)
from vpeval.metrics.score_metrics import (
    DsysNull,
    cllr,
    dsys,
    dsys_null,
    dsys_of_hulls,
    dsys_pav,
    level_of_strangers,
    min_cllr,
    min_cllrs,
    min_dcf,
    min_dcfs,
    tpr_at_fpr,
    zebra_individual,
    zebra_individuals,
    zebra_population,
    zebra_populations,
    zebra_tag,
)
from vpeval.metrics.scores import (
    Eer,
    PooledScores,
    bengio_mariethoz,
    eer_kaldi_fair,
    eer_rocch,
    eer_threshold,
    eers_of_hulls,
)


@dataclass(frozen=True)
class _Metric:
    """A metric and its interval: of an error rate up to `highest`, or None for a studentised one.

    What an attacker gains is `gain` less an error rate; one more error weighs as `weight` do, and the bias that
    resamples show counts `bias` times (see `rate_interval`): of a value on a convex hull they show about half. An
    interval needs as many `nontargets`; with fewer than `fewest` there is no value. `of_resamples` is a faster way to
    the same numbers for many resamples.
    """

    name: str
    function: Callable[[PooledScores], float]
    params: Mapping[str, object] = field(default_factory=dict)
    highest: float | None = None
    weight: float = 1.0
    gain: float = 0.0
    bias: float = 1.0
    nontargets: float = 0.0
    fewest: float = 0.0
    of_resamples: Statistic | None = None

    @property
    def statistic(self) -> Statistic:
        """The metric of resamples."""
        return self.of_resamples or one_by_one(self.function)

    def interval(
        self, value: float, samples: Floats, trials: ScoredTrials, drawn: Mapping[str, object]
    ) -> SpeakerInterval:
        """The interval of `value` by its values for resampled speakers."""
        speakers = trials.n_target_speakers
        if self.highest is None:
            return studentised_interval(value, samples, speakers, drawn, low=0.0)
        targets = int(trials.is_target.sum())
        kind = self.highest, self.weight, self.bias
        if not self.gain:
            nontargets = len(trials.score) - targets
            if len(samples) and nontargets < self.nontargets and not too_few(speakers):
                reason = f"{nontargets} nontarget trials; an interval needs {self.nontargets:.0f} or more"
                return SpeakerInterval(None, None, {"no_interval": reason})
            return rate_interval(value, samples, targets, speakers, drawn, *kind)
        rate, rates = 1 - value / self.gain, 1 - samples / self.gain
        found = rate_interval(rate, rates, targets, speakers, drawn, *kind)
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
STATISTICS: Mapping[str, Statistic] = {
    "eer_kaldi": resampled_eer_kaldi,
    "eer_threshold": resampled_eer_threshold,
    "eer_rocch": lambda resamples: eers_of_hulls(resamples.hulls),
    "min_cllr": lambda resamples: min_cllrs(resamples.hulls),
}
"""The same, and min Cllr, of resamples."""
HIGHEST: Mapping[str, float] = {"eer_kaldi": 1.0, "eer_threshold": 1.0, "eer_rocch": 0.5}
"""The ends of their scales."""
BIAS: Mapping[str, float] = {"eer_kaldi": 1.0, "eer_threshold": 1.0, "eer_rocch": 2.0}
"""How many times the bias counts that resamples show of them (see `rate_interval`)."""
_FALSE_ALARMS = 30
"""Expected ones where false alarms cost as much as missing all; with fewer the least cost is far too low (Doddington's
rule of 30)."""
_ALARMS = 10
"""False alarms at the threshold of a TPR; with fewer, the threshold is that of one or two pairs of speakers."""
_METRICS = (
    *(
        _Metric(
            name, EERS[name], {"estimator": estimator}, HIGHEST[name], bias=BIAS[name], of_resamples=STATISTICS[name]
        )
        for name, estimator in (
            ("eer_kaldi", "k/Nt of Kaldi's compute-eer"),
            ("eer_threshold", "closest error rates"),
            ("eer_rocch", "ROC convex hull"),
        )
    ),
    _Metric("cllr", cllr, {"estimator": "scores as log-likelihood ratios"}, of_resamples=resampled_cllr),
    _Metric(
        "min_cllr", min_cllr, {"estimator": "PAV"}, highest=1.0, weight=4, bias=2, of_resamples=STATISTICS["min_cllr"]
    ),
    _Metric(
        "zebra_population",
        zebra_population,
        {"estimator": "PAV"},
        highest=1.0,
        weight=4,
        gain=1 / math.log(4),
        bias=2,
        of_resamples=lambda resamples: zebra_populations(resamples.hulls),
    ),
    _Metric(
        "zebra_individual",
        zebra_individual,
        {"estimator": "Laplace PAV"},
        of_resamples=lambda resamples: zebra_individuals(resamples.hulls),
    ),
    _Metric("dsys", dsys, {"estimator": "histograms", "omega": 1}, of_resamples=resampled_dsys),
    *(
        _Metric(
            "min_dcf",
            partial(min_dcf, p_target=p),
            {"estimator": "normalised", "p": p},
            highest=1.0,
            weight=4,
            bias=2,
            nontargets=_FALSE_ALARMS * (1 - p) / p,
            of_resamples=lambda resamples, p=p: min_dcfs(resamples.hulls, p),  # type: ignore[misc]
        )
        for p in (0.01, 0.001)
    ),
    *(
        _Metric(
            name,
            partial(tpr_at_fpr, fpr=fpr),
            {"estimator": "ties at random", "fpr": fpr},
            highest=1.0,
            gain=1.0,
            fewest=_ALARMS / fpr,
            of_resamples=partial(resampled_tpr, fpr=fpr),
        )
        for name, fpr in (("tpr_at_1_percent", 0.01), ("tpr_at_0.1_percent", 0.001))
    ),
)
POINT_ESTIMATES: Mapping[str, Callable[[PooledScores], float]] = {
    metric.name: metric.function for metric in _METRICS if not {"p", "fpr"} & metric.params.keys()
}
"""The metrics that need nothing but scores, by name."""


def verification(trials: ScoredTrials, resamples: int = RESAMPLES, seed: int = 0) -> list[Estimate]:
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
    metrics = (*_given(pooled), _calibrated(level))
    samples, redrawn = _resample(trials, resamples, seed, metrics)
    drawn = {"resamples": resamples, "redrawn": redrawn, "seed": seed}
    found = []
    for metric, column in zip(metrics, samples.T, strict=True):
        value = metric.function(pooled)
        interval = metric.interval(value, column, trials, drawn)
        notes = own_notes.get(metric.name, {})
        found.append(Estimate(metric.name, value, interval, metric.params, trials.counts, notes))
    return [*found[:-1], _null_level(null, trials, seed), found[-1]]


def _given(pooled: PooledScores) -> list[_Metric]:
    """The metrics that so many nontarget trials give."""
    return [metric for metric in _METRICS if pooled.n_nontargets >= metric.fewest]


def _calibrated(level: float) -> _Metric:
    """D_sys from calibrated likelihood ratios, less the `level` at which strangers are taken for targets."""

    def relative(value: Floats) -> Floats:
        return np.maximum(0.0, (value - level) / (1 - level)) if level < 1 else np.zeros_like(value)

    return _Metric(
        "dsys_calibrated",
        lambda pooled: float(relative(np.array(dsys_pav(pooled)))),
        {"estimator": "PAV", "omega": 1},
        highest=1.0,
        weight=2,
        gain=1.0,
        bias=2,
        of_resamples=lambda resamples: relative(dsys_of_hulls(resamples.hulls)),
    )


def _null_level(null: DsysNull, trials: ScoredTrials, seed: int) -> Estimate:
    interval = SpeakerInterval(null.interval.lower, null.interval.upper)
    return Estimate("dsys_null", null.mean, interval, {"estimator": "label permutation"}, trials.counts, {"seed": seed})


def paired_difference(
    trials: ScoredTrials, other_score: Floats, resamples: int = RESAMPLES, seed: int = 0
) -> list[Estimate]:
    """Each metric of `trials` minus the same metric with `other_score` for the same trials, as `<metric>_difference`.

    Both sides of a difference see the same resampled speakers. `notes` holds the two-sided p value of "no difference"
    (see `paired`). Too few speakers for an interval are too few for a p value.
    """
    other = replace(trials, score=other_score)
    pooled, other_pooled = trials.pooled(), other.pooled()
    metrics = _given(pooled)
    ours, redrawn = _resample(trials, resamples, seed, metrics)
    theirs, _ = _resample(other, resamples, seed, metrics)
    drawn = {"resamples": resamples, "redrawn": redrawn, "seed": seed}
    speakers = trials.n_target_speakers
    found = []
    for metric, column in zip(metrics, (ours - theirs).T, strict=True):
        value = metric.function(pooled) - metric.function(other_pooled)
        if math.isnan(value):  # both infinite
            continue
        p_value = assess(value, column, speakers).p_value
        notes = {} if p_value is None else {"p_value": p_value}
        interval = _difference_interval(value, column, speakers, drawn)
        found.append(Estimate(f"{metric.name}_difference", value, interval, metric.params, trials.counts, notes))
    return found


def _difference_interval(value: float, samples: Floats, speakers: int, drawn: Mapping[str, object]) -> SpeakerInterval:
    """A studentised interval; where no resample differs from the value, that alone."""
    if len(samples) and not too_few(speakers) and (samples == value).all():
        return SpeakerInterval(value, value, {"interval": "no resample differs", **drawn})
    return studentised_interval(value, samples, speakers, drawn)


def _resample(
    trials: ScoredTrials, resamples: int, seed: int, metrics: Sequence[_Metric] = _METRICS
) -> tuple[Floats, int]:
    """The metrics of every resample (resamples × metrics), and the number of draws that had to be repeated."""
    statistics = [metric.statistic for metric in metrics]
    if not resamples:
        return np.empty((0, len(statistics))), 0
    rows = SortedTrials.from_trials(trials)
    drawn = Draws(trials.n_speakers, seed)
    parts: list[Floats] = []
    missing, redrawn = resamples, 0
    while missing:
        values, whole = resample(rows, drawn(min(missing, rows.at_a_time)), statistics)
        parts.append(values[whole])
        missing -= int(whole.sum())
        redrawn += int((~whole).sum())
    return np.concatenate(parts), redrawn
