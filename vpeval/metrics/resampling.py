"""Verification trials counted again for drawn speakers: every metric of many resamples at once.

Speakers are drawn with replacement from the union of enrolled and trial speakers. If speaker s is drawn m[s] times, a
nontarget trial of enrolled speaker e and an utterance of speaker u counts m[e]·m[u] times, since every copy of e meets
every copy of u; a target trial counts m[e] times, since a copy meets its own utterances only (a copy that met another
copy of the same speaker would be neither a target nor a nontarget trial). Both ways in which trials depend on each
other, through the enrolment and through the utterance, thus move together.

Scores are sorted once, and a resample is cumulated weights along them. They are monotone in the threshold, so that a
search by halves finds where error rates cross in all resamples. PAV sees no more of the scores than how many targets
and nontargets follow each other in turn: what lies between two changes of the class is one *cell*. Its blocks go into
one long table (`Hulls`), from which metrics of all resamples are computed as those of one are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vpeval.core.arrays import Bools, Counts, Floats, Indices
from vpeval.core.seeds import generator
from vpeval.metrics.intervals import multiplicities
from vpeval.metrics.score_metrics import dsys_of_bins, edges_of_bins, number_of_bins
from vpeval.metrics.scores import Hulls, PooledScores, pav_starts, pool

Flags = Bools

_CELLS = 4_000_000


@dataclass(frozen=True)
class ScoredTrials:
    """Scores with their labels and the indices, from 0, of the enrolled speaker and of the speaker of the utterance."""

    score: Floats
    is_target: Flags
    enroll: Indices
    speaker: Indices

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
class SortedTrials:
    """Scores in ascending order with who weighs them: the enrolled speaker of a target, a pair for a nontarget."""

    pooled: PooledScores
    targets: Floats
    nontargets: Floats
    enrolled: Counts
    pairs: tuple[Counts, Counts]
    """Enrolled speaker and speaker of the utterance of every pair that nontargets are of."""
    pair: Counts

    @classmethod
    def from_trials(cls, trials: ScoredTrials) -> SortedTrials:
        """Sort trials."""
        target, nontarget = (
            rows[np.argsort(trials.score[rows], kind="stable")]
            for rows in (np.flatnonzero(trials.is_target), np.flatnonzero(~trials.is_target))
        )
        size = trials.n_speakers
        code, pair = np.unique(
            trials.enroll[nontarget].astype(np.int64) * size + trials.speaker[nontarget], return_inverse=True
        )
        scores = trials.score[target], trials.score[nontarget]
        return cls(pool(*scores), *scores, trials.enroll[target], (code // size, code % size), pair)

    @property
    def at_a_time(self) -> int:
        """How many resamples are looked at together."""
        return max(1, _CELLS // max(1, len(self.nontargets)))

    @cached_property
    def below(self) -> tuple[Counts, Counts]:
        """How many targets, and nontargets, are up to every distinct score."""
        return np.cumsum(self.pooled.targets), np.cumsum(self.pooled.nontargets)

    @cached_property
    def cells(self) -> tuple[Counts, Counts]:
        """How many targets, and nontargets, are below every cell, and at last all: a tie is a cell of its own."""
        kind = (self.pooled.targets > 0) + 2 * (self.pooled.nontargets > 0)
        ends = np.flatnonzero(np.append((kind[1:] != kind[:-1]) | (kind[1:] == 3), True))
        missed, rejected = (np.concatenate(([0], count[ends])) for count in self.below)
        return missed, rejected

    @cached_property
    def costs(self) -> tuple[Floats, Floats]:
        """The sums of log(1+e^-s) over the targets of every speaker, and of log(1+e^s) over those of every pair."""
        miss, alarm = np.logaddexp(0, -self.targets), np.logaddexp(0, self.nontargets)
        # The stubs of numpy think that counts are whole numbers, weighted or not.
        return np.bincount(self.enrolled, miss).astype(np.float64), np.bincount(self.pair, alarm).astype(np.float64)


@dataclass(frozen=True)
class Resamples:
    """Resamples (rows) of trials: how often speakers and pairs were drawn, and weights cumulated from 0 on."""

    trials: SortedTrials
    drawn: Counts
    pairs: Counts
    targets: Counts
    nontargets: Counts

    @classmethod
    def from_draws(cls, trials: SortedTrials, drawn: Counts) -> Resamples:
        """Weigh trials by drawn speakers (resample × speaker)."""
        first, second = trials.pairs
        pairs = np.take(drawn, first, axis=1) * np.take(drawn, second, axis=1)
        weights = _cumulated(drawn, trials.enrolled), _cumulated(pairs, trials.pair)
        return cls(trials, drawn, pairs, *weights)

    def __getitem__(self, rows: Counts) -> Resamples:
        return Resamples(self.trials, self.drawn[rows], self.pairs[rows], self.targets[rows], self.nontargets[rows])

    @cached_property
    def n_targets(self) -> Counts:
        """Number of target trials of every resample."""
        return self.targets[:, -1].astype(np.int64)

    @cached_property
    def n_nontargets(self) -> Counts:
        """Number of nontarget trials of every resample."""
        return self.nontargets[:, -1].astype(np.int64)

    @property
    def whole(self) -> Flags:
        """Which of them have target and nontarget trials."""
        return (self.n_targets > 0) & (self.n_nontargets > 0)

    def pooled(self) -> Iterator[PooledScores]:
        """The scores of one after the other."""
        for row in range(len(self.drawn)):
            targets, nontargets = (
                np.diff(along[row, ends].astype(np.int64), prepend=0)
                for along, ends in zip((self.targets, self.nontargets), self.trials.below, strict=True)
            )
            yield self.trials.pooled.reweighted(targets, nontargets)

    @cached_property
    def hulls(self) -> Hulls:
        """Their PAV blocks."""
        missed, rejected = self.trials.cells
        targets = np.diff(self.targets[:, missed].astype(np.int64), axis=1)
        nontargets = np.diff(self.nontargets[:, rejected].astype(np.int64), axis=1)
        total = targets + nontargets
        blocks: list[tuple[Counts, Counts]] = []
        for of_target, of_nontarget, of_both in zip(targets, nontargets, total, strict=True):
            kept = np.flatnonzero(of_both)
            of_target, of_nontarget = of_target[kept], of_nontarget[kept]
            starts = pav_starts(of_target, of_nontarget)
            blocks.append((np.add.reduceat(of_target, starts), np.add.reduceat(of_nontarget, starts)))
        ends = np.cumsum([len(of_target) for of_target, _ in blocks])
        of_targets, of_nontargets = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
        return Hulls(of_targets, of_nontargets, np.concatenate(([0], ends[:-1])))


def _cumulated(weights: Counts, places: Counts) -> Counts:
    """Weights of places along rows, cumulated from 0 on; in few bytes where they fit, as time goes into memory."""
    narrow = np.int64 if len(places) * int(weights.max(initial=0)) >= 2**31 else np.int32
    total = np.zeros((len(weights), len(places) + 1), narrow)
    np.cumsum(np.take(weights.astype(narrow), places, axis=1), axis=1, dtype=narrow, out=total[:, 1:])
    return total


Statistic = Callable[[Resamples], Floats]
"""A metric of resamples that have target and nontarget trials."""


def one_by_one(function: Callable[[PooledScores], float]) -> Statistic:
    """The statistic of any metric, in a loop over resamples."""
    return lambda resamples: np.array([function(pooled) for pooled in resamples.pooled()])


def resample(trials: SortedTrials, drawn: Counts, statistics: Sequence[Statistic]) -> tuple[Floats, Flags]:
    """Statistics of drawn speakers (resample × statistic), and which resamples have target and nontarget trials.

    Of the others, the statistics are NaN.
    """
    values, whole = np.full((len(drawn), len(statistics)), np.nan), np.zeros(len(drawn), bool)
    for start in range(0, len(drawn), trials.at_a_time):
        some = Resamples.from_draws(trials, drawn[start : start + trials.at_a_time])
        rows = np.flatnonzero(some.whole)
        whole[start + rows] = True
        if len(rows):
            found = some if len(rows) == len(some.drawn) else some[rows]
            values[start + rows] = np.column_stack([statistic(found) for statistic in statistics])
    return values, whole


class Draws:
    """How often each of the speakers is drawn; the same seed draws the same, however many are asked for at a time."""

    def __init__(self, speakers: int, seed: int) -> None:
        self._speakers = speakers
        self._rng = generator(seed, "verification")

    def __call__(self, count: int) -> Counts:
        """The next resamples (resample × speaker)."""
        return multiplicities(self._speakers, count, self._rng)


def resampled_eer_threshold(resamples: Resamples) -> Floats:
    """`eer.eer_threshold` of all."""
    missed, rejected = resamples.trials.below
    row = np.arange(len(resamples.drawn))
    nt, nn = resamples.n_targets, resamples.n_nontargets

    def gap(place: Counts) -> Counts:
        """Nt·Nn·(Pmiss - Pfa), which rises with the threshold."""
        miss, correct = resamples.targets[row, missed[place]], resamples.nontargets[row, rejected[place]]
        return miss * nn + correct * nt - nt * nn

    above = _first(lambda place: gap(place) >= 0, np.full(len(row), len(missed)))
    below = np.maximum(above - 1, 0)
    best = np.where(abs(gap(below)) <= abs(gap(above)), below, above)
    miss, correct = resamples.targets[row, missed[best]], resamples.nontargets[row, rejected[best]]
    return ((nn - correct) / nn + miss / nt) / 2


def resampled_eer_kaldi(resamples: Resamples) -> Floats:
    """`eer.eer_kaldi_fair` of all."""
    trials = resamples.trials
    row = np.arange(len(resamples.drawn))
    nt, nn = resamples.n_targets, resamples.n_nontargets

    def pair(k: Counts) -> tuple[Floats, Floats]:
        """The k-th target score of a resample, and the nontarget score that Kaldi compares it with."""
        opposite = nn - 1 - nn * k // nt
        target = _first(lambda i: resamples.targets[row, i + 1] > k, np.full(len(k), len(trials.targets)))
        other = _first(lambda i: resamples.nontargets[row, i + 1] > opposite, np.full(len(k), len(trials.nontargets)))
        return trials.targets[target], trials.nontargets[other]

    def kept(k: Counts) -> Flags:
        target, opposite = pair(k)
        return opposite < target

    def lenient(k: Counts) -> Flags:
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


def resampled_tpr(resamples: Resamples, fpr: float) -> Floats:
    """`score_metrics.tpr_at_fpr` of all."""
    missed, rejected = resamples.trials.below
    row = np.arange(len(resamples.drawn))
    nt, nn = resamples.n_targets, resamples.n_nontargets
    wanted = fpr * nn

    def accepted(place: Counts) -> Counts:
        return nn - resamples.nontargets[row, rejected[place]]

    place = _first(lambda place: accepted(place) <= wanted, np.full(len(row), len(rejected)))
    before = np.maximum(place - 1, 0)
    missed_before, rejected_before = (np.where(place > 0, below[before], 0) for below in (missed, rejected))
    tied_targets = resamples.targets[row, missed[place]] - resamples.targets[row, missed_before]
    tied = resamples.nontargets[row, rejected[place]] - resamples.nontargets[row, rejected_before]
    above = nt - resamples.targets[row, missed[place]]
    return (above + (wanted - accepted(place)) / tied * tied_targets) / nt


def resampled_cllr(resamples: Resamples) -> Floats:
    """`cllr.cllr` of all."""
    of_miss, of_alarm = resamples.trials.costs
    # Not a product of BLAS, whose last digit depends on its threads.
    miss = (resamples.drawn[:, : len(of_miss)] * of_miss).sum(axis=1) / resamples.n_targets
    alarm = (resamples.pairs * of_alarm).sum(axis=1) / resamples.n_nontargets
    return (miss + alarm) / 2 / np.log(2)


def resampled_dsys(resamples: Resamples) -> Floats:
    """`dsys.dsys` of all."""
    trials = resamples.trials
    ends = [_ends(trials.targets, resamples.targets), _ends(trials.nontargets, resamples.nontargets)]
    low, high = np.minimum(ends[0][0], ends[1][0]), np.maximum(ends[0][1], ends[1][1])
    bins = np.where(low < high, number_of_bins(resamples.n_targets), 0)
    values = np.zeros(len(bins))
    for count in np.unique(bins[bins > 1]).tolist():
        rows = np.flatnonzero(bins == count)
        edges = edges_of_bins(low[rows], high[rows], count)
        histograms = []
        for scores, weights in ((trials.targets, resamples.targets), (trials.nontargets, resamples.nontargets)):
            first = np.searchsorted(scores, edges[:, :-1])
            cumulated = weights[rows[:, None], first].astype(np.int64)
            histograms.append(np.diff(cumulated, axis=1, append=weights[rows, -1:].astype(np.int64)))
        values[rows] = dsys_of_bins(*histograms)
    return values


def _ends(scores: Floats, weights: Counts) -> tuple[Floats, Floats]:
    """The lowest and the highest score that has a weight in every resample."""
    row = np.arange(len(weights))
    total = weights[:, -1]
    low = _first(lambda i: weights[row, i + 1] > 0, np.full(len(row), len(scores)))
    high = _first(lambda i: weights[row, i + 1] >= total, np.full(len(row), len(scores)))
    return scores[low], scores[high]


def _first(holds: Callable[[Counts], Flags], end: Counts) -> Counts:
    """In every row the first place before `end` from which on `holds` is true; `end` where it never is."""
    low, high = np.zeros_like(end), end.copy()
    while (low < high).any():
        middle = np.minimum((low + high) // 2, end - 1)
        true = holds(middle)
        high, low = np.where(true, np.minimum(high, middle), high), np.where(true, low, np.maximum(low, middle + 1))
    return low
