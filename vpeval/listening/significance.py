"""Which systems listeners rate differently: the tests of all pairs of systems, read from their records.

Two-sided Mann-Whitney U tests (VoicePrivacy 2020 supplement, Tables 16 and 17). The supplement marks p below the level
as it is. A test is significant here if p stays below the level after Holm's correction for all tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from vpeval.listening.ratings import ALPHA, GROUPS
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record

Level = Literal["significant", "uncorrected", "none"]
LEVELS: Mapping[Level, str] = {
    "significant": "significant after Holm's correction",
    "uncorrected": "significant only before it",
    "none": "not significant",
}
"""What a test may show, in words."""
GROUP_TITLES = {
    "similarity_same": "Similarity, same speaker",
    "similarity_different": "Similarity, different speakers",
    "naturalness": "Naturalness",
    "intelligibility": "Intelligibility",
}
"""The groups of ratings in the order of the supplement's tables."""
TABLES = {
    "similarity": {"similarity_same": "16a", "similarity_different": "16b"},
    "quality": {"naturalness": "17a", "intelligibility": "17b"},
}
"""The groups of each table, with their numbers in the supplement."""
_TINY = 1e-4


@dataclass(frozen=True)
class Pair:
    """A system against another one in a group of ratings; `difference` is above 0 if it is rated higher."""

    difference: float
    p_value: float
    p_holm: float
    alpha: float

    @property
    def level(self) -> Level:
        """What the test shows."""
        if self.p_holm < self.alpha:
            return "significant"
        return "uncorrected" if self.p_value < self.alpha else "none"


@dataclass(frozen=True)
class Significance:
    """The tests of all pairs of some systems, in both directions."""

    systems: Sequence[str]
    pairs: Mapping[tuple[str, str, str], Pair]
    simulated: bool

    def pair(self, group: str, system: str, versus: str) -> Pair | None:
        """The test of two systems in a group, or None."""
        return self.pairs.get((group, system, versus))

    @property
    def alpha(self) -> float:
        """The level of the tests."""
        return max(pair.alpha for pair in self.pairs.values())


def read_significance(records: Iterable[Record]) -> Significance | None:
    """The tests among some records, between systems that all have ratings among them; None if there are none."""
    records = list(records)
    rated = {record.system for record in records if record.metric.removeprefix("listening_") in GROUPS}
    pairs: dict[tuple[str, str, str], Pair] = {}
    simulated = False
    for record in records:
        if record.metric != "listening_difference" or not {record.system, record.params["versus"]} <= rated:
            continue
        group, system, versus = record.params["group"], record.system, record.params["versus"]
        p_value, p_holm = float(record.notes["p_value"]), float(record.notes["p_holm"])
        alpha = float(record.notes.get("alpha", ALPHA))
        pairs[group, system, versus] = Pair(record.value, p_value, p_holm, alpha)
        pairs[group, versus, system] = Pair(-record.value, p_value, p_holm, alpha)
        simulated |= "listeners" in record.notes
    tested = {system for _, system, _ in pairs}
    order = [ORIGINAL, *dict.fromkeys(record.system for record in records if record.system != ORIGINAL)]
    return Significance([name for name in order if name in tested], pairs, simulated) if pairs else None


def show_p(p: float, much_less: str = "≪") -> str:
    """A p value as the supplement prints it.

    >>> [show_p(p, "<<") for p in (0.66, 0.027, 0.0057, 0.00001)]
    ['0.660', '0.027', '0.0057', '<<0.01']
    """
    if p < _TINY:
        return f"{much_less}0.01"
    return f"{p:.4f}" if p < 0.01 else f"{p:.3f}"
