"""What all measures share: their description, their options, and how results are written."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from vpeval.core.errors import InputError
from vpeval.core.files import read_rows, read_table, to_number, write_text
from vpeval.metrics.intervals import RESAMPLES
from vpeval.records.record import RECORDS as RECORDS
from vpeval.records.record import Record, write_records

if TYPE_CHECKING:
    from vpeval.measures.disclosure import RankedInputs
    from vpeval.plan.plan import Attack, Plan


def option(
    default: Any,
    help: str,
    metavar: str | None = None,
    parse: Callable[[str], Any] | None = None,
    choices: Sequence[str] | None = None,
    flag: str = "",
    least: int = 0,
) -> Any:
    """A field of an options dataclass: its default, and how a scorer names it on the command line.

    A whole number must be at least `least`.
    """
    shown = {"help": help, "metavar": metavar, "choices": choices}
    return field(default=default, metadata={"shown": shown, "parse": parse, "flag": flag, "least": least})


@dataclass(frozen=True)
class Resampling:
    """The options of every measure: how intervals are made."""

    resamples: int = option(RESAMPLES, f"resamples; 0: no intervals ({RESAMPLES})", "N", flag="--bootstrap")
    seed: int = option(0, "seed of everything random (0)", parse=int)


@dataclass(frozen=True)
class Input:
    """A file or directory that a scorer reads: positional, or an option where its name begins with dashes."""

    name: str
    help: str = ""
    metavar: str | None = None
    repeated: bool = False
    choices: Sequence[str] | None = None
    default: Any = None

    @property
    def field(self) -> str:
        """Its name among the parsed arguments."""
        return self.name.lstrip("-").replace("-", "_").replace(",...", "")


@dataclass(frozen=True)
class Scorer:
    """A measure by itself, as `local/score_*.py` call it: inputs and options in, records out.

    `score` takes the inputs and the tags by name, the options, and the path of the records, where its side files go.
    """

    inputs: tuple[Input, ...]
    options: type[Resampling]
    score: Callable[[Mapping[str, Any], Any, Path], Scores]
    takes_params: bool = False


@dataclass(frozen=True)
class Measure:
    """A measure in a recipe: its stage, and the results that a plan asks for, in the order in which they are made.

    `place` orders the measures of a stage.
    """

    name: str
    stage: int
    results: Callable[[Plan], Sequence[Result]]
    place: int = 0


@dataclass(frozen=True)
class Result(ABC):
    """One result of a measure in a run: a directory with records and side files.

    A result depends on its inputs, its options and tags, and the module of its class with everything that it imports.
    """

    plan: Plan
    stage: ClassVar[int]
    files: ClassVar[tuple[str, ...]] = (RECORDS,)
    """Files of its directory that must be there."""

    @property
    @abstractmethod
    def out(self) -> Path:
        """Its directory."""

    @property
    @abstractmethod
    def inputs(self) -> tuple[Path, ...]:
        """What it is made from."""

    @property
    @abstractmethod
    def tags(self) -> dict[str, str]:
        """What its records are about."""

    @property
    def options(self) -> Mapping[str, object]:
        """What else decides it."""
        return {}

    @property
    def notes(self) -> dict[str, str]:
        """What its records say about how they were made."""
        return {}

    @abstractmethod
    def make(self, out: Path) -> str:
        """Make it in directory `out`; return a few words about what came out."""

    @abstractmethod
    def commands(self) -> list[list[str]]:
        """The commands that make it by hand."""

    @property
    def resampling(self) -> Resampling:
        """How its intervals are made."""
        settings = self.plan.settings
        return Resampling(settings.bootstrap, settings.seed)

    def tag_words(self) -> list[str]:
        """The options of a scorer for its tags, seed and resamples."""
        drawn = self.resampling
        words = [word for name, value in self.tags.items() if value for word in ("--tag", f"{name}={value}")]
        words += ["--seed", str(drawn.seed)] if drawn.seed else []
        return words + (["--bootstrap", str(drawn.resamples)] if drawn.resamples != RESAMPLES else [])

    def param_words(self) -> list[str]:
        """The options of a scorer for its notes."""
        return [word for name, value in self.notes.items() for word in ("--param", f"{name}={value}")]


@dataclass(frozen=True)
class AttackResult(Result):
    """A result of one attack on all speakers of a recipe."""

    attack: Attack

    @property
    def tags(self) -> dict[str, str]:
        """Of all sets of the recipe together."""
        recipe = self.plan.recipe.recipe
        return {"recipe": recipe, "set": f"{recipe}_all", **self.attack.tags}

    @property
    def notes(self) -> dict[str, str]:
        """The names of the attack, and what its scores are."""
        return self.attack.notes

    def directory(self, measure: str) -> Path:
        """Where the results of a measure under this attack are."""
        return self.attack.run / f"{measure}_{self.attack.attacker.name}-{self.attack.condition}"


class SpeakerValue(NamedTuple):
    """One value of one speaker.

    `draws` are the values of the single random draws, where there are several. `extreme` is the list that the speaker
    is on, ``easy`` or ``hard`` to attack.
    """

    metric: str
    speaker: str
    N: int
    L: str
    value: float
    draws: tuple[float, ...] = ()
    extreme: str = ""

    @property
    def score(self) -> float:
        """The mean of the draws, or the value."""
        return fmean(self.draws) if self.draws else self.value


_OLDER = ["metric", "speaker", "N", "L", "value"]
_COLUMNS = [*_OLDER, "draws", "list"]
_NONE = "-"


@dataclass(frozen=True)
class Scores:
    """What a measure found: records, and side files that they name.

    Values of single speakers go to ``<stem>.speakers.tsv``: one row per metric, speaker, N and L (a number of
    utterances or ``all``), below a line that names the columns. Values of draws share a row, separated by commas.
    """

    records: list[Record]
    per_speaker: list[SpeakerValue] | None = None
    ranks: Sequence[float] = ()
    inputs: RankedInputs | None = None
    lines: tuple[str, ...] = ()
    """What a scorer prints before the table of records."""
    tables: Mapping[str, list[Record]] = field(default_factory=dict)
    """Further files of records, by path."""

    def write(
        self,
        out: str | PathLike[str],
        tags: Mapping[str, str],
        params: Mapping[str, str] | None = None,
        notes: Mapping[str, str] | None = None,
    ) -> None:
        """Write the records to `out` and the side files next to it."""
        path, files = Path(out), {}
        if self.per_speaker is not None:
            table = path.with_name(f"{path.stem}.speakers.tsv")
            write_speaker_values(table, self.per_speaker)
            files["per_speaker"] = table.name
        if self.ranks:
            histogram = path.with_suffix(".ranks.json")
            write_text(histogram, json.dumps({"ranks": list(self.ranks)}) + "\n")
            files["ranks"] = histogram.name
        if self.inputs:
            ranked = path.with_suffix(".inputs.npz")
            self.inputs.write(ranked)
            files["inputs"] = ranked.name
        for name, records in self.tables.items():
            write_records(name, [record.with_params(params or {}).tagged(tags) for record in records])
        write_records(out, [_complete(record, tags, params or {}, notes or {}, files) for record in self.records])


def _complete(
    record: Record,
    tags: Mapping[str, str],
    params: Mapping[str, str],
    notes: Mapping[str, str],
    files: Mapping[str, str],
) -> Record:
    record = record.with_params(params).with_notes(notes)
    record = record.with_files(files) if files else record
    return record.tagged({**tags, **({"gender": record.gender} if record.gender else {})})


def write_speaker_values(path: str | PathLike[str], values: Iterable[SpeakerValue]) -> None:
    """Write the values in the order given, atomically."""
    rows = ["\t".join(_COLUMNS)]
    for metric, speaker, n, n_utts, value, draws, extreme in values:
        several = ",".join(map("{:g}".format, draws)) or _NONE
        rows.append(f"{metric}\t{speaker}\t{n}\t{n_utts}\t{value}\t{several}\t{extreme or _NONE}")
    write_text(path, "\n".join([*rows, ""]))


def read_speaker_values(path: str | PathLike[str]) -> list[SpeakerValue]:
    """Read the values, also of older tables without draws; a line that does not parse is an error with its number."""
    first = _first_line(path)
    if first not in (_OLDER, _COLUMNS):
        raise InputError(f"the first line must be {' '.join(_COLUMNS)}; is this a .speakers.tsv file?", path, 1)
    values = []
    for line, (metric, speaker, n, n_utts, value, *more) in list(read_rows(path, *first))[1:]:
        several, extreme = ("" if word == _NONE else word for word in more or (_NONE, _NONE))
        try:
            draws = tuple(map(to_number, several.split(","))) if several else ()
            found = SpeakerValue(metric, speaker, int(to_number(n)), n_utts, to_number(value), draws, extreme)
        except ValueError:
            what = f"N '{n}' and value '{value}'" + (f" and draws '{several}'" if several else "")
            raise InputError(f"{what} must be numbers", path, line) from None
        values.append(found)
    return values


def _first_line(path: str | PathLike[str]) -> list[str]:
    """The fields of the first line, without reading more."""
    try:
        with open(path, "rb") as file:
            return file.readline().decode("utf-8", "replace").split()
    except FileNotFoundError:
        raise InputError("no such file", path) from None


def split_paths(names: str) -> list[Path]:
    """One path, or several that are separated by commas."""
    return [Path(names)] if Path(names).exists() else [Path(name) for name in names.split(",")]


def gender_of(data: Path) -> str:
    """The gender of a set, where all of its speakers share one."""
    path = data / "spk2gender"
    genders = set(read_table(path, "gender").values()) if path.is_file() else set()
    return genders.pop() if len(genders) == 1 else ""
