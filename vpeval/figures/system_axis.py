"""Systems on the x axis: their names without collisions, their order, and what a reader must know to compare them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes

from vpeval.data.layout import first_few
from vpeval.figures.drawing import model_rank
from vpeval.figures.run_results import Entry, Results
from vpeval.records.names import GENDERS, LAZY, ORIGINAL, OTHER_DATA, UNPROTECTED, set_title
from vpeval.results.origins import DAGGER, DOUBLE_DAGGER

TICK_SIZE = 8.0  # points
LETTER = 0.068  # the mean width of a letter of this size, in inches
_LONGEST = 22  # letters of a name


def short_names(systems: Iterable[str]) -> dict[str, str]:
    """Names that fit on an axis: long ones lose their middle, unless two would look the same.

    >>> short_names(["mcadams", "an_anonymiser_with_a_very_long_name"])
    {'mcadams': 'mcadams', 'an_anonymiser_with_a_very_long_name': 'an_anonymiser…ong_name'}
    """
    short = {name: name if len(name) <= _LONGEST else f"{name[: _LONGEST - 9]}…{name[-8:]}" for name in systems}
    shown = list(short.values())
    return {name: text if shown.count(text) == 1 else name for name, text in short.items()}


def name_texts(systems: Iterable[str], marks: Mapping[str, str]) -> dict[str, str]:
    """Short names, with the marks of published systems and those on other data that stand beside different ones."""
    systems = list(systems)
    differ = len({marks.get(name, "") for name in systems if name != ORIGINAL}) > 1
    return {name: text + marks.get(name, "") * differ for name, text in short_names(systems).items()}


def mark_notes(systems: Iterable[str], marks: Mapping[str, str]) -> list[str]:
    """What the marks of some systems mean."""
    signs = {marks.get(name, "") for name in systems if name != ORIGINAL}
    if len(signs) == 1 and DAGGER in signs:
        return ["All numbers as published, without intervals."]
    words = {DAGGER: "As published, without interval", DOUBLE_DAGGER: "On other data"}
    return [f"{sign} {text}." for sign, text in words.items() if any(sign in one for one in signs)]


@dataclass(frozen=True)
class Names:
    """The names of systems on an axis, and their colours."""

    texts: Mapping[str, str]
    colours: Mapping[str, str]

    @classmethod
    def of(cls, results: Results, systems: Sequence[str]) -> Names:
        """The names of some systems."""
        texts = name_texts(systems, results.marks)
        return cls(texts, {name: results.name_colour(name) for name in systems})

    @property
    def longest(self) -> int:
        """The length of the longest name."""
        return max(map(len, self.texts.values()))

    def angle(self, room: float) -> int:
        """The angle at which names fit that are `room` inches apart."""
        if LETTER * self.longest + 0.06 <= room:
            return 0
        return 45 if room * 72 >= 14 and self.longest <= 16 else 90

    def height(self, angle: int) -> float:
        """The height of the names in inches."""
        return 0.15 + LETTER * self.longest * math.sin(math.radians(angle))

    def draw(self, axis: Axes, systems: Sequence[str], places: Sequence[float], angle: int) -> None:
        """Write the names of the systems below an axis."""
        align: dict[str, Any] = {
            "rotation": angle,
            "rotation_mode": "anchor",
            "ha": "right",
            "va": "center" if angle == 90 else "top",
        }
        axis.set_xticks(places, [self.texts[name] for name in systems], **(align if angle else {}))
        for label, name in zip(axis.get_xticklabels(), systems, strict=True):
            label.set_color(self.colours[name])


@dataclass(frozen=True)
class Order:
    """Systems from left to right: original speech, then by the values of one gender and attack model."""

    entries: Sequence[Entry]
    systems: Sequence[str]
    gender: str
    attack_model: str

    def of_set(self, title: str = "") -> list[str]:
        """The order of the systems that have sets with a title, or of all by the mean of their sets."""
        own = [e for e in self.entries if title in ("", set_title(e.record.set, gender=False))]
        present = {entry.record.system for entry in own}
        values: dict[str, list[float]] = {}
        for entry in own:
            if (entry.record.gender, entry.attack_model) == (self.gender, self.attack_model):
                values.setdefault(entry.record.system, []).append(entry.record.value)
        # Systems on other data come last, and of the others those without a value, in the order of the runs.
        others = {entry.record.system for entry in own if OTHER_DATA in entry.record.notes}
        key = {n: (n != ORIGINAL, n in others, fmean(values.get(n, [math.inf]))) for n in present}
        return sorted((name for name in self.systems if name in present), key=lambda name: key[name])

    @property
    def words(self) -> str:
        """A sentence about the order; none is needed for one system."""
        if len(set(self.systems) - {ORIGINAL}) < 2:
            return ""
        what = ", ".join(filter(None, (f"{GENDERS[self.gender]} speakers" * bool(self.gender), self.attack_model)))
        return f"Systems are in the order of their values{f' for {what}' if what else ''}."


def order_of(results: Results, entries: Sequence[Entry], gender: str, attack_model: str = "") -> Order:
    """The order by the values of a gender, if sets have one, and of an attack model.

    This is the lazy-informed one, as in the supplement, or else the strongest that was made on all systems.
    """
    systems = [name for name in results.systems if any(e.record.system == name for e in entries)]
    genders = {entry.record.gender for entry in entries}
    made: dict[str, set[str]] = {}
    for entry in entries:
        made.setdefault(entry.attack_model, set()).add(entry.record.system)
    common = [model for model in sorted(made, key=model_rank) if made[model] >= set(systems) - {ORIGINAL}]
    most = max(made, key=lambda model: (len(made[model]), model_rank(model)))
    model = attack_model or (LAZY if LAZY in common else [most, *common][-1])
    return Order(entries, systems, gender if gender in genders else min(genders), model)


def attacker_notes(results: Results, entries: Sequence[Entry]) -> list[str]:
    """Which attackers (or encoders) were used where they are not the same for all systems, and what is published.

    `entries` are those of all attackers.
    """
    notes = []
    attackers: dict[str, dict[str, set[str]]] = {}
    for entry in entries:
        if entry.attack_model != UNPROTECTED:
            own = attackers.setdefault(entry.attack_model, {})
            own.setdefault(entry.record.system, set()).add(entry.record.attacker)
    for model in sorted(attackers, key=model_rank):
        by_system = attackers[model]
        if len(set(map(frozenset, by_system.values()))) > 1:
            parts = [
                f"{name or 'unknown'} ({first_few([s for s in by_system if name in by_system[s]], 4)})"
                for name in sorted(set().union(*by_system.values()))
            ]
            notes.append(f"{f'Attackers differ, {model}' if model else 'Encoders differ'}: {', '.join(parts)}.")
    systems = dict.fromkeys(entry.record.system for entry in entries)
    return [*notes, *mark_notes(systems, results.marks), results.family_words]
