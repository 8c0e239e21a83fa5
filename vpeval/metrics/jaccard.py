"""Easy and hard speakers, and how far two lists of them agree.

The Speaker-Linkability reproduction of the legal framework asks whether the same speakers stay easy (or hard) to link
when the attacker, the anonymiser or the number L of utterances changes. Easy is the share q of speakers with the
highest scores, hard that with the lowest; speakers who tie with the last of a list all belong to it. The agreement of
lists A and B is the Jaccard overlap |A∩B| / |A∪B|. Lists of these sizes drawn at random from n speakers overlap by
chance, too: the expectation over the hypergeometric |A∩B| is given with the value.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class Extremes:
    """The speakers at the two ends of a table of scores."""

    easy: frozenset[str]
    hard: frozenset[str]


@dataclass(frozen=True)
class Overlap:
    """Jaccard overlap of two lists and what random lists of the same sizes would give."""

    value: float
    chance: float


def extreme_speakers(scores: Mapping[str, float], quantile: float) -> Extremes:
    """The easiest and the hardest `quantile` of the speakers (at least one each).

    >>> sorted(extreme_speakers({"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.1}, 0.25).easy)
    ['a']
    """
    if not 0 < quantile <= 0.5:
        raise ValueError(f"the quantile must lie in (0, 0.5], not {quantile}")
    ranked = sorted(scores.values())
    size = max(1, round(quantile * len(ranked)))
    return Extremes(
        easy=frozenset(spk for spk, score in scores.items() if score >= ranked[-size]),
        hard=frozenset(spk for spk, score in scores.items() if score <= ranked[size - 1]),
    )


def jaccard(a: Collection[str], b: Collection[str], n_speakers: int) -> Overlap:
    """Overlap of two non-empty lists of speakers out of `n_speakers`."""
    a, b = frozenset(a), frozenset(b)
    return Overlap(len(a & b) / len(a | b), _chance(len(a), len(b), n_speakers))


def _chance(a: int, b: int, n: int) -> float:
    ways = {k: math.comb(a, k) * math.comb(n - a, b - k) for k in range(max(0, a + b - n), min(a, b) + 1)}
    return float(sum(Fraction(count * k, a + b - k) for k, count in ways.items()) / math.comb(n, b))
