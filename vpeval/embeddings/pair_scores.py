"""Cosines of embeddings, and the scores of all pairs of utterances that voice similarity compares."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from vpeval.core.arrays import Counts32, Floats, Indices
from vpeval.core.errors import InputError
from vpeval.core.files import read_table
from vpeval.data.trials import PairRows, StrPath, read_pair_scores
from vpeval.embeddings.speaker_vectors import Embeddings
from vpeval.metrics.all_pairs import AllScores, similarity_of_all
from vpeval.metrics.similarity import PairScores, similarity_matrix
from vpeval.metrics.vectors import directions

_ROWS = 256


def speaker_means(speakers: Embeddings) -> Floats:
    """The mean vector of every speaker, of length one."""
    return directions(speakers.means(np.arange(len(speakers.speakers))))


def cosines(enroll: Embeddings, trial: Embeddings) -> Floats:
    """Cosine of every speaker's mean enrolment vector with every trial vector."""
    vectors = directions(trial.vectors)
    # Row by row instead of a matrix product, whose last digits depend on the number of threads.
    return np.stack([pair_cosines(row, vectors) for row in speaker_means(enroll)])


def utterance_cosines(first: Embeddings, second: Embeddings) -> Iterator[Floats]:
    """Cosines of one utterance of `first` after the other with all of `second`, which is of the same speakers."""
    first.find(second)
    x, y = directions(first.vectors), directions(second.vectors)
    return (pair_cosines(row, y) for row in x)


@dataclass(frozen=True)
class UtteranceCosines:
    """Cosines of all utterances of one directory with all of another, some rows at a time.

    A matrix product would be fast, but its last digits depend on the number of threads and on the machine. So vectors x
    of length one are cut into h, whole multiples of 2⁻²⁶, and a rest l of as many further bits as keep every sum of
    products a whole number below 2⁵³: nothing is rounded, in whatever order it is added. A cosine is 1 - |x-y|²/2, from
    h·h and h·l, as exact near 1 as elsewhere; without l·l it may be off by some 10⁻¹⁴.
    """

    first: _Cut
    second: _Cut

    @classmethod
    def between(cls, first: Embeddings, second: Embeddings) -> UtteranceCosines:
        """Of utterances of the same speakers."""
        first.find(second)
        return cls(_Cut.from_rows(directions(first.vectors)), _Cut.from_rows(directions(second.vectors), swapped=True))

    def rows(self, rows: slice, start: int = 0) -> Floats:
        """Cosines of some utterances of the first directory with those of the second from `start` on."""
        x, y = self.first, self.second
        half = x.squares[rows, None] + y.squares[start:]
        half -= x.high[rows] @ y.high[start:].T
        rest = x.mixed[rows, None] + y.mixed[start:]
        rest -= x.both[rows] @ y.both[start:].T
        half += rest
        return np.subtract(1, half, out=half)


@dataclass(frozen=True)
class _Cut:
    """Vectors as h and l; `both` are h and l side by side, `squares` h·h/2 and `mixed` h·l."""

    high: Floats
    both: Floats
    squares: Floats
    mixed: Floats

    @classmethod
    def from_rows(cls, x: Floats, swapped: bool = False) -> _Cut:
        """Cut vectors of length one; `swapped` puts l before h."""
        high = np.rint(x * 2.0**26) * 2.0**-26
        # In units of 2⁻²⁶ and 1/bits, |h| ≤ 2²⁶ and |l| ≤ √D·bits·2⁻²⁷, so that twice their product stays below 2⁵³.
        bits = 2.0 ** (52 - np.ceil(np.log2(x.shape[1]) / 2))
        low = np.rint((x - high) * bits) / bits
        both = np.hstack((low, high) if swapped else (high, low))
        return cls(high, both, np.square(high).sum(axis=1) / 2, (high * low).sum(axis=1))


def pair_cosines(x: Floats, y: Floats) -> Floats:
    """Cosines of rows of length one; computed from their distance, they are exact near 1."""
    return 1 - np.square(x - y).sum(axis=-1) / 2


