"""What the figures are drawn from: the records of run directories and the files that stand beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vpeval.asv.attackers import read_attacker
from vpeval.asv.epochs import read_epochs
from vpeval.core.errors import InputError
from vpeval.data.trials import read_scores, read_trials
from vpeval.figures.style import model_rank, shade, system_colours
from vpeval.metrics.scores import PooledScores, pool
from vpeval.protocols.speaker_values import SpeakerValue, read_speaker_values
from vpeval.records import side_files
from vpeval.records.attacks import attack_model
from vpeval.records.metrics import describe
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record, read_records

ROOT = Path(__file__).resolve().parents[2]
Floats = NDArray[np.float64]
Series = tuple[str, str, str]
"""System, attack model and attacker: what a curve or a bar stands for."""


@dataclass(frozen=True)
class Entry:
    """A record, the directory of the table that it was read from, and its attack model."""

    record: Record
    directory: Path
    model: str

    @property
    def series(self) -> Series:
        """What a curve or a bar of this record stands for."""
        return self.record.system, self.model, self.record.attacker

    def file(self, what: str) -> Path | None:
        """A side file that the record names; None where it names none."""
        name = self.record.files.get(what)
        return self.directory / name if name else None


@dataclass(frozen=True)
class Results:
    """All records of some tables; `data` holds the data directories, for trials and audio."""

    entries: Sequence[Entry]
    tables: Sequence[Path]
    data: Path
    training: dict[str, list[dict[str, float]]] = field(default_factory=dict)

    @cached_property
    def systems(self) -> list[str]:
        """The original data first, then the systems in the order of the runs."""
        names = dict.fromkeys(entry.record.system for entry in self.entries)
        return [*([ORIGINAL] if ORIGINAL in names else []), *(name for name in names if name != ORIGINAL)]

    @cached_property
    def dsys(self) -> str:
        """The estimator of D_sys that pages speak of: the one without bias, where it was measured."""
        return next((name for name in ("dsys_calibrated", "dsys") if self.of(name)), "dsys")

    def of(self, *metrics: str, **params: Any) -> list[Entry]:
        """Entries of the metrics whose parameters have the given values; by series, then in the order of the files."""
        found = [
            entry
            for entry in self.entries
            if entry.record.metric in metrics
            and all(entry.record.params.get(name) == value for name, value in params.items())
        ]
        return sorted(found, key=lambda entry: self._rank(entry.series))

    def series(self, entries: Iterable[Entry]) -> list[Series]:
        """The different series of the entries: original first, then by system, from the weak attacker to the strong."""
        return sorted({entry.series for entry in entries}, key=self._rank)

    def strongest(self, entries: Sequence[Entry]) -> list[Entry]:
        """Of attackers who share an attack model, the entries of the one who discloses most, on the mean of the sets.

        The entries are of one metric. Attackers of one model share a colour: several of them could not be told apart.
        """
        values: dict[Series, list[float]] = {}
        for entry in entries:
            values.setdefault(entry.series, []).append(-describe(entry.record.metric).better * entry.record.value)
        best: dict[tuple[str, str], Series] = {}
        for series in self.series(entries):
            before = best.setdefault(series[:2], series)
            if fmean(values[series]) > fmean(values[before]):
                best[series[:2]] = series
        return [entry for entry in entries if entry.series in best.values()]

    def colour(self, series: Series) -> str:
        """The colour of a series in every figure."""
        return shade(self._colours[series[0]], series[1])

    def title(self, series: Series) -> str:
        """The name of a series in legends: its system where there are several, and the attack."""
        system = series[0]
        if system == ORIGINAL:
            return ", ".join([ORIGINAL, *self.attack(series).split(", ")[1:]])
        several = len(set(self.systems) - {ORIGINAL}) > 1
        return ", ".join(filter(None, [system if several or not series[1] else "", self.attack(series)]))

    def attack(self, series: Series) -> str:
        """The attack model of a series, and the attacker where it has one and several share the model."""
        system, model, attacker = series
        several = len(self._attackers.get((system, model), ())) > 1
        return f"{model}, {attacker}" if attacker and several else model

    @cached_property
    def _attackers(self) -> dict[tuple[str, str], set[str]]:
        """Who attacks each system by each model; asked for every speaker of every figure."""
        found: dict[tuple[str, str], set[str]] = {}
        for entry in self.entries:
            if entry.model:
                found.setdefault((entry.record.system, entry.model), set()).add(entry.record.attacker)
        return found

    @cached_property
    def _colours(self) -> dict[str, str]:
        return system_colours(self.systems)

    def _rank(self, series: Series) -> tuple[int, int, str]:
        system, model, attacker = series
        return self.systems.index(system), model_rank(model), attacker


def _find_tables(places: Sequence[Path]) -> list[Path]:
    """The results.jsonl of run directories; a table may be named itself."""
    tables = [place / "results.jsonl" if place.is_dir() else place for place in places]
    for table in tables:
        if not table.is_file():
            raise InputError("no such table of results; run the stage that collects them", table)
    return tables


def load_results(
    places: Sequence[Path],
    data: Path = Path("data"),
    training: Mapping[str, Path] | None = None,
    attackers: Path = ROOT / "conf/asv",
) -> Results:
    """Read the tables of run directories, each number once, and training logs by the names of their attackers.

    `attackers` holds the configurations of attackers, which say what they were trained on.
    """
    tables = _find_tables(places)
    known = {path.stem: read_attacker(path) for path in attackers.glob("*.yaml")}
    entries: dict[str, Entry] = {}
    for table in tables:
        for record in read_records(table):
            model = attack_model(record, known.get(record.attacker))
            entries.setdefault(record.identity, Entry(record, table.parent, model))
    if not entries:
        raise InputError("holds no records; run the scoring stages first", tables[0])
    logs = {name: read_epochs(path) for name, path in (training or {}).items()}
    return Results(list(entries.values()), tables, data, logs)


def read_side_file(entry: Entry, what: str) -> dict[str, Any] | None:
    """The JSON file that a record names under `what`; None where it names none."""
    path = entry.file(what)
    return None if path is None else side_files.read_side_file(path, what)


def read_matrix(rows: list[list[float | None]]) -> Floats:
    """A matrix of a side file; null is NaN."""
    return np.array(rows, dtype=np.float64)


def speaker_values(entries: Iterable[Entry], metric: str) -> list[tuple[Entry, SpeakerValue]]:
    """The values of single speakers behind the records of `metric`, each with an entry of its series."""
    files: dict[Path, Entry] = {}
    for entry in entries:
        if entry.record.metric == metric and (path := entry.file("per_speaker")):
            files.setdefault(path, entry)
    return [
        (entry, value) for path, entry in files.items() for value in read_speaker_values(path) if value.metric == metric
    ]


def read_pooled_scores(entry: Entry, data: Path) -> PooledScores | None:
    """The scores behind a verification record, with the labels of its trials; None where either is gone."""
    scores, name = entry.file("scores"), entry.record.set
    # An anonymised set may lack some of the trials.
    own = data / f"{name}_{entry.record.system}" / "trials"
    trials = own if own.is_file() else data / name / "trials"
    if scores is None or not scores.is_file() or not trials.is_file():
        return None
    labelled = read_trials(trials)
    values = read_scores(scores, labelled)
    return pool(values[labelled.is_target], values[~labelled.is_target])
