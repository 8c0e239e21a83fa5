"""What an attacker's posteriors say about an attribute: bits, balanced accuracy, rank correlation.

The information about attribute a of a speaker, of prior probability p(a), in a posterior p(a|x) is

    log2 p(a|x) - log2 p(a)   bits;

its mean is the entropy of the attribute less the cross-entropy of the posteriors: 0 for an attacker who repeats the
prior, the entropy for one who is always right and sure, and less than 0 for one who is misled. What a voice discloses
is never less than 0, so that reports show max(0, mean).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vpeval.metrics.vectors import Counts

Floats = NDArray[np.float64]


def information(posteriors: Floats, truth: Counts, prior: Floats) -> Floats:
    """Bits that each posterior (row) gives about its true class.

    >>> information(np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0, 0]), np.array([0.5, 0.5])).tolist()
    [0.0, 1.0]
    """
    with np.errstate(divide="ignore"):
        return np.log2(posteriors[np.arange(len(truth)), truth]) - np.log2(prior[truth])


def entropy(prior: Floats) -> float:
    """Bits that there are to be learnt."""
    some = prior[prior > 0]
    return float(-(some * np.log2(some)).sum())


def class_weights(truth: Counts) -> Floats:
    """Weights of speakers, one on average, with which every class counts the same.

    >>> class_weights(np.array([0, 0, 0, 1])).round(3).tolist()
    [0.667, 0.667, 0.667, 2.0]
    """
    classes, place, sizes = np.unique(truth, return_inverse=True, return_counts=True)
    return len(truth) / (len(classes) * sizes[place])


def rank_correlation(predicted: Floats, true: Floats) -> float:
    """Spearman's, with mean ranks for ties; 0 where either side does not vary.

    >>> rank_correlation(np.array([1.0, 5.0, 6.0]), np.array([20.0, 30.0, 80.0]))
    1.0
    """
    from scipy.stats import rankdata

    x, y = (rankdata(side) - (len(side) + 1) / 2 for side in (predicted, true))
    size = np.sqrt((x @ x) * (y @ y))
    return float(x @ y / size) if size > 0 else 0.0
