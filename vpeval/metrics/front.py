"""The metrics for people with lists or arrays of their own: what takes more than one call elsewhere, in one.

Everything here is made of the functions of this package, which the recipes call; nothing is computed in another way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import get_args

import numpy as np
from numpy.typing import ArrayLike

from vpeval.core.arrays import Counts, Floats
from vpeval.core.errors import refuse_unknown
from vpeval.metrics.intervals import RESAMPLES, Estimate, SpeakerInterval
from vpeval.metrics.linkability import Linkability, linkability
from vpeval.metrics.one_minus_eer import OneMinusEer, compare_all
from vpeval.metrics.ranks import Ranks, count_rivals
from vpeval.metrics.scores import pool
from vpeval.metrics.similarity import CONDITIONS, PairScores, similarity_matrix, voice_similarity
from vpeval.metrics.singling_out import SinglingOut, singling_out
from vpeval.metrics.srd import Disclosure, Estimator, disclosure, intervals
from vpeval.metrics.vectors import Similarity
from vpeval.metrics.verification import POINT_ESTIMATES
from vpeval.metrics.wer import ErrorCounts, count_errors


def point_estimates(targets: ArrayLike, nontargets: ArrayLike) -> dict[str, float]:
    """Every verification metric of target and nontarget scores (higher: more similar), by its name in records.

    >>> round(point_estimates([2.0, 1.5, 0.3], [0.1, 0.9, -1.0, 0.0])["eer_threshold"], 3)
    0.292
    """
    pooled = pool(targets, nontargets)
    return {name: function(pooled) for name, function in POINT_ESTIMATES.items()}


def linkability_of(
    enrolled: ArrayLike, tested: ArrayLike, owner: ArrayLike, n_enroll: Sequence[int], similarity: Similarity = "cosine"
) -> Linkability:
    """How often the owner of a tested vector is found among N' enrolled speakers, for every N' in `n_enroll`.

    ``enrolled[owner[i]]`` is the vector of the speaker who spoke ``tested[i]``.
    """
    references, inputs, owners = _vectors(enrolled, tested, owner)
    rivals = count_rivals(references, inputs, owners, similarity)
    return replace(linkability(rivals, len(references), n_enroll), owner=owners)


def singling_out_of(
    enrolled: ArrayLike,
    tested: ArrayLike,
    owner: ArrayLike,
    n_speakers: Sequence[int],
    similarity: Similarity = "cosine",
    seed: int = 0,
) -> SinglingOut:
    """How often a predicate made for an enrolled speaker isolates exactly one of N, for every N in `n_speakers`.

    ``enrolled[owner[i]]`` is the vector of the speaker who spoke ``tested[i]``; every speaker who was tested needs at
    least two vectors, of which one at a time is attacked and the others calibrate.
    """
    references, inputs, owners = _vectors(enrolled, tested, owner)
    speakers, place, counts = np.unique(owners, return_inverse=True, return_counts=True)
    if counts.min() < 2:
        raise ValueError(f"singling out needs two vectors per speaker; speaker {speakers[counts.argmin()]} has one")
    folds = np.zeros((counts.max(), len(speakers), inputs.shape[1]))
    for speaker, count in enumerate(counts):
        folds[:count, speaker] = inputs[place == speaker]
    everyone = np.arange(len(speakers))
    return singling_out(references[speakers], everyone, folds, counts, n_speakers, seed, similarity=similarity)


def one_minus_eer_of(
    enrolled: ArrayLike,
    tested: ArrayLike,
    owner: ArrayLike,
    n_enroll: Sequence[int],
    similarity: Similarity = "cosine",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> list[OneMinusEer]:
    """1 - EER (ROCCH) with its interval, of every tested vector against N' enrolled speakers, for every N'.

    ``enrolled[owner[i]]`` is the vector of the speaker who spoke ``tested[i]``, one vector of each.
    """
    references, inputs, owners = _vectors(enrolled, tested, owner)
    if len(np.unique(owners)) < len(owners):
        raise ValueError("1 - EER takes one vector of every tested speaker, such as the mean of several")
    if not all(2 <= n <= len(references) for n in n_enroll):
        raise ValueError(f"N' must lie between 2 and {len(references)}: {list(n_enroll)}")
    return compare_all(references, [inputs], owners, n_enroll, resamples, seed, similarity).eers


def rank_disclosure(
    references: ArrayLike,
    inputs: ArrayLike,
    owner: ArrayLike,
    estimator: Estimator = "empirical",
    similarity: Similarity = "cosine",
) -> Disclosure:
    """Similarity rank disclosure of inputs among references; all arrays of the result have one value.

    ``references[owner[i]]`` is the vector of the speaker who spoke ``inputs[i]``.
    """
    ranks = _ranks(references, inputs, owner, similarity)
    return disclosure(ranks.histograms(np.ones((1, ranks.n_speakers))), estimator)


def rank_disclosure_intervals(
    references: ArrayLike,
    inputs: ArrayLike,
    owner: ArrayLike,
    estimator: Estimator = "empirical",
    similarity: Similarity = "cosine",
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, SpeakerInterval]:
    """95 % intervals of `rank_disclosure` over speakers, by the fields of its result."""
    refuse_unknown("estimator", estimator, get_args(Estimator))
    return intervals(_ranks(references, inputs, owner, similarity), estimator, resamples, seed)


def distinctiveness(
    original: ArrayLike,
    across: ArrayLike,
    anonymised: ArrayLike,
    speakers: Sequence[str],
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> dict[str, Estimate]:
    """Gain of voice distinctiveness (``g_vd``, in dB) and de-identification (``deid``), with intervals over speakers.

    The scores are those of every utterance (row) with every other (column), of original voices, of original with
    anonymised ones, and of anonymised voices; ``speakers[u]`` speaks utterance u. D_diag of each is there as well
    (``d_diag_oo`` …).
    """
    names, speaker = np.unique(np.asarray(speakers), return_inverse=True)
    size = len(speaker)
    matrices = {}
    for condition, given in zip(CONDITIONS, (original, across, anonymised), strict=True):
        scores = np.asarray(given, np.float64)
        if scores.shape != (size, size) or not np.isfinite(scores).all():
            raise ValueError(f"the scores {condition} of {size} utterances must be {size} by {size} finite numbers")
        first, second = np.indices(scores.shape).reshape(2, -1)
        pairs = PairScores(first, second, scores.ravel())
        matrices[condition] = similarity_matrix(pairs, speaker, names.tolist(), condition)
    found = voice_similarity(matrices, resamples, seed)
    return {"_".join((one.metric, *map(str, one.params.values()))): one for one in found}


def _vectors(references: ArrayLike, inputs: ArrayLike, owner: ArrayLike) -> tuple[Floats, Floats, Counts]:
    """References, inputs and owners as arrays, once it is clear that they fit."""
    known, tested = (np.asarray(vectors, np.float64) for vectors in (references, inputs))
    if known.ndim != 2 or tested.ndim != 2 or known.shape[1:] != tested.shape[1:] or not (known.size and tested.size):
        raise ValueError(
            f"vectors must be the rows of two matrices, as wide as each other: {known.shape}, {tested.shape}"
        )
    if not (np.isfinite(known).all() and np.isfinite(tested).all()):
        raise ValueError("vectors must be finite")
    numbers = np.asarray(owner)
    if numbers.shape != (len(tested),) or numbers.dtype.kind not in "iu":
        raise ValueError(f"owner must be {len(tested)} whole numbers, the row of the speaker of every tested vector")
    if outside := np.flatnonzero((numbers < 0) | (numbers >= len(known))).tolist():
        number = numbers[outside[0]]
        raise ValueError(f"owner[{outside[0]}] is {number}, but there are the rows 0 to {len(known) - 1}")
    return known, tested, numbers.astype(np.int64)


def _ranks(references: ArrayLike, inputs: ArrayLike, owner: ArrayLike, similarity: Similarity) -> Ranks:
    known, tested, owners = _vectors(references, inputs, owner)
    rivals = count_rivals(known, tested, owners, similarity)
    speakers, place = np.unique(owners, return_inverse=True)
    return Ranks.from_rivals(rivals, place, len(speakers), len(known), "mid")


def word_errors(references: Sequence[str], hypotheses: Sequence[str]) -> ErrorCounts:
    """The errors of transcripts, word by word as they stand: rules of text are the caller's.

    >>> print(word_errors(["one two three"], ["one too three four"]))
    %WER 66.67 [ 2 / 3, 1 ins, 0 del, 1 sub ]
    """
    refs, hyps = ([str(text).split() for text in texts] for texts in (references, hypotheses))
    return ErrorCounts.from_counts(count_errors(refs, hyps))
