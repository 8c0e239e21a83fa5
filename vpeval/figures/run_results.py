"""The records of run directories, with their side files and training logs: the data of figures and reports."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vpeval.asv.attackers import read_attacker
from vpeval.asv.epochs import read_epochs
from vpeval.core.errors import InputError
from vpeval.core.places import CONF
from vpeval.data.trials import read_scores, read_trials
from vpeval.figures.drawing import Style, family_words, model_colour, model_rank, name_colour, system_styles
from vpeval.measures.base import SpeakerValue, read_speaker_values
from vpeval.metrics.scores import PooledScores, pool
from vpeval.networks.configs import config_names
from vpeval.records import side_files
from vpeval.records.metrics import describe
from vpeval.records.names import ORIGINAL, PUBLISHED, attack_model
from vpeval.records.record import Record
from vpeval.results.load import Source, read_all
from vpeval.results.origins import is_average, mark, without_foreign_original

Floats = NDArray[np.float64]


class Series(NamedTuple):
    """What a curve or a bar shows."""

    system: str
    attack_model: str
    attacker: str


@dataclass(frozen=True)
class Entry:
    """A record, the directory of its table, and its attack model."""

    record: Record
    directory: Path
    attack_model: str

    @property
    def series(self) -> Series:
        """The curve or bar that shows this record."""
        return Series(self.record.system, self.attack_model, self.record.attacker)

    def file(self, what: str) -> Path | None:
        """A side file of the record, or None."""
        name = self.record.files.get(what)
        return self.directory / name if name else None


@dataclass(frozen=True)
class Results:
    """All records of some tables. `data` holds the data directories with trials and audio."""

    entries: Sequence[Entry]
    tables: Sequence[Path]
    data: Path
    training: dict[str, list[dict[str, float]]] = field(default_factory=dict)
    utts: tuple[int | str, ...] = ()
    """The numbers L of utterances that figures of the legal metrics show; none: those of the paper."""

    @cached_property
    def records(self) -> list[Record]:
        """All records; those of attacks have the attack model among their notes."""
        return [
            e.record.with_notes({"attack_model": e.attack_model}) if e.attack_model else e.record for e in self.entries
        ]

    @cached_property
    def systems(self) -> list[str]:
        """Original speech first, then the systems in the order of the runs."""
        names = dict.fromkeys(entry.record.system for entry in self.entries)
        return [*([ORIGINAL] if ORIGINAL in names else []), *(name for name in names if name != ORIGINAL)]

    @cached_property
    def anonymised(self) -> list[str]:
        """The systems without original speech."""
        return [name for name in self.systems if name != ORIGINAL]

    def of_set(self, name: str) -> Results:
        """The records of one set."""
        return replace(self, entries=[entry for entry in self.entries if entry.record.set == name])

    @cached_property
    def dsys(self) -> str:
        """The estimator of D_sys to show: the unbiased one, if no system has the other one alone."""
        unbiased, other = ({e.record.system for e in self.select(name)} for name in ("dsys_calibrated", "dsys"))
        return "dsys_calibrated" if unbiased and unbiased >= other else "dsys"

    def select(self, *metrics: str, **params: Any) -> list[Entry]:
        """The entries of some metrics with the given parameters; by series, then in the order of the files."""
        found = [
            entry
            for entry in self.entries
            if entry.record.metric in metrics
            and all(entry.record.params.get(name) == value for name, value in params.items())
        ]
        return sorted(found, key=lambda entry: self._rank(entry.series))

    def series(self, entries: Iterable[Entry]) -> list[Series]:
        """The series of some entries: original speech first, then by system, from weak to strong attackers."""
        return sorted({entry.series for entry in entries}, key=self._rank)

    def strongest(self, entries: Sequence[Entry]) -> list[Entry]:
        """Of the attackers with the same attack model, the entries of the strongest one on the mean of the sets.

        The entries are of one metric. Attackers with the same attack model have the same colour.
        """
        values: dict[Series, list[float]] = {}
        for entry in entries:
            values.setdefault(entry.series, []).append(-describe(entry.record.metric).better * entry.record.value)
        best: dict[tuple[str, str], Series] = {}
        for series in self.series(entries):
            key = series.system, series.attack_model
            if fmean(values[series]) > fmean(values[best.setdefault(key, series)]):
                best[key] = series
        return [entry for entry in entries if entry.series in best.values()]

    def colour(self, series: Series) -> str:
        """The colour of a series in every figure: that of its attack model."""
        return model_colour(series.attack_model)

    @cached_property
    def styles(self) -> dict[str, Style]:
        """How points of the systems look where points are systems."""
        return system_styles(self.systems, next(iter(self._recipes.values()), ""))

    def name_colour(self, system: str) -> str:
        """The colour of the name of a system."""
        return name_colour(system, self._recipes.get(system, ""))

    @property
    def family_words(self) -> str:
        """A sentence about the colours of the names of published systems."""
        recipes = sorted(set(self._recipes.values()))
        return " ".join(filter(None, (family_words(self._recipes, recipe) for recipe in recipes)))

    @cached_property
    def published(self) -> frozenset[str]:
        """The systems whose numbers somebody published; they have no intervals."""
        return frozenset(self.systems) - {e.record.system for e in self.entries if PUBLISHED not in e.record.notes}

    @cached_property
    def marks(self) -> dict[str, str]:
        """The marks of systems that are published or on other data."""
        found: dict[str, str] = {}
        for entry in self.entries:
            if sign := mark(entry.record):
                found[entry.record.system] = max(found.get(entry.record.system, ""), sign, key=len)
        return found

    @cached_property
    def _recipes(self) -> dict[str, str]:
        return {entry.record.system: entry.record.recipe for entry in self.entries}

    def _rank(self, series: Series) -> tuple[int, int, str]:
        return self.systems.index(series.system), model_rank(series.attack_model), series.attacker


def length_order(length: int | str) -> tuple[bool, int]:
    """Numbers of utterances in order, ``all`` last."""
    return (True, 0) if length == "all" else (False, int(length))


def length_title(length: int | str) -> str:
    """The title of a panel for a number of utterances."""
    return "all utterances" if length == "all" else f"L = {length}"


def _find_tables(places: Sequence[Source | Path]) -> list[Source]:
    """The results.jsonl of run directories; a place may also be a table, a result file or published tables."""
    sources = [place if isinstance(place, Source) else Source(place) for place in places]
    tables = [replace(s, path=s.path / "results.jsonl") if s.path.is_dir() else s for s in sources]
    for table in tables:
        if not table.path.is_file():
            raise InputError("no such table of results; run the stage that collects them", table.path)
    return tables


def load_results(
    places: Sequence[Source | Path],
    data: Path = Path("data"),
    training: Mapping[str, Path] | None = None,
    attackers: Path = CONF / "asv",
) -> Results:
    """Read run directories and all files that `vpeval.results.load` reads, each number once, and training logs by name.

    `attackers` holds the configurations of the attackers, with their training data.
    """
    tables = _find_tables(places)
    known = {name: read_attacker(attackers / f"{name}.yaml") for name in config_names(attackers)}
    entries: dict[str, Entry] = {}
    for record, path in read_all(tables):
        attack = attack_model(record, known.get(record.attacker))
        first = entries.setdefault(record.identity, Entry(record, path.parent, attack)).record
        if first.value != record.value and record.system != ORIGINAL:
            where = " ".join(filter(None, (record.system, record.set, record.condition)))
            message = f"a second, different {record.metric} for {where}; give each run once, or name one NAME=PATH"
            raise InputError(message, path)
    if not entries:
        raise InputError("holds no records; run the scoring stages first", tables[0].path)
    logs = {name: read_epochs(path) for name, path in (training or {}).items()}
    return Results(list(entries.values()), [table.path for table in tables], data, logs)


def of_sets(results: Results) -> Results:
    """The results that figures show: without published averages, and with one original speech, that of the runs."""
    shown = {id(record) for record in without_foreign_original(entry.record for entry in results.entries)}
    kept = [e for e in results.entries if id(e.record) in shown and not is_average(e.record)]
    return replace(results, entries=kept)


def read_side_file(entry: Entry, what: str) -> dict[str, Any] | None:
    """A side file of a record, read as JSON, or None."""
    path = entry.file(what)
    return None if path is None else side_files.read_side_file(path, what)


def read_matrix(rows: list[list[float | None]]) -> Floats:
    """Read a matrix of a side file; null is NaN."""
    return np.array(rows, dtype=np.float64)


def speaker_values(entries: Iterable[Entry], metric: str) -> list[tuple[Entry, SpeakerValue]]:
    """The values of the single speakers for records of `metric`, each with an entry of its series."""
    files: dict[Path, Entry] = {}
    for entry in entries:
        if entry.record.metric == metric and (path := entry.file("per_speaker")):
            files.setdefault(path, entry)
    return [
        (entry, value) for path, entry in files.items() for value in read_speaker_values(path) if value.metric == metric
    ]


def read_pooled_scores(entry: Entry, data: Path) -> PooledScores | None:
    """The scores of a verification record with the labels of its trials, or None if a file is missing."""
    scores, name = entry.file("scores"), entry.record.set
    # An anonymised set may lack some of the trials.
    own = data / f"{name}_{entry.record.system}" / "trials"
    trials = own if own.is_file() else data / name / "trials"
    if scores is None or not scores.is_file() or not trials.is_file():
        return None
    labelled = read_trials(trials)
    values = read_scores(scores, labelled)
    return pool(values[labelled.is_target], values[~labelled.is_target])
