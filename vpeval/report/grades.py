"""Grades of protection: what the interval of a number supports, from the worst grade to the best that it leaves open.

A number has the grades of both ends of its interval and all between. One without an interval supports no grade: it
leaves all of them open. A number that is no better than that of original speech, which is hardly protected by it, is
"hardly" at best, however wide its interval. The verdict on a system is the worst of its numbers: its worst grade is the
worst that any of them leaves open, its best one the least of the best. How many speakers would do is estimated by
intervals that shrink with the square root of the number of speakers, around the same values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from vpeval.metrics.strongest import moved_end

GRADES = (
    "does not protect the speakers",
    "hardly protects the speakers",
    "protects the speakers weakly",
    "protects the speakers in part",
    "protects the speakers well",
    "protects the speakers strongly",
)
WORDS = ("not at all", "hardly", "weakly", "in part", "well", "strongly")
"""The grades, from the worst to the best, as sentences about a system and as words about a number."""
_HARDLY = 1
_STEP = 1.05
_MOST_TIMES = 1000.0


@dataclass(frozen=True, order=True)
class Grades:
    """The grades that are not excluded, from the worst to the best."""

    worst: int
    best: int

    @property
    def one(self) -> int | None:
        """The grade, if there is one only."""
        return self.worst if self.worst == self.best else None

    @property
    def words(self) -> str:
        """The grades in words, the worst one first.

        >>> Grades(1, 1).words, Grades(1, 2).words, Grades(2, 5).words
        ('hardly', 'hardly or weakly', 'between weakly and strongly')
        """
        worst, best = WORDS[self.worst], WORDS[self.best]
        if self.one is not None:
            return worst
        return f"{worst} or {best}" if self.best - self.worst == 1 else f"between {worst} and {best}"

    @property
    def sentence(self) -> str:
        """What they say about a system.

        >>> Grades(1, 1).sentence, Grades(0, 2).sentence
        ('hardly protects the speakers', 'protects the speakers between not at all and weakly')
        """
        return GRADES[self.worst] if self.one is not None else f"protects the speakers {self.words}"

    def at_best(self, grade: int) -> Grades:
        """The same, but no grade is better than this one."""
        return Grades(min(self.worst, grade), min(self.best, grade))


ALL = Grades(0, len(GRADES) - 1)


@dataclass(frozen=True)
class GradedNumber:
    """A rate with its interval, and the limits from grade to grade: rising ones (EERs), or falling ones (shares).

    `original` is the rate of original speech, if it is known.
    """

    value: float
    lower: float | None
    upper: float | None
    limits: tuple[float, ...]
    original: float | None = None

    @property
    def rises(self) -> bool:
        """Whether a greater number is better."""
        return self.limits[0] < self.limits[-1]

    def grades(self, times: float = 1.0) -> Grades:
        """The grades that are left open; with `times` as many speakers, if these had the same value."""
        at_best = _HARDLY if self.as_original else ALL.best
        if self.lower is None or self.upper is None:
            return ALL.at_best(at_best)
        found = sorted(self._grade(moved_end(self.value, end, times**-0.5)) for end in (self.lower, self.upper))
        return Grades(found[0], found[1]).at_best(at_best)

    @property
    def as_original(self) -> bool:
        """Whether nothing is gained over original speech that is hardly protected."""
        if self.original is None or self._grade(self.original) > _HARDLY:
            return False
        return self.value <= self.original if self.rises else self.value >= self.original

    def _grade(self, rate: float) -> int:
        return sum(rate >= limit if self.rises else rate <= limit for limit in self.limits)

    def shown_limits(self) -> str:
        """The numbers of these grades in per cent.

        >>> GradedNumber(0.07, 0.06, 0.08, (0.05, 0.1)).shown_limits()
        '5 to 10 %'
        >>> GradedNumber(0.07, 0.02, 0.08, (0.05, 0.1)).shown_limits()
        'below 10 %'
        >>> GradedNumber(0.6, 0.4, 0.7, (0.904, 0.506)).shown_limits()
        '90.4 % or less'
        """
        found, limits = self.grades(), [f"{100 * limit:.3g}" for limit in self.limits]
        if found == Grades(0, len(limits)):
            return "any"
        if found.worst == 0:
            return f"{'below' if self.rises else 'above'} {limits[found.best]} %"
        if found.best == len(limits):
            return f"{limits[found.worst - 1]} % or {'more' if self.rises else 'less'}"
        ends = limits[found.worst - 1], limits[found.best]
        return "{} to {} %".format(*(ends if self.rises else ends[::-1]))


def overall(numbers: Sequence[GradedNumber], times: float = 1.0) -> Grades:
    """The grades of a system by its worst number; with `times` as many speakers."""
    found = [number.grades(times) for number in numbers]
    return Grades(min(one.worst for one in found), min(one.best for one in found))


def times_as_many(numbers: Sequence[GradedNumber], at_best: int) -> float | None:
    """How many times as many speakers would tell one grade (`at_best` that one); None if far more are not enough."""
    times = 1.0
    while times <= _MOST_TIMES:
        if overall(numbers, times).at_best(at_best).one is not None:
            return times
        times *= _STEP
    return None
