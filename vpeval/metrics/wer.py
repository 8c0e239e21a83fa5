"""Word and character error rate of a corpus: 100 · (S + D + I) / N_ref, as Kaldi's compute-wer counts it.

The three counts come from a Levenshtein alignment with unit costs. Where alignments tie, Kaldi's rule decides in
every cell: an insertion before a deletion before a substitution or match. (Only the split depends on the rule; the
sum does not.)

All utterances are aligned at once. The cell of reference position r and hypothesis position h lies on the
anti-diagonal d = r + h and the diagonal k = r - h; one step of the programme computes one anti-diagonal of every
utterance from the two before it. A cell with |k| > E costs more than E errors, so a band of diagonals |k| ≤ E gives
the exact answer for every utterance with at most E errors; the others are tried again with a wider band.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from itertools import chain, count

import numpy as np

from vpeval.core.arrays import Counts
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator
from vpeval.data.text import Normalizer, compared_words
from vpeval.metrics.intervals import RESAMPLES, SpeakerInterval, multiplicities, ratio_interval
from vpeval.metrics.paired import Assessed, assess

# One integer holds what the programme must know of a cell: its cost, which kind of step led into it (only while the
# candidates are compared, so that the minimum obeys the tie rule), and the number of insertions on the way.
_INSERTIONS_BITS = 20
_INSERTIONS = (1 << _INSERTIONS_BITS) - 1
_BY_DELETION = 1 << _INSERTIONS_BITS
_BY_MATCH = 2 << _INSERTIONS_BITS
_COST_SHIFT = _INSERTIONS_BITS + 2
_COST = 1 << _COST_SHIFT
_WITHOUT_STEP = ~(_BY_DELETION | _BY_MATCH)
_UNREACHED = 1 << 60

_FIRST_BAND = 8
_BATCH_CELLS = 1 << 16


@dataclass(frozen=True)
class ErrorCounts:
    """Errors of one or more utterances; adds up with ``+``."""

    insertions: int = 0
    deletions: int = 0
    substitutions: int = 0
    words: int = 0
    utts: int = 0

    @classmethod
    def from_counts(cls, counts: Counts) -> ErrorCounts:
        """The sum of rows of `count_errors`."""
        insertions, deletions, substitutions, words = counts.sum(axis=0).tolist()
        return cls(insertions, deletions, substitutions, words, len(counts))

    def __add__(self, other: ErrorCounts) -> ErrorCounts:
        return ErrorCounts(*(a + b for a, b in zip(astuple(self), astuple(other), strict=True)))

    @property
    def errors(self) -> int:
        """S + D + I."""
        return self.insertions + self.deletions + self.substitutions

    @property
    def rate(self) -> float:
        """Percent; without reference words 0 if nothing was inserted, else infinite."""
        if self.words:
            return 100 * self.errors / self.words
        return float("inf") if self.errors else 0.0

    def __str__(self) -> str:
        """The line of Kaldi's scorers.

        >>> str(ErrorCounts(172, 250, 1667, words=39783))
        '%WER 5.25 [ 2089 / 39783, 172 ins, 250 del, 1667 sub ]'
        """
        return (
            f"%WER {self.rate:.2f} [ {self.errors} / {self.words}, "
            f"{self.insertions} ins, {self.deletions} del, {self.substitutions} sub ]"
        )


@dataclass(frozen=True)
class TextScore:
    """Errors of a set of transcripts, row by row in the order of `utts`; `missing` had no hypothesis."""

    utts: tuple[str, ...]
    missing: tuple[str, ...]
    words: Counts
    characters: Counts


def count_errors(refs: Sequence[Sequence[Hashable]], hyps: Sequence[Sequence[Hashable]]) -> Counts:
    """Insertions, deletions, substitutions and reference length of every pair of sequences.

    The sequences are lists of words, or strings for errors in characters.

    >>> count_errors([["a", "b"], "kitten"], [["a", "b", "c"], "sitting"]).tolist()
    [[1, 0, 0, 2], [1, 0, 2, 6]]
    """
    if len(refs) != len(hyps):
        raise ValueError(f"{len(refs)} references but {len(hyps)} hypotheses")
    counts = np.zeros((len(refs), 4), np.int64)
    counts[:, 3] = [len(ref) for ref in refs]
    pending = [i for i, (ref, hyp) in enumerate(zip(refs, hyps, strict=True)) if ref != hyp]
    if not pending:
        return counts
    ref_ids, hyp_ids = _encode([refs[i] for i in pending], [hyps[i] for i in pending])
    cost, insertions = _align(ref_ids, hyp_ids)
    longer = np.array([len(hyp) - len(ref) for ref, hyp in zip(ref_ids, hyp_ids, strict=True)])
    deletions = insertions - longer
    counts[pending, :3] = np.stack([insertions, deletions, cost - insertions - deletions], axis=1)
    return counts


def score_texts(
    refs: Mapping[str, str], hyps: Mapping[str, str], normalizer: Normalizer, allow_extra: bool = False
) -> TextScore:
    """Score transcripts by utterance-id. A reference without hypothesis counts as all deletions.

    Characters include the single blanks between words.
    """
    extra = sorted(hyps.keys() - refs.keys())
    if extra and not allow_extra:
        more = f" and {len(extra) - 1} more have" if len(extra) > 1 else " has"
        raise InputError(
            f"hypothesis '{extra[0]}'{more} no reference; "
            "is this the reference of the same set? (--allow-extra true leaves them out)"
        )
    compared = [compared_words(text, hyps.get(utt, ""), normalizer) for utt, text in refs.items()]
    ref_words, hyp_words = [words for words, _ in compared], [words for _, words in compared]
    return TextScore(
        tuple(refs),
        tuple(utt for utt in refs if utt not in hyps),
        count_errors(ref_words, hyp_words),
        count_errors([" ".join(words) for words in ref_words], [" ".join(words) for words in hyp_words]),
    )


def sum_by_speaker(counts: Counts, spks: Sequence[str]) -> dict[str, ErrorCounts]:
    """Total errors of every speaker, sorted by speaker; `spks` names the speaker of every row."""
    names = sorted(set(spks))
    place = {name: i for i, name in enumerate(names)}
    index = np.fromiter(map(place.__getitem__, spks), np.int64, len(spks))
    sums = np.zeros((len(names), 5), np.int64)
    np.add.at(sums, index, np.column_stack((counts, np.ones(len(counts), np.int64))))
    return {name: ErrorCounts(*row) for name, row in zip(names, sums.tolist(), strict=True)}


def speaker_interval(speakers: Mapping[str, ErrorCounts]) -> SpeakerInterval:
    """95 % interval of the rate, in percent, if other speakers had been recorded."""
    errors, words = ([getattr(one, name) for one in speakers.values()] for name in ("errors", "words"))
    found = ratio_interval(errors, words, sum(one.utts for one in speakers.values()))
    if found.lower is None or found.upper is None:
        return found
    return replace(found, lower=100 * found.lower, upper=100 * found.upper)


def paired_test(
    counts: Counts, others: Counts, units: Sequence[str], resamples: int = RESAMPLES, seed: int = 0
) -> Assessed:
    """The rate of one system minus that of another that recognised the same utterances, in percent (see `paired`).

    `units` names what is drawn for every row: its speaker, or the utterance itself.
    """
    if len(counts) != len(others) or (counts[:, 3] != others[:, 3]).any():
        raise ValueError("the two systems were not scored on the same references")
    names, index = np.unique(np.asarray(units), return_inverse=True)
    errors = np.bincount(index, counts[:, :3].sum(axis=1) - others[:, :3].sum(axis=1))
    words = np.bincount(index, counts[:, 3])
    drawn = multiplicities(len(names), resamples, generator(seed, "wer difference"))
    drawn = drawn[drawn @ words > 0]
    return assess(100 * float(errors.sum() / words.sum()), 100 * (drawn @ errors) / (drawn @ words), len(names))


def _encode(
    refs: Sequence[Sequence[Hashable]], hyps: Sequence[Sequence[Hashable]]
) -> tuple[list[Counts], list[Counts]]:
    ids: defaultdict[Hashable, int] = defaultdict(count(1).__next__)
    lengths = [len(sequence) for sequence in chain(refs, hyps)]
    flat = np.fromiter(map(ids.__getitem__, chain.from_iterable(chain(refs, hyps))), np.int64, sum(lengths))
    parts = np.split(flat, np.cumsum(lengths)[:-1])
    return parts[: len(refs)], parts[len(refs) :]


def _align(refs: list[Counts], hyps: list[Counts]) -> tuple[Counts, Counts]:
    """(cost, insertions) of every pair, in batches of similar length and with a band as narrow as will do."""
    R, H = np.array([len(ref) for ref in refs]), np.array([len(hyp) for hyp in hyps])
    result = np.empty(len(refs), np.int64)
    pending = np.argsort(R + H, kind="stable")
    band = _FIRST_BAND
    while pending.size:
        for batch in np.array_split(pending, max(1, pending.size * band // _BATCH_CELLS)):
            result[batch] = _align_batch([refs[i] for i in batch], [hyps[i] for i in batch], band)
        pending = pending[result[pending] >> _COST_SHIFT > band]
        band *= 4
    return result >> _COST_SHIFT, result & _INSERTIONS


def _align_batch(refs: list[Counts], hyps: list[Counts], band: int) -> Counts:
    """The packed last cell of every pair; wrong, but too large for the band, where the errors exceed the band."""
    ref, R = _pad(refs)
    hyp, H = _pad(hyps)
    n_ref, n_hyp = len(ref) - 1, len(hyp) - 1
    # Row k + band + 1 holds diagonal k; a row of unreached cells closes the band on each side.
    cells = np.full((2 * band + 3, len(refs)), _UNREACHED, np.int64)
    middle = band + 1
    cells[middle] = 0
    result = np.full(len(refs), _UNREACHED, np.int64)
    result[R + H == 0] = 0
    for d in range(1, n_ref + n_hyp + 1):
        low, high = max(-d, -band, d - 2 * n_hyp), min(d, band, 2 * n_ref - d)
        low, high = low + (d - low) % 2, high - (d - high) % 2
        if low > high:
            break
        rows = slice(middle + low, middle + high + 1, 2)
        after_deletion = cells[middle + low - 1 : middle + high : 2] + (_COST + _BY_DELETION)
        after_insertion = cells[middle + low + 1 : middle + high + 2 : 2] + (_COST + 1)
        words = ref[(d + low) // 2 : (d + high) // 2 + 1]
        others = hyp[(d - high) // 2 : (d - low) // 2 + 1][::-1]
        after_match = cells[rows] + _BY_MATCH + (words != others) * _COST
        best = np.minimum(np.minimum(after_deletion, after_insertion), after_match)
        cells[rows] = best & _WITHOUT_STEP
        ended = np.flatnonzero((d == R + H) & (abs(R - H) <= band))
        result[ended] = cells[middle + (R - H)[ended], ended]
    return result


def _pad(sequences: list[Counts]) -> tuple[Counts, Counts]:
    """Sequences as columns from row 1 on (row 0 and the ends are filled up), and their lengths."""
    lengths = np.array([len(sequence) for sequence in sequences])
    inside = np.arange(lengths.max() + 1) <= lengths[:, None]
    inside[:, 0] = False
    padded = np.zeros(inside.shape, np.int64)
    padded[inside] = np.concatenate(sequences)
    return np.ascontiguousarray(padded.T), lengths
