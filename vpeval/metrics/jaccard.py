"""Easy and hard speakers, and how far two lists of them agree.

The Speaker-Linkability reproduction of the legal framework asks whether the same speakers stay easy (or hard) to link
when the attacker, the anonymiser or the number L of utterances changes. Easy is the share q of speakers with the
highest scores, hard that with the lowest; it takes quarters. Speakers who tie with the last of a list all belong to it.
Where all speakers are always linked, everybody is easy and hard: a list is of use only if at least half of it would be
there without the ties. The agreement of lists A and B is the Jaccard overlap |A∩B| / |A∪B|. Lists of these sizes drawn
at random from n speakers overlap by chance, too: the expectation over the hypergeometric |A∩B| is given with the value.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np

from vpeval.core.errors import refuse_unknown

QUANTILE = 0.25
"""The share of the speakers in a list of the reproduction."""
KINDS = ("easy", "hard")


@dataclass(frozen=True)
class Extremes:
    """The speakers at the two ends of a table of scores, with all ties; `size` is how many were asked for."""

    easy: frozenset[str]
    hard: frozenset[str]
    size: int

    def usable(self, kind: str) -> frozenset[str] | None:
        """The list of a kind, one of `KINDS`; None if more than half of it is there only because of ties.

        >>> extreme_speakers({"a": 0.9, "b": 0.5, "c": 0.5, "d": 0.5}, 0.25).usable("hard") is None
        True
        """
        refuse_unknown("kind of speakers", kind, KINDS)
        found: frozenset[str] = getattr(self, kind)
        return None if len(found) > 2 * self.size else found


@dataclass(frozen=True)
class Overlap:
    """Jaccard overlap of two lists and what random lists of the same sizes would give."""

    value: float
    chance: float


def extreme_speakers(scores: Mapping[str, float], quantile: float = QUANTILE) -> Extremes:
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
        size=size,
    )


def jaccard(a: Collection[str], b: Collection[str], n_speakers: int) -> Overlap:
    """Overlap of two non-empty lists of speakers out of `n_speakers`."""
    a, b = frozenset(a), frozenset(b)
    if not (a and b and len(a | b) <= n_speakers):
        raise ValueError(f"lists of {len(a)} and {len(b)} of {n_speakers} speakers: none may be empty or hold others")
    return Overlap(len(a & b) / len(a | b), _chance(len(a), len(b), n_speakers))


@cache
def _chance(a: int, b: int, n: int) -> float:
    """The expectation, by the ratios of neighbouring hypergeometric probabilities to both sides of the mode."""
    least, most = max(0, a + b - n), min(a, b)
    mode = min(max((a + 1) * (b + 1) // (n + 2), least), most)
    k = np.arange(least, most + 1)
    ratio = (a - k[:-1]) * (b - k[:-1]) / ((k[:-1] + 1) * (n - a - b + k[:-1] + 1))
    place = mode - least
    down = np.cumprod(1 / ratio[:place][::-1])[::-1]
    weights = np.concatenate((down, [1.0], np.cumprod(ratio[place:])))
    return float(weights @ (k / (a + b - k)) / weights.sum())
