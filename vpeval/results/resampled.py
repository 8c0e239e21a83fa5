"""Numbers of runs that can be compared system by system: each with its values for the same resampled speakers.

EERs come from the scores, disclosures from the ranks and word error rates from the transcripts that tables of results
name. Speakers are drawn once for all systems and attackers. Sets that share speakers draw them together; the others are
groups of their own, within which speakers are drawn, so that averages over sets can be resampled as a whole.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from vpeval.core.arrays import Counts, Floats
from vpeval.core.errors import InputError
from vpeval.core.files import read_table
from vpeval.core.seeds import generator
from vpeval.data.text import NORMALIZERS, compared_words
from vpeval.data.trials import Trials, TrialSpeakers, read_scores, read_trials, trial_speakers
from vpeval.editions.headline import eer_of, headline_eer
from vpeval.measures.disclosure import DISCLOSURES, RankedInputs
from vpeval.metrics.intervals import multiplicities
from vpeval.metrics.resampling import ScoredTrials, SortedTrials, resample
from vpeval.metrics.srd import Disclosure, Estimator, resampled
from vpeval.metrics.verification import POINT_ESTIMATES, STATISTICS
from vpeval.metrics.wer import count_errors
from vpeval.records.names import MISSING, SetName
from vpeval.records.record import Record

log = logging.getLogger(__name__)

_SECONDS = 2.0


@dataclass(frozen=True)
class Measured:
    """A number of a table, and the directory that the side files of its record are relative to."""

    record: Record
    directory: Path

    def file(self, what: str) -> Path:
        """A side file."""
        return self.directory / self.record.files[what]


@dataclass(frozen=True)
class Sampled:
    """A number with its values for resampled speakers (NaN where none was left), their number, and their group."""

    record: Record
    value: float
    samples: Floats
    speakers: frozenset[str]
    group: str


def measured(found: Iterable[tuple[Record, Path]], edition: str) -> list[Measured]:
    """The EERs (of the edition) of anonymised speech, what ranks disclose and word error rates whose side files are
    there, and no partial ones, of records with their tables; a published number has no side files.
    """
    tables: defaultdict[Path, list[Record]] = defaultdict(list)
    for record, path in found:
        tables[path].append(record)
    chosen = []
    for path, records in tables.items():
        eer, tested = headline_eer((record.metric for record in records), edition), eer_of(edition)
        wanted = {eer: (("oa", "aa"), ("scores",)), "wer": (("a",), ("hyp", "ref", "utt2spk"))}
        wanted |= dict.fromkeys(DISCLOSURES, (("aa",), ("inputs",)))
        for record in records:
            conditions, files = wanted.get(record.metric, ((), ()))
            if record.condition not in conditions or MISSING in record.notes:
                continue
            if record.metric == "wer" and (record.gender or record.params.get("lm") == "small"):
                continue
            if record.metric == eer != tested:  # a table without it has the scores all the same
                record = replace(record, metric=tested, params={})
            one = Measured(record, path.parent)
            if all(name in record.files and one.file(name).is_file() for name in files):
                chosen.append(one)
    return chosen


def sample(
    found: Sequence[Measured], data: Path, resamples: int, seed: int, with_cllr: Callable[[Record], bool]
) -> list[Sampled]:
    """Resample all numbers, and min Cllr of those for which `with_cllr` is true.

    `data` holds the data directories, for the trials.
    """
    eers = [one for one in found if one.record.metric not in ("wer", *DISCLOSURES)]
    sets = {name: TrialSet.read(data / name) for name in dict.fromkeys(one.record.set for one in eers)}
    draws = Draws({name: one.speakers.names for name, one in sets.items()}, resamples, seed)
    sampled, reported = [], time.monotonic()
    for number, one in enumerate(eers):
        sampled.append(sets[one.record.set].sample(one, draws))
        if with_cllr(one.record):
            cllr = replace(one, record=replace(one.record, metric="min_cllr", params={"estimator": "PAV"}))
            sampled.append(sets[one.record.set].sample(cllr, draws))
        if time.monotonic() - reported > _SECONDS:
            reported = time.monotonic()
            log.info("comparison: %d of %d sets of scores resampled", number + 1, len(eers))
    ranked = [one for one in found if one.record.metric in DISCLOSURES]
    words = [one for one in found if one.record.metric == "wer"]
    return [*sampled, *_disclosures(ranked, resamples, seed), *_word_errors(words, resamples, seed)]


class Draws:
    """How often every speaker of a set is drawn in every resample (speakers × resamples), the same for all systems."""

    def __init__(self, speakers: Mapping[str, Sequence[str]], resamples: int, seed: int) -> None:
        self._speakers = {name: [_qualified(name, spk) for spk in spks] for name, spks in speakers.items()}
        self._group = _groups(self._speakers)
        members: defaultdict[str, set[str]] = defaultdict(set)
        for name, spks in self._speakers.items():
            members[self._group[name]].update(spks)
        self._drawn: dict[str, tuple[dict[str, int], Counts]] = {}
        for group, everybody in members.items():
            index = {spk: i for i, spk in enumerate(sorted(everybody))}
            drawn = multiplicities(len(index), resamples, generator(seed, "comparison", group))
            self._drawn[group] = index, np.ascontiguousarray(drawn.T)

    def for_set(self, name: str) -> Counts:
        """The draws of the speakers of a set, in their order."""
        index, drawn = self._drawn[self._group[name]]
        return drawn[[index[spk] for spk in self._speakers[name]]]

    def group(self, name: str) -> str:
        """The group of sets that a set draws its speakers with."""
        return self._group[name]


@dataclass(frozen=True)
class TrialSet:
    """The trials of a set and who speaks in them."""

    trials: Trials
    speakers: TrialSpeakers

    @classmethod
    def read(cls, place: Path) -> TrialSet:
        """Those of a data directory."""
        trials = read_trials(place / "trials")
        return cls(trials, trial_speakers(trials, read_table(place / "utt2spk", "speaker"), place / "utt2spk"))

    def scored(self, one: Measured) -> ScoredTrials:
        """The trials with the scores of a system."""
        scores = read_scores(one.file("scores"), self.trials)
        return ScoredTrials(scores, self.trials.is_target, self.speakers.enroll, self.speakers.trial)

    def sample(self, one: Measured, draws: Draws) -> Sampled:
        """Resample the metric of a record."""
        trials, metric = self.scored(one), one.record.metric
        drawn = np.ascontiguousarray(draws.for_set(one.record.set).T)
        samples, _ = resample(SortedTrials.from_trials(trials), drawn, [STATISTICS[metric]])
        targets = {self.speakers.names[i] for i in trials.enroll[trials.is_target]}
        who = frozenset(_qualified(one.record.set, spk) for spk in targets)
        return Sampled(
            one.record, POINT_ESTIMATES[metric](trials.pooled()), samples[:, 0], who, draws.group(one.record.set)
        )


def _disclosures(found: Sequence[Measured], resamples: int, seed: int) -> list[Sampled]:
    """What ranks disclose; systems whose inputs are of other speakers than the first one's are left out."""
    ranked = {path: RankedInputs.read(path) for path in dict.fromkeys(one.file("inputs") for one in found)}
    speakers: dict[str, tuple[str, ...]] = {}
    for one in found:
        speakers.setdefault(one.record.set, ranked[one.file("inputs")].speakers)
    draws = Draws(speakers, resamples, seed)
    known: dict[tuple[Path, str], tuple[Disclosure, Disclosure]] = {}
    sampled = []
    for one in found:
        path, name = one.file("inputs"), one.record.set
        if ranked[path].speakers != speakers[name]:
            log.warning(f"{path}: other speakers than in {name} of the first system; its ranks are not compared")
            continue
        estimator: Estimator = "beta-binomial" if one.record.params.get("estimator") == "beta-binomial" else "empirical"
        if (path, estimator) not in known:
            ranks = ranked[path].ranks
            whole = resampled(ranks, np.ones((1, ranks.n_speakers)), estimator)
            known[path, estimator] = whole, resampled(ranks, draws.for_set(name).T, estimator)
        value, samples = (getattr(part, DISCLOSURES[one.record.metric]) for part in known[path, estimator])
        who = frozenset(_qualified(name, spk) for spk in speakers[name])
        sampled.append(Sampled(one.record, float(value[0]), samples, who, draws.group(name)))
    return sampled


