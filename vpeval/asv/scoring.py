"""Scores of pairs of embeddings: verification trials, and pairs of utterances for voice similarity."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from vpeval.asv.backend import Backend
from vpeval.asv.plda import Floats
from vpeval.core.errors import InputError
from vpeval.data.pairs import PairRows
from vpeval.embeddings.directory import Embeddings, Indices, unit
from vpeval.metrics.vectors import pair_products

_PAIRS = 1 << 14


def score_trials(enroll: Embeddings, trial: Embeddings, pairs: PairRows, backend: Backend | None = None) -> Floats:
    """Scores of (enrolled speaker, trial utterance) pairs: LLRs of a back end, else cosines."""
    i, unknown = _find(pairs.firsts, enroll.speakers)
    if unknown:
        message = f"no enrolment vector of speaker '{unknown[0]}'; are trials and enrolment of one set?"
        raise InputError(message, enroll.directory)
    j, unknown = _find(pairs.seconds, trial.utts)
    if unknown:
        message = f"no vector of trial utterance '{unknown[0]}'; extract the embeddings again"
        raise InputError(message, trial.directory)
    if backend is None:
        x, y, score = _means(enroll), unit(trial.vectors), pair_cosines
    else:
        (x, y), score = backend.factors(enroll, trial), pair_products
    scores = np.empty(len(pairs))
    for start in range(0, len(pairs), _PAIRS):
        rows = slice(start, start + _PAIRS)
        scores[rows] = score(x[i[pairs.first[rows]]], y[j[pairs.second[rows]]])
    return scores


def cosines(enroll: Embeddings, trial: Embeddings) -> Floats:
    """Cosine of every speaker's mean enrolment vector with every trial vector."""
    return _all_cosines(_means(enroll), unit(trial.vectors))


def utterance_cosines(first: Embeddings, second: Embeddings) -> Iterator[Floats]:
    """Cosines of one utterance of `first` after the other with all of `second`, which is of the same speakers."""
    first.find(second)
    x, y = unit(first.vectors), unit(second.vectors)
    return (pair_cosines(row, y) for row in x)


@dataclass(frozen=True)
class UtteranceCosines:
    """Cosines of all utterances of one directory with all of another, some rows at a time.

    A matrix product would be fast, but its last digits depend on the number of threads and on the machine. So vectors x
    of length one are cut into h, whole multiples of 2⁻²⁶, and a rest l of as many further bits as keep every sum of
    products a whole number below 2⁵³: nothing is rounded, in whatever order it is added. A cosine is 1 - |x-y|²/2, from
    h·h and h·l, as exact where cosines crowd near 1 as elsewhere; without l·l it may be off by some 10⁻¹⁴.
    """

    first: _Cut
    second: _Cut

    @classmethod
    def of(cls, first: Embeddings, second: Embeddings) -> UtteranceCosines:
        """Of utterances of the same speakers."""
        first.find(second)
        return cls(_Cut.of(unit(first.vectors)), _Cut.of(unit(second.vectors), swapped=True))

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
    def of(cls, x: Floats, swapped: bool = False) -> _Cut:
        """Cut vectors of length one; `swapped` puts l before h."""
        high = np.rint(x * 2.0**26) * 2.0**-26
        # In units of 2⁻²⁶ and 1/bits, |h| ≤ 2²⁶ and |l| ≤ √D·bits·2⁻²⁷, so that twice their product stays below 2⁵³.
        bits = 2.0 ** (52 - np.ceil(np.log2(x.shape[1]) / 2))
        low = np.rint((x - high) * bits) / bits
        both = np.hstack((low, high) if swapped else (high, low))
        return cls(high, both, np.square(high).sum(axis=1) / 2, (high * low).sum(axis=1))


def pair_cosines(x: Floats, y: Floats) -> Floats:
    """Cosines of rows of length one; taken from their distance, they are exact where they crowd near 1."""
    return 1 - np.square(x - y).sum(axis=-1) / 2


def _means(speakers: Embeddings) -> Floats:
    return unit(speakers.means(np.arange(len(speakers.speakers))))


def _all_cosines(x: Floats, y: Floats) -> Floats:
    # Row by row instead of a matrix product, whose last digits depend on the number of threads.
    return np.stack([pair_cosines(row, y) for row in x])


def _find(names: Sequence[str], among: Sequence[str]) -> tuple[Indices, list[str]]:
    """Where the names are, and those that are not there."""
    place = {name: number for number, name in enumerate(among)}
    found = np.array([place.get(name, 0) for name in names], np.int64)
    return found, [name for name in names if name not in place]
