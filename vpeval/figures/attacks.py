"""How curves of attackers look: the attack model decides the colour, its place among those of this model the line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from matplotlib.lines import Line2D

from vpeval.figures.drawing import model_colour, model_rank
from vpeval.figures.run_results import Entry, Series
from vpeval.records.names import LEGAL_NAMES

_LINES = ("-", (0, (4, 1.5)), (0, (1, 1)), (0, (6, 1.5, 1, 1.5)), (0, (9, 2)), (0, (3, 1, 1, 1, 1, 1)))
_MARKS = ("o", "s", "^", "D", "v", "P", "X")


def model_title(attack_model: str) -> str:
    """An attack model by its names in the challenges and, where it is another one, in the legal framework.

    >>> model_title("semi-informed"), model_title("ignorant"), model_title("lazy-informed")
    ('semi-informed (Informed)', 'ignorant', 'lazy-informed')
    """
    other = LEGAL_NAMES.get(attack_model, attack_model)
    return attack_model if other.lower() == attack_model else f"{attack_model} ({other})"


@dataclass(frozen=True)
class Attacks:
    """The attackers of some entries by attack model, and how their curves look.

    With `both_names` attack models have their names in the challenges and in the legal framework.
    """

    entries: Sequence[Entry]
    both_names: bool = False

    @cached_property
    def names(self) -> list[tuple[str, str]]:
        """Attack models, from weak to strong, with their attackers."""
        found = {(entry.attack_model, entry.record.attacker) for entry in self.entries}
        return sorted(found, key=lambda name: (model_rank(name[0]), name))

    def style(self, series: Series) -> dict[str, Any]:
        """The look of a curve."""
        return {"color": model_colour(series.attack_model), "ls": _LINES[self._place(series) % len(_LINES)]}

    def marker(self, series: Series) -> str:
        """The look of a point on a curve."""
        return _MARKS[self._place(series) % len(_MARKS)]

    def title(self, series: Series) -> str:
        """The attack model, and the attacker where several have this model."""
        model = model_title(series.attack_model) if self.both_names else series.attack_model
        return ", ".join([model, *([series.attacker] if self.several(series) else [])])

    def several(self, series: Series) -> bool:
        """Whether several attackers have the attack model of this one."""
        return len(self._own(series)) > 1

    def handles(self, points: bool = False) -> list[Line2D]:
        """An entry of the legend for every attacker, with its marker if curves have `points`."""
        return [
            Line2D(
                [],
                [],
                lw=1.6,
                label=self.title(series),
                marker=self.marker(series) if points else "",
                **self.style(series),
            )
            for series in (Series("", *name) for name in self.names)
        ]

    def _own(self, series: Series) -> list[str]:
        return [attacker for model, attacker in self.names if model == series.attack_model]

    def _place(self, series: Series) -> int:
        return self._own(series).index(series.attacker)
