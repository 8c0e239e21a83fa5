"""Attributes of speakers: the tables ``spk2<attribute>`` of data directories, as classes and as groups.

An attribute whose values are all numbers is a quantity (age), any other one a category (gender, accent). ``unknown``
stands for a value that is not known. Slashes separate the parts of a category, the coarsest first
(``Scotland/Edinburgh``).
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from os import PathLike
from pathlib import Path

import numpy as np

from vpeval.core.errors import InputError
from vpeval.core.files import read_table
from vpeval.data import layout

OTHER = "other"
"""The class of all values that too few speakers have to learn anything about each."""

FEWEST = 3
"""Speakers that a class needs: with one held out to test on and one to calibrate with, one is left to learn from."""

QUANTITY_CLASSES = 3


@dataclass(frozen=True)
class Attribute:
    """Values of the speakers for whom they are known."""

    name: str
    values: Mapping[str, str]

    @property
    def is_quantity(self) -> bool:
        """Whether its values are numbers."""
        return bool(self.values) and all(layout.is_number(value) for value in self.values.values())

    @cached_property
    def numbers(self) -> dict[str, float]:
        """The values of a quantity."""
        return {spk: float(value) for spk, value in self.values.items()}

    def for_speakers(self, speakers: Sequence[str]) -> Attribute:
        """The same attribute of some speakers."""
        return Attribute(self.name, {spk: self.values[spk] for spk in speakers if spk in self.values})

    @property
    def classes(self) -> dict[str, str]:
        """The class of every speaker: a value, rare ones joined, or a third of a quantity.

        Speakers of rare values are left out where there are too few even together.
        """
        named = self.groups(QUANTITY_CLASSES) if self.is_quantity else dict(self.values)
        sizes = Counter(named.values())
        joined = {spk: name if sizes[name] >= FEWEST else OTHER for spk, name in named.items()}
        sizes = Counter(joined.values())
        return {spk: name for spk, name in joined.items() if sizes[name] >= FEWEST}

    def groups(self, count: int) -> dict[str, str]:
        """A quantity in `count` groups of about the same size, or fewer where many share a value; equals together."""
        values, sizes = np.unique(list(self.numbers.values()), return_counts=True)
        middle = np.cumsum(sizes) - sizes / 2
        place = dict(zip(values.tolist(), np.floor(count * middle / sizes.sum()).astype(int).tolist(), strict=True))
        ends: dict[int, list[float]] = {}
        for value, group in place.items():
            ends.setdefault(group, []).append(value)
        names = {group: "–".join(dict.fromkeys((f"{v[0]:g}", f"{v[-1]:g}"))) for group, v in ends.items()}
        return {spk: names[place[value]] for spk, value in self.numbers.items()}

    @property
    def resolutions(self) -> list[dict[str, str]]:
        """Groups of speakers from coarse to fine, each finer than the one before.

        A quantity is halved again and again, down to its values; of a category the parts before a slash are coarser.
        """
        found: list[dict[str, str]] = []
        if self.is_quantity:
            distinct, count = len(set(self.numbers.values())), 2
            while count < distinct:
                found.append(self.groups(count))
                count *= 2
            found.append({spk: f"{value:g}" for spk, value in self.numbers.items()})
        else:
            depth = max((value.count("/") for value in self.values.values()), default=0) + 1
            for level in range(1, depth + 1):
                found.append({spk: "/".join(value.split("/")[:level]) for spk, value in self.values.items()})
        sizes = [len(set(groups.values())) for groups in found]
        return [groups for groups, size, before in zip(found, sizes, [0, *sizes], strict=False) if size > before]


def read_attribute(path: str | PathLike[str]) -> Attribute:
    """The attribute of a table ``<speaker> <value>``, called as the file is, less ``spk2``."""
    known = {spk: value for spk, value in read_table(path).items() if value != layout.UNKNOWN}
    return Attribute(Path(path).name.removeprefix("spk2"), known)


def read_attributes(directories: Sequence[Path]) -> list[Attribute]:
    """The attributes that all of the data directories have, in the order of names; a speaker has one value of each."""
    return read_tables(shared_tables(directories))


def shared_tables(directories: Sequence[Path]) -> list[Path]:
    """The tables of attributes that all of the data directories have, in the order of names."""
    names = [{name for name in layout.present(directory) if layout.is_attribute(name)} for directory in directories]
    shared = set.intersection(*names) if names else set()
    if some := sorted(set().union(*names) - shared):
        _log_left_out(layout.first_few(some))
    return [directory / name for name in sorted(shared) for directory in dict.fromkeys(directories)]


def read_tables(paths: Iterable[str | PathLike[str]]) -> list[Attribute]:
    """The attributes of tables; those of the same name hold the same attribute of several sets."""
    found: dict[str, dict[str, str]] = {}
    for path in paths:
        table = read_attribute(path)
        values = found.setdefault(table.name, {})
        for spk, value in table.values.items():
            if values.setdefault(spk, value) != value:
                message = f"speaker '{spk}' is '{value}' here, but '{values[spk]}' in another set; correct one"
                raise InputError(message, path)
    return [Attribute(name, values) for name, values in found.items()]


@cache
def _log_left_out(names: str) -> None:
    """Once, however many results are made from these directories."""
    logging.info("not in all data directories, and left out: %s", names)


def combined(classes: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The combination of the classes of several attributes, of every speaker of whom all are known."""
    speakers = set.intersection(*(set(of_one) for of_one in classes))
    return {spk: " ".join(of_one[spk] for of_one in classes) for spk in sorted(speakers)}
