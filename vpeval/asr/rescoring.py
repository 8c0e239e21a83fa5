"""N-best lists scored again with a language model.

The challenge decodes once with the small language model, keeps the lattices, and scores them again with each language
model, language model weight (LMWT) and word insertion penalty (WIP). Here a list of the best hypotheses replaces the
lattice. As in Kaldi's scoring, the hypothesis with the greatest

    acoustic + LMWT · (ln P_LM − WIP · words)

wins; `acoustic` is a natural logarithm on the scale for which LMWT is about 7 to 17.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from vpeval.asr.lm import NGram
from vpeval.asr.nbest import NBest
from vpeval.core.arrays import Counts
from vpeval.core.errors import InputError
from vpeval.data.text import Normalizer
from vpeval.metrics.wer import ErrorCounts, count_errors


@dataclass(frozen=True)
class Weights:
    """A point of the tuning grid."""

    lmwt: int
    wip: float

    def __str__(self) -> str:
        """As in the names of the challenge's scoring files.

        >>> str(Weights(12, 0.5))
        '12_0.5'
        """
        return f"{self.lmwt}_{self.wip:.1f}"


class Rescorer:
    """The hypotheses of a set under one language model, which can be chosen from with any weights."""

    def __init__(self, nbest: NBest, lm: NGram, normalize: Normalizer) -> None:
        self.utts = list(nbest)
        hypotheses = list(chain.from_iterable(nbest.values()))
        self.words = [normalize(one.words) for one in hypotheses]
        self.acoustic = np.array([one.acoustic for one in hypotheses])
        self.logprob = np.array([lm.sentence(words) for words in self.words])
        self.length = np.array([len(words) for words in self.words])
        self.starts = np.cumsum([0, *(len(nbest[utt]) for utt in self.utts)])

    def choose(self, weights: Weights) -> Counts:
        """Row of the winning hypothesis of every utterance; the earlier one where two are equal."""
        score = self.acoustic + weights.lmwt * (self.logprob - weights.wip * self.length)
        pairs = zip(self.starts[:-1], self.starts[1:], strict=True)
        return np.array([start + np.argmax(score[start:end]) for start, end in pairs], np.int64)

    def texts(self, weights: Weights) -> dict[str, str]:
        """The winning words of every utterance."""
        return {utt: " ".join(self.words[row]) for utt, row in zip(self.utts, self.choose(weights), strict=True)}


@dataclass(frozen=True)
class Tuning:
    """The errors at every point of the grid, in the order of the grid."""

    errors: Mapping[Weights, ErrorCounts]

    @cached_property
    def best(self) -> Weights:
        """The weights with the fewest errors; the earlier ones where two are equal."""
        return min(self.errors, key=lambda weights: self.errors[weights].errors)

    @property
    def at_edge(self) -> bool:
        """Whether a wider range of LM weights might do better."""
        lmwts = {weights.lmwt for weights in self.errors}
        return len(lmwts) > 1 and self.best.lmwt in (min(lmwts), max(lmwts))


def tune(rescorer: Rescorer, refs: Mapping[str, str], normalize: Normalizer, grid: Sequence[Weights]) -> Tuning:
    """Count the errors at every point of the grid; hypotheses are aligned once, however many points there are."""
    if missing := [utt for utt in rescorer.utts if utt not in refs]:
        raise InputError(f"hypothesis '{missing[0]}' has no reference; is this the reference of the same set?")
    ref_words = [normalize(refs[utt]) for utt in rescorer.utts]
    sizes = np.diff(rescorer.starts)
    counts = count_errors(
        [words for words, size in zip(ref_words, sizes, strict=True) for _ in range(size)], rescorer.words
    )
    return Tuning({weights: ErrorCounts.from_counts(counts[rescorer.choose(weights)]) for weights in grid})


GRID = tuple(Weights(lmwt, wip) for lmwt in range(7, 18) for wip in (0.0, 0.5, 1.0))
"""The weights and penalties that the challenge tries."""


@dataclass(frozen=True)
class Chosen:
    """The words that a language model chose, and how its weights were found."""

    texts: dict[str, str]
    tuning: Tuning


def choose_texts(
    nbest: NBest,
    tuning_nbest: NBest,
    lm: NGram,
    tuning_refs: Mapping[str, str],
    normalize: Normalizer,
    grid: Sequence[Weights],
) -> Chosen:
    """Choose from `nbest` with the weights that do best on another set (the same one, as in the challenge)."""
    tuned = Rescorer(tuning_nbest, lm, normalize)
    tuning = tune(tuned, tuning_refs, normalize, grid)
    scored = tuned if nbest == tuning_nbest else Rescorer(nbest, lm, normalize)
    return Chosen(scored.texts(tuning.best), tuning)