@dataclass(frozen=True)
class AllPairs:
    """The utterances of a set; none is paired with itself, nor with its own anonymised version."""

    original: Embeddings
    anonymised: Embeddings

    @classmethod
    def from_versions(cls, original: Embeddings, anonymised: Embeddings) -> AllPairs:
        """Two versions of the same utterances."""
        if original.utts != anonymised.utts or original.speakers != anonymised.speakers:
            message = f"does not hold the utterances of {original.directory}; extract both again"
            raise InputError(message, anonymised.directory)
        return cls(original, anonymised)

    @property
    def names(self) -> list[str]:
        """The speakers."""
        return list(self.original.speakers)

    @cached_property
    def _buffers(self) -> tuple[Floats, Counts32]:
        """Scores of one condition and their cells; new memory for each would take as long as filling it."""
        shape = (len(self.original.utts),) * 2
        return np.zeros(shape), np.zeros(shape, np.int32)

    def matrices(self, condition: str, modes: tuple[str, ...]) -> list[Floats]:
        """The similarity matrix of a condition in each of the modes; the scores are made once, and forgotten."""
        sides = {"o": self.original, "a": self.anonymised}
        cosines = UtteranceCosines.between(*(sides[side] for side in condition))
        is_symmetric = condition != "oa"
        (scores, cells), n = self._buffers, len(self.original.utts)
        for start in range(0, n, _ROWS):
            first = start if is_symmetric else 0
            scores[start : start + _ROWS, first:] = cosines.rows(slice(start, start + _ROWS), first)
        made = AllScores(scores, self.original.starts, is_symmetric, cells)
        if is_symmetric:  # both modes count the same pairs
            return [similarity_of_all(made, self.names)] * len(modes)
        return [similarity_of_all(made, self.names, mode) for mode in modes]


@dataclass(frozen=True)
class UtterancePairs:
    """Scored pairs by condition; utterance u, in sorted order, is spoken by ``names[speaker[u]]``."""

    names: list[str]
    speaker: Indices
    pairs: Mapping[str, PairScores]

    def matrices(self, condition: str, modes: tuple[str, ...]) -> list[Floats]:
        """The similarity matrix of a condition in each of the modes."""
        pairs = self.pairs[condition]
        return [similarity_matrix(pairs, self.speaker, self.names, condition, mode) for mode in modes]


def read_utterance_pairs(paths: Mapping[str, StrPath], utt2spk_path: StrPath) -> UtterancePairs:
    """Read ``<utt> <utt> <score>`` files, one per condition, over the utterances of one utt2spk."""
    utt2spk = read_table(utt2spk_path, "speaker")
    read = {}
    for condition, path in paths.items():
        rows, scores = read_pair_scores(path, "utterance", "utterance")
        _refuse_unknown(rows, utt2spk, path, utt2spk_path)
        read[condition] = rows, scores
    utts = sorted({utt for rows, _ in read.values() for utt in (*rows.firsts, *rows.seconds)})
    names = sorted({utt2spk[utt] for utt in utts})
    utt_index = {utt: i for i, utt in enumerate(utts)}
    spk_index = {name: i for i, name in enumerate(names)}
    indexed = {}
    for condition, (rows, scores) in read.items():
        first, second = (np.array([utt_index[utt] for utt in ids], np.intp) for ids in (rows.firsts, rows.seconds))
        indexed[condition] = PairScores(first[rows.first], second[rows.second], scores)
    return UtterancePairs(names, np.array([spk_index[utt2spk[utt]] for utt in utts]), indexed)


def _refuse_unknown(rows: PairRows, utt2spk: Mapping[str, str], path: StrPath, source: StrPath) -> None:
    bad = np.zeros(len(rows), bool)
    for ids, column in ((rows.firsts, rows.first), (rows.seconds, rows.second)):
        bad |= np.array([utt not in utt2spk for utt in ids])[column]
    if bad.any():
        row = int(bad.argmax())
        utt = next(utt for utt in rows.describe(row).split() if utt not in utt2spk)
        raise InputError(f"utterance '{utt}' is not in {source}; add it", path, row + 1)
