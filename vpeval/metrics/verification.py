"""All verification metrics of one set of trials, with speaker-level bootstrap intervals.

Resampling. Speakers are drawn with replacement from the union of enrolled and trial speakers. If speaker s is drawn
m[s] times, a nontarget trial of enrolled speaker e and an utterance of speaker u counts m[e]·m[u] times, since every
copy of e meets every copy of u; a target trial counts m[e] times, since a copy meets its own utterances only (a copy
that met another copy of the same speaker would be neither a target nor a nontarget trial). Both ways in which
trials depend on each other, through the enrolment and through the utterance, thus move together. Resamples in
which no target or no nontarget trial is left are drawn again, and their number is stated.

The scores are sorted once: a resample is new counts on the pooled scores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from vpeval.core.seeds import generator
from vpeval.metrics.bootstrap import interval_notes, multiplicities, percentile_interval
from vpeval.metrics.cllr import cllr, min_cllr
from vpeval.metrics.dcf import min_dcf
from vpeval.metrics.dsys import dsys, dsys_null
from vpeval.metrics.eer import Eer, bengio_mariethoz, eer_kaldi_fair, eer_rocch, eer_threshold
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
    def counts(self) -> dict[str, int]:
        """What a metric of these trials rests on."""
        targets = int(self.is_target.sum())
        return {"targets": targets, "nontargets": len(self.score) - targets, "speakers": self.n_speakers}

    def pooled(self) -> PooledScores:
        """The scores sorted and pooled."""
        return pool(self.score[self.is_target], self.score[~self.is_target])


@dataclass(frozen=True)
class _Metric:
    name: str
    function: Callable[[PooledScores], float]
    params: Mapping[str, object] = field(default_factory=dict)


_EERS: dict[str, Callable[[PooledScores], Eer]] = {
    "eer_kaldi": eer_kaldi_fair,
    "eer_threshold": eer_threshold,
    "eer_rocch": eer_rocch,
}
_METRICS = (
    _Metric("eer_kaldi", lambda pooled: eer_kaldi_fair(pooled).value, {"estimator": "k/Nt of Kaldi's compute-eer"}),
    _Metric("eer_threshold", lambda pooled: eer_threshold(pooled).value, {"estimator": "closest error rates"}),
    _Metric("eer_rocch", lambda pooled: eer_rocch(pooled).value, {"estimator": "ROC convex hull"}),
    _Metric("cllr", cllr, {"estimator": "scores as log-likelihood ratios"}),
    _Metric("min_cllr", min_cllr, {"estimator": "PAV"}),
    _Metric("zebra_population", zebra_population, {"estimator": "PAV"}),
    _Metric("zebra_individual", zebra_individual, {"estimator": "Laplace PAV"}),
    _Metric("dsys", dsys, {"estimator": "histograms", "omega": 1}),
    _Metric("min_dcf", lambda pooled: min_dcf(pooled, 0.01), {"estimator": "normalised", "p": 0.01}),
    _Metric("min_dcf", lambda pooled: min_dcf(pooled, 0.001), {"estimator": "normalised", "p": 0.001}),
)


def verification(trials: ScoredTrials, resamples: int = 1000, seed: int = 0) -> list[Record]:
    """Every verification metric, with 95 % speaker-bootstrap intervals unless `resamples` is 0.

    `params` says which estimator it is, `notes` how the interval was made. The three EERs have the interval of Bengio &
    Mariéthoz there as well, the individual ZEBRA value its tag. The last record, `dsys_null`, is the level of `dsys` at
    shuffled labels; its interval is the central 95 % of that level.
    """
    pooled = trials.pooled()
    values = _values(pooled)
    own_notes: dict[str, dict[str, object]] = {"zebra_individual": {"tag": zebra_tag(zebra_individual(pooled))}}
    for name, function in _EERS.items():
        independent = bengio_mariethoz(function(pooled), pooled.n_targets, pooled.n_nontargets)
        own_notes[name] = {"bengio_mariethoz": [independent.lower, independent.upper]}
    samples, redrawn = _resample(trials, resamples, seed)
    drawn = interval_notes(resamples, seed, redrawn)
    records = [
        _record(metric.name, value, column, metric.params, {**own_notes.get(metric.name, {}), **drawn}, trials)
        for metric, value, column in zip(_METRICS, values, samples.T, strict=True)
    ]
    null = dsys_null(pooled, seed=seed)
    estimator = {"estimator": "label permutation"}
    ends = null.interval.lower, null.interval.upper
    level = Record("dsys_null", null.mean, *ends, estimator, trials.counts, {"seed": seed})
    return [*records, level]


def paired_difference(trials: ScoredTrials, other_score: Floats, resamples: int = 1000, seed: int = 0) -> list[Record]:
    """Each metric of `trials` minus the same metric with `other_score` for the same trials, as `<metric>_difference`.

    Both sides of a difference see the same resampled speakers. `notes` holds the two-sided bootstrap p value of
    "no difference": twice the smaller share of resamples on either side of 0, the observed sample counted in.
    """
    other = replace(trials, score=other_score)
    values = [a - b for a, b in zip(_values(trials.pooled()), _values(other.pooled()), strict=True)]
    ours, redrawn = _resample(trials, resamples, seed)
    theirs, _ = _resample(other, resamples, seed)
    drawn = interval_notes(resamples, seed, redrawn)
    records = []
    for metric, value, column in zip(_METRICS, values, (ours - theirs).T, strict=True):
        notes = {**({"p_value": _p_value(column)} if resamples else {}), **drawn}
        records.append(_record(f"{metric.name}_difference", value, column, metric.params, notes, trials))
    return records


def _values(pooled: PooledScores) -> list[float]:
    return [metric.function(pooled) for metric in _METRICS]


def _record(
    name: str,
    value: float,
    samples: Floats,
    params: Mapping[str, object],
    notes: Mapping[str, object],
    trials: ScoredTrials,
) -> Record:
    """A record whose interval is that of the samples, if there are any."""
    if not len(samples):
        return Record(name, value, None, None, params, trials.counts, notes)
    interval = percentile_interval(samples)
    return Record(name, value, interval.lower, interval.upper, params, trials.counts, notes)


def _p_value(differences: Floats) -> float:
    smaller = min(int((differences <= 0).sum()), int((differences >= 0).sum()))
    return min(1.0, 2 * (1 + smaller) / (1 + len(differences)))


def _resample(trials: ScoredTrials, resamples: int, seed: int) -> tuple[Floats, int]:
    """The metrics of every resample (resamples × metrics), and the number of draws that had to be repeated."""
    pooled = trials.pooled()
    position = np.searchsorted(pooled.score, trials.score)
    target, nontarget = np.flatnonzero(trials.is_target), np.flatnonzero(~trials.is_target)
    rng = generator(seed, "verification")
    samples = np.empty((resamples, len(_METRICS)))
    done = attempts = 0
    while done < resamples:
        attempts += 1
        drawn = multiplicities(trials.n_speakers, 1, rng)[0]
        target_weight = drawn[trials.enroll[target]]
        nontarget_weight = drawn[trials.enroll[nontarget]] * drawn[trials.speaker[nontarget]]
        if target_weight.any() and nontarget_weight.any():
            counts = (
                np.bincount(position[rows], weight, len(pooled.score)).astype(np.int64)
                for rows, weight in ((target, target_weight), (nontarget, nontarget_weight))
            )
            samples[done] = _values(pooled.reweighted(*counts))
            done += 1
    return samples, attempts - resamples
