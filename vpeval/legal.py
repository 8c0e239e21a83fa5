"""The legal protocols on embedding directories: linkability with 1-EER, and singling out.

Both go over a number of speakers N (N' in the paper's linkability) and a number L of utterances per test vector.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vpeval.comparison import Comparison
from vpeval.embeddings import Embeddings
from vpeval.errors import InputError
from vpeval.metrics.bootstrap import bootstrap_means
from vpeval.metrics.linkability import linkability
from vpeval.metrics.one_minus_eer import one_minus_eer
from vpeval.metrics.ranks import Rivals, count_rivals
from vpeval.metrics.singling_out import singling_out
from vpeval.records import Record
from vpeval.seeds import generator
from vpeval.sizes import Conversation, Sizes, conversations
from vpeval.speaker_values import Scores, SpeakerValue

_LONG = 1_000_000  # pairs of speakers from which on a draw takes long enough to be announced

MOST_FOLDS = 10


@dataclass(frozen=True)
class _Curve:
    """A metric over N at one L: values N × speaker, whose means over the speakers are the records."""

    metric: str
    n_utts: int | None
    sizes: Sequence[int]
    speakers: Sequence[str]
    values: NDArray[np.float64]
    chance: NDArray[np.float64]
    params: Mapping[str, Any]
    counts: Mapping[str, int]

    def records(self, resamples: int, seed: int) -> list[Record]:
        label = f"{self.metric} L={self.n_utts}"
        ends = bootstrap_means(self.values.T, resamples, seed, label) if resamples else [None] * len(self.sizes)
        records = []
        for n, row, chance, interval in zip(self.sizes, self.values, self.chance.tolist(), ends, strict=True):
            params = {"N": n, "L": self.n_utts or "all", **self.params, "chance": chance}
            lower, upper = (interval.lower, interval.upper) if interval else (None, None)
            records.append(Record(self.metric, float(row.mean()), lower, upper, params, self.counts))
        return records

    def per_speaker(self) -> list[SpeakerValue]:
        name = str(self.n_utts or "all")
        return [
            SpeakerValue(self.metric, speaker, n, name, value)
            for n, row in zip(self.sizes, self.values.tolist(), strict=True)
            for speaker, value in zip(self.speakers, row, strict=True)
        ]


def score_linkability(
    enroll: Embeddings,
    test: Embeddings,
    comparison: Comparison,
    n_enroll: Sizes,
    n_utts: Sizes,
    draws: int,
    resamples: int,
    seed: int,
) -> Scores:
    """Linkability and 1-EER for every N' and L; speakers are enrolled by all of their utterances.

    Every test speaker must be enrolled; further enrolment speakers are distractors.
    """
    owner = enroll.find(test)
    _warn_of_shared_utts(enroll, test)
    n_all = len(enroll.speakers)
    if n_all < 2:
        raise InputError("linkability needs at least two enrolment speakers", enroll.directory / "utt2spk")
    sizes = n_enroll.up_to(n_all, f"enrolment speakers in {enroll.directory}")
    parts = conversations(n_utts, test)
    references = comparison.enroll(enroll, np.arange(n_all))
    vectors = [comparison.test(test.means(part.who, part.n_utts, seed)) for part in parts]
    # All L go through one pass over the enrolment speakers.
    owners = np.concatenate([owner[part.who] for part in parts])
    rivals = count_rivals(references, np.concatenate(vectors), owners, comparison.similarity)

    estimator = {"estimator": "drawn", "draws": draws, "seed": seed} if draws else {"estimator": "exact"}
    scores = Scores([], [])
    end = 0
    for part, x in zip(parts, vectors, strict=True):
        start, end = end, end + len(x)
        link = linkability(Rivals(rivals.above[start:end], rivals.tied[start:end]), n_all, sizes, draws, seed)
        left_out = len(test.speakers) - len(x)
        counts = {"test_speakers": len(x), "left_out": left_out, "enroll_speakers": n_all}
        names = [test.speakers[s] for s in part.who]
        curve = _Curve("linkability", part.n_utts, sizes, names, link.per_speaker, link.chance, estimator, counts)
        scores.records.extend(curve.records(resamples, seed))
        scores.per_speaker.extend(curve.per_speaker())
        for eer in one_minus_eer(references, x, owner[part.who], sizes, resamples, seed, comparison.similarity):
            params = {"N": eer.n_enroll, "L": part.n_utts or "all", "estimator": "rocch", "seed": seed, "chance": 0.5}
            lower, upper = (eer.interval.lower, eer.interval.upper) if eer.interval else (None, None)
            scores.records.append(Record("one_minus_eer", eer.value, lower, upper, params, counts))
    return scores


@dataclass(frozen=True)
class SinglingOutOptions:
    """How enrolment speakers are made and how often test speakers are drawn."""

    n_enroll: int
    n_enroll_chosen: bool
    enroll_utts: int
    draws: int


def score_singling_out(
    enroll: Embeddings,
    test: Embeddings,
    comparison: Comparison,
    n_speakers: Sizes,
    n_utts: Sizes,
    options: SinglingOutOptions,
    resamples: int,
    seed: int,
) -> Scores:
    """Singling out for every N and L.

    Every enrolment speaker must be a test speaker, too, but not the other way round. A speaker with fewer than 2·L test
    utterances takes no part at L, be it as test or as enrolment speaker.
    """
    place = test.find(enroll)
    _warn_of_shared_utts(enroll, test)
    scores = Scores([], [])
    for part in conversations(n_utts, test, vectors=2, speakers=2):
        curve = _singling_out_curve(enroll, test, comparison, place, part, n_speakers, options, seed)
        scores.records.extend(curve.records(resamples, seed))
        scores.per_speaker.extend(curve.per_speaker())
    return scores


def _singling_out_curve(
    enroll: Embeddings,
    test: Embeddings,
    comparison: Comparison,
    place: NDArray[np.int64],
    part: Conversation,
    n_speakers: Sizes,
    options: SinglingOutOptions,
    seed: int,
) -> _Curve:
    n_utts = part.n_utts or 1
    who = part.who
    sizes = n_speakers.up_to(len(who), f"speakers with {2 * n_utts} utterances in {test.directory}")
    able = np.flatnonzero(np.isin(place, who))
    if not len(able):
        raise InputError(f"no enrolment speaker has {2 * n_utts} utterances in {test.directory}", enroll.directory)
    if options.n_enroll_chosen and options.n_enroll > len(able):
        raise InputError(
            f"--n-enroll {options.n_enroll}: only {len(able)} enrolment speakers have {2 * n_utts} test utterances; "
            f"ask for at most {len(able)}"
        )
    chosen = np.sort(generator(seed, "enrolment speakers").permutation(able)[: options.n_enroll])
    vectors = comparison.enroll(enroll, chosen, options.enroll_utts, seed)
    owner = np.searchsorted(who, place[chosen])

    draws = []
    for draw in range(options.draws):
        if len(chosen) * len(test.speakers) >= _LONG:
            logging.info("singling out: L = %d, draw %d of %d", n_utts, draw + 1, options.draws)
        folds, counts = test.folds(who, n_utts, MOST_FOLDS, seed, f"folds of draw {draw}")
        folds = comparison.test(folds)
        draws.append(singling_out(vectors, owner, folds, counts, sizes, seed, draw, comparison.similarity))
    return _Curve(
        "singling_out",
        part.n_utts,
        sizes,
        [enroll.speakers[s] for s in chosen],
        np.mean([found.per_speaker for found in draws], axis=0),
        np.mean([found.chance for found in draws], axis=0),
        {"draws": options.draws, "seed": seed, "folds": int(counts.max()), "paper_chance": math.exp(-1)},
        {
            "enroll_speakers": len(chosen),
            "test_speakers": len(who),
            "left_out": len(test.speakers) - len(who),
            "short_enroll": int(np.count_nonzero(enroll.counts[chosen] < options.enroll_utts)),
            "short_test": int(np.count_nonzero(counts < MOST_FOLDS)),
        },
    )


def _warn_of_shared_utts(enroll: Embeddings, test: Embeddings) -> None:
    if shared := len(set(enroll.utts) & set(test.utts)):
        logging.warning(
            "warning: %d utterances of %s are enrolled, too; the risk is overestimated", shared, test.directory
        )
