"""What an attacker infers about attributes: bits, balanced accuracy, rank correlation, and who is unique by them.

The information about attribute a of a speaker, of prior probability p(a), in a posterior p(a|x) is

    log2 p(a|x) - log2 p(a)   bits;

its mean is the entropy of the attribute less the cross-entropy of the posteriors: 0 for an attacker who repeats the
prior, the entropy for one who is always right and sure, and less than 0 for one who is misled. What a voice discloses
is never less than 0, so that reports show max(0, mean).

Speaker uniqueness: how many of a population of N have the attributes that an attacker infers from a voice.

The attacker infers a combination of attributes of a person (sex, age group, accent …), knows the true attributes of
everybody in a population of N, the person and N-1 others, and keeps those who have the inferred combination. If m of
the M-1 others that there are have it, H of them are in the population, hypergeometric, and the expectations are exact
(`linkability.picked`):

    left(N)  = [right] + (N-1) m / (M-1)     speakers are left, the person among them if the inference is right,
    alone(N) = [right] · P(H = 0)            the person is left, and nobody else,
    found(N) = [right] · E[1 / (1 + H)]      one of those left, picked at random, is the person.

By chance, that is with a combination drawn with the frequencies that they have among the speakers, whoever speaks, a
person of a combination with g speakers is right in g/M of the cases; `found` is 1/N then (less, where the population
may lack the drawn combination). A population larger than M is one of the same frequencies: the others are drawn
independently, and H is binomial.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from vpeval.core.arrays import Counts, Floats
from vpeval.metrics.linkability import none_drawn, picked


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


@dataclass(frozen=True)
class Uniqueness:
    """Expectations, one row per population size N and one column per attack, and what they are by chance, per N."""

    n_speakers: tuple[int, ...]
    left: Floats
    alone: Floats
    found: Floats
    chance: dict[str, Floats]


def uniqueness(inferred: Counts, owner: Counts, true: Counts, n_speakers: Sequence[int]) -> Uniqueness:
    """Of attacks that `inferred` combinations of the attributes of ``owner``; ``true[s]`` is that of speaker s.

    Combinations are numbered; an inferred one that nobody has excludes everybody.

    >>> uniqueness(np.array([0]), np.array([0]), np.array([0, 0, 1]), [2]).left.tolist()
    [[1.5]]
    """
    n_all = len(true)
    if n_all < 2 or not all(n >= 2 for n in n_speakers):
        raise ValueError("uniqueness needs two or more speakers, in the population and in all")
    sizes = np.bincount(true, minlength=max(int(inferred.max()), int(true.max())) + 1)
    right = inferred == true[owner]
    others, own = sizes[inferred] - right, sizes[true] - 1
    share = sizes / n_all
    left, alone, found = (np.empty((len(n_speakers), len(inferred))) for _ in range(3))
    chance = {name: np.empty(len(n_speakers)) for name in ("left", "alone", "found")}
    for row, n in enumerate(n_speakers):
        nobody, one = _crowd(n_all, n)
        each = (n - 1) / (n_all - 1)
        left[row] = right + each * others
        alone[row] = right * nobody[others]
        found[row] = right * one[others]
        # Every combination is drawn with its share; a wrong one leaves all who have it.
        wrong = each * n_all * (np.square(share).sum() - np.square(share[true]))
        chance["left"][row] = (share[true] * (1 + each * own) + wrong).mean()
        chance["alone"][row] = (share[true] * nobody[own]).mean()
        chance["found"][row] = (share[true] * one[own]).mean()
    return Uniqueness(tuple(n_speakers), left, alone, found, chance)


def _crowd(n_all: int, n: int) -> tuple[Floats, Floats]:
    """P(H = 0) and E[1/(1+H)] for 0 … M-1 rivals among all."""
    if n <= n_all:
        return none_drawn(n_all, n), picked(n_all, n)
    share = np.arange(n_all) / (n_all - 1)
    nobody = (1 - share) ** (n - 1)
    with np.errstate(invalid="ignore"):
        one = (1 - (1 - share) ** n) / (n * share)
    return nobody, np.where(share > 0, one, 1.0)
