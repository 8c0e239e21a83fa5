"""What data directories hold: speakers, utterances, duration and trials, by gender."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from vpeval.data.directory import DataDir

GENDERS = ("f", "m", "")
"""Female and male speakers, and all of them."""
HEAD = ("set", "number", "female", "male", "total")


@dataclass(frozen=True)
class Counted:
    """A number of a set for female and male speakers, and for all."""

    title: str
    values: tuple[float, float, float]

    @property
    def cells(self) -> list[str]:
        """As it is shown: whole numbers, and hours with two digits."""
        whole = all(float(value).is_integer() for value in self.values)
        return [f"{value:,.0f}" if whole else f"{value:,.2f}" for value in self.values]


def count(data: DataDir) -> list[Counted]:
    """What a data directory holds; without spk2gender the numbers of genders are 0."""
    gender = data.spk2gender if "spk2gender" in data.spk_tables else {}

    def of(speakers: Iterable[str]) -> tuple[float, float, float]:
        own = [gender.get(speaker, "") for speaker in speakers]
        return float(own.count("f")), float(own.count("m")), float(len(own))

    found = [Counted("speakers", of(data.speakers)), Counted("utterances", of(data.utt2spk.values()))]
    hours = [sum(data.utt2dur[u] for u, spk in data.utt2spk.items() if not g or gender.get(spk) == g) for g in GENDERS]
    found.append(Counted("hours", tuple(seconds / 3600 for seconds in hours)))  # type: ignore[arg-type]
    for title, label in (("target trials", "target"), ("non-target trials", "nontarget")) if data.trials else ():
        found.append(Counted(title, of(data.utt2spk[utt] for _, utt, kind in data.trials or () if kind == label)))
    return found


def rows(sets: Sequence[DataDir]) -> list[list[str]]:
    """A row for every number of every set."""
    return [[data.name, one.title, *one.cells] for data in sets for one in count(data)]
