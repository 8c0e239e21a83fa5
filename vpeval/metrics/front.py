"""The metrics for people with lists or arrays of their own: what takes more than one call elsewhere, in one.

Everything here is made of the functions of this package, which the recipes call; nothing is computed in another way.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from vpeval.metrics.linkability import Linkability, linkability
from vpeval.metrics.ranks import Ranks, count_rivals
from vpeval.metrics.scores import pool
from vpeval.metrics.srd import Disclosure, Estimator, disclosure
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
    references, inputs = np.asarray(enrolled, np.float64), np.asarray(tested, np.float64)
    rivals = count_rivals(references, inputs, np.asarray(owner, np.int64), similarity)
    return linkability(rivals, len(references), n_enroll)


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
    known, tested = np.asarray(references, np.float64), np.asarray(inputs, np.float64)
    owners = np.asarray(owner, np.int64)
    rivals = count_rivals(known, tested, owners, similarity)
    speakers, place = np.unique(owners, return_inverse=True)
    ranks = Ranks.from_rivals(rivals, place, len(speakers), len(known), "mid")
    return disclosure(ranks.histograms(np.ones((1, len(speakers)))), estimator)


def word_errors(references: Sequence[str], hypotheses: Sequence[str]) -> ErrorCounts:
    """The errors of transcripts, word by word as they stand: rules of text are the caller's.

    >>> print(word_errors(["one two three"], ["one too three four"]))
    %WER 66.67 [ 2 / 3, 1 ins, 0 del, 1 sub ]
    """
    refs, hyps = ([str(text).split() for text in texts] for texts in (references, hypotheses))
    return ErrorCounts.from_counts(count_errors(refs, hyps))