@dataclass(frozen=True)
class _Errors:
    """Errors and words of every speaker of a recognition set."""

    speakers: list[str]
    errors: Floats
    words: Floats


def _word_errors(found: Sequence[Measured], resamples: int, seed: int) -> list[Sampled]:
    counted = [(one, _errors(one)) for one in found]
    speakers: dict[str, list[str]] = {}
    for one, errors in counted:
        if speakers.setdefault(one.record.set, errors.speakers) != errors.speakers:
            raise InputError(f"speakers of {one.record.set} are not those of the other systems", one.file("utt2spk"))
    draws = Draws(speakers, resamples, seed)
    sampled = []
    for one, errors in counted:
        name, drawn = one.record.set, draws.for_set(one.record.set)
        wrong, words = (np.einsum("s,sr->r", part, drawn) for part in (errors.errors, errors.words))
        with np.errstate(invalid="ignore", divide="ignore"):
            samples = np.where(words > 0, 100 * wrong / words, np.nan)
        value = 100 * float(errors.errors.sum() / errors.words.sum())
        who = frozenset(_qualified(name, spk) for spk in errors.speakers)
        sampled.append(Sampled(one.record, value, samples, who, draws.group(name)))
    return sampled


def _errors(one: Measured) -> _Errors:
    refs, hyps = (read_table(one.file(name), "text", empty=True) for name in ("ref", "hyp"))
    utt2spk = read_table(one.file("utt2spk"), "speaker")
    for utt in refs:
        if utt not in utt2spk:
            raise InputError(f"utterance '{utt}' of the reference has no speaker; run stage 10", one.file("utt2spk"))
    rules = NORMALIZERS[str(one.record.params["normalizer"])]
    compared = [compared_words(text, hyps.get(utt, ""), rules) for utt, text in refs.items()]
    counts = count_errors([ref for ref, _ in compared], [hyp for _, hyp in compared])
    names, index = np.unique([utt2spk[utt] for utt in refs], return_inverse=True)
    return _Errors(
        [str(name) for name in names],
        np.bincount(index, counts[:, :3].sum(axis=1), len(names)).astype(np.float64),
        np.bincount(index, counts[:, 3], len(names)).astype(np.float64),
    )


def _qualified(set_name: str, spk: str) -> str:
    """A speaker of a corpus: two corpora may use one name."""
    parts = SetName.parse(set_name)
    return f"{parts.corpus if parts else set_name}/{spk}"


def _groups(speakers: Mapping[str, Iterable[str]]) -> dict[str, str]:
    """The first of those sets that a set shares speakers with, directly or by way of others."""
    group: dict[str, str] = {}
    members: dict[str, set[str]] = {}
    for name in sorted(speakers):
        own = set(speakers[name])
        joined = [other for other, spks in members.items() if spks & own]
        first = min([name, *joined])
        merged = own.union(*(members.pop(other) for other in joined))
        members[first] = merged
        group[name] = first
        group = {one: first if of in joined else of for one, of in group.items()}
    return group
