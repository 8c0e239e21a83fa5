"""What an attacker of the legal metrics knows besides voices, and how large the crowd of a use case is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.data.attributes import Attribute, combined
from vpeval.metrics.vectors import Counts


@dataclass(frozen=True)
class Side:
    """Side information: the value of an attribute, at some resolution, of every speaker for whom it is known."""

    name: str
    values: Mapping[str, str]

    @property
    def groups(self) -> int:
        """How many values there are."""
        return len(set(self.values.values()))

    def of(self, speakers: Sequence[str]) -> Counts:
        """The groups of speakers, from 1; those of whom nothing is known are group 0."""
        number = {value: place for place, value in enumerate(sorted(set(self.values.values())), start=1)}
        return np.array([number.get(self.values.get(spk, ""), 0) for spk in speakers], np.int64)


@dataclass(frozen=True)
class UseCase:
    """Side information that attackers may have, and a number of speakers that may exceed those measured.

    With 0 the law that leads beyond them is only tried on them, with None it is not.
    """

    sides: tuple[Side, ...] = ()
    population: int | None = None


NOTHING_ELSE = UseCase()


def sides_of(attributes: Sequence[Attribute]) -> tuple[Side, ...]:
    """Every attribute at each of its resolutions, and all of them together as finely as they are known."""
    several = [(attribute.name, attribute.resolutions) for attribute in attributes]
    found = [Side(name, values) for name, resolutions in several for values in resolutions]
    finest = [(name, resolutions[-1]) for name, resolutions in several if resolutions]
    if len(finest) > 1:
        found.append(Side("+".join(name for name, _ in finest), combined([values for _, values in finest])))
    return tuple(found)


def candidates(groups: Counts, who: Counts, n: int) -> NDArray[np.float64]:
    """How many of `n` speakers, those of `who` among them, share the group of each, expected over the draw."""
    sizes = np.bincount(groups)[groups[who]]
    return 1 + (n - 1) * (sizes - 1) / max(1, len(groups) - 1)
