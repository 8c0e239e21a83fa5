"""What an edition of the challenge consists of, and the editions that there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.lazy import modules_of
from vpeval.records.record import Record


@dataclass(frozen=True)
class Topic:
    """A point of the system description; `words` is a pattern that a text without the form must contain."""

    title: str
    words: str = ""


TEAM = Topic("Team, members, affiliation, contact", r"team|author|affiliat|contact")
METHOD = Topic("Anonymisation method, step by step", r"method|anonymi[sz]|approach|system")
TRAINING = Topic(
    "Training data and pretrained models, with their sources",
    r"train\w*\W+(?:\w+\W+){0,3}?(?:data|set|corp|on)|pre-?trained|no training|not trained|untrained",
)
LEVEL = Topic(
    "Level of anonymisation (speaker or utterance) and how pseudo-speakers are chosen",
    r"(?:speaker|utterance)\W*level|pseudo\W*speaker|per (?:speaker|utterance)",
)
FORM = (
    *(TEAM, METHOD, TRAINING, LEVEL),
    Topic("Anything that differs between enrolment, trial and training data"),
    Topic("Computing time and hardware"),
    Topic("What was tuned on the development data"),
)
"""The points of the form for a system description."""


@dataclass(frozen=True)
class ResultFile:
    """A result file of an edition.

    `is_own` decides by its first line whether a file is of this format. `read` takes a path and the name of the
    anonymised system. `published` is a pattern of how names of published copies begin. `attacks` are the attackers and
    conditions that the file shows under the names of the challenge; without them it shows one attacker.
    """

    name: str
    is_own: Callable[[str], bool]
    read: Callable[[Path, str], list[Record]]
    render: Callable[[Sequence[Record]], str]
    published: str
    attacks: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Rules:
    """How an edition ranks: classes of a minimum EER, the utility inside them, and the least pitch correlation."""

    edition: str
    classes: tuple[float, ...]
    utility: tuple[str, ...]
    pitch: float = 0.0


@dataclass(frozen=True)
class Edition:
    """An edition of the challenge; `eer` is the metric that it calls EER, `text_rules` names a text normaliser."""

    name: str
    eer: str
    text_rules: str
    files: tuple[ResultFile, ...]
    rules: Rules | None = None
    ranks_trained: bool = True
    """Whether the attacker that was trained on anonymised speech counts, or the one trained on original speech."""
    requires_uar: bool = False
    """Whether emotions must be recognised where the data have labels."""
    topics: tuple[Topic, ...] = (TEAM, METHOD, TRAINING, LEVEL)
    """What the description of a system must mention."""
    least_bytes: Mapping[str, int] = field(default_factory=dict)
    """Of the audio of a set in a submission."""

    @property
    def file_names(self) -> tuple[str, ...]:
        """The names of its result files."""
        return tuple(file.name for file in self.files)

    @property
    def makers(self) -> tuple[Callable[..., object], ...]:
        """The functions that write its result files (`vpeval.jobs.code`)."""
        return tuple(file.render for file in self.files)

    def file(self, name: str) -> ResultFile:
        """One of its result files."""
        found = {file.name: file for file in self.files}
        if name not in found:
            raise InputError(f"edition {self.name} has no result file '{name}'; it has {', '.join(found)}")
        return found[name]


@cache
def editions() -> Mapping[str, Edition]:
    """All editions by name, the oldest first."""
    found = [module.EDITION for module in modules_of("vpeval.editions") if hasattr(module, "EDITION")]
    return {edition.name: edition for edition in sorted(found, key=lambda edition: edition.name)}


def edition_of(name: str) -> Edition:
    """The edition of a name."""
    if name not in editions():
        raise InputError(f"no edition '{name}' of the challenge; there are {', '.join(editions())}")
    return editions()[name]


def rules_for(name: str) -> Rules:
    """The rules that rank the systems of an edition: its own, or those of the last edition that has any."""
    return edition_of(name).rules or [edition.rules for edition in editions().values() if edition.rules][-1]
