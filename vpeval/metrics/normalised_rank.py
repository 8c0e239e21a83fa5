"""Normalised ranks of one listener's scores (Rosenberg & Ramabhadran, Bias and statistical significance in evaluating
speech synthesis with mean opinion scores, 2017; VoicePrivacy 2020 supplement, section 4.2).

The scores of a listener are sorted, equal ones share the mean of their ranks, and a score becomes (rank - 1) / n: a
number from 0 to 1 that no longer depends on which part of the scale the listener likes to use.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def normalised_ranks(scores: ArrayLike) -> NDArray[np.float64]:
    """(average rank - 1) / n of every score.

    >>> normalised_ranks([2, 1, 2, 10, 4, 5, 6, 4, 5, 7]).tolist()
    [0.15, 0.0, 0.15, 0.9, 0.35, 0.55, 0.7, 0.35, 0.55, 0.8]
    """
    values = np.asarray(scores, dtype=np.float64)
    return ranks_within(values, np.zeros(len(values), dtype=np.intp))


def ranks_within(scores: ArrayLike, owner: NDArray[np.intp]) -> NDArray[np.float64]:
    """Normalised ranks of the scores of each owner by themselves."""
    values = np.asarray(scores, dtype=np.float64)
    if not len(values):
        return np.empty(0)
    order = np.lexsort((values, owner))
    sorted_values, sorted_owner = values[order], owner[order]
    new_owner = np.concatenate(([True], sorted_owner[1:] != sorted_owner[:-1]))
    new_score = new_owner | np.concatenate(([True], sorted_values[1:] != sorted_values[:-1]))
    first, owner_first = np.flatnonzero(new_score), np.flatnonzero(new_owner)
    size = np.diff(first, append=len(values))
    of_owner = np.cumsum(new_owner)[first] - 1
    total = np.diff(owner_first, append=len(values))[of_owner]
    shared = (first - owner_first[of_owner] + (size - 1) / 2) / total
    ranks = np.empty(len(values))
    ranks[order] = np.repeat(shared, size)
    return ranks
