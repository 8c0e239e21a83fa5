"""The analysis of a listening test: from answers to records, and to the files that tables and figures are views of."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.listening import objective
from vpeval.listening.answers import TASKS
from vpeval.listening.folder import ListeningTest
from vpeval.listening.linking import linking_records, listeners_map, pair_scores
from vpeval.listening.opinions import (
    GROUPS,
    Comparison,
    compare_systems,
    difference_records,
    group_ratings,
    mean_records,
    verification_records,
)
from vpeval.listening.quality import Listener, excluded, judge_listeners
from vpeval.listening.resample import draw
from vpeval.listening.responses import Ratings, Responses, read_responses
from vpeval.records.record import Record, read_records, write_records

FOLDER = "listening"
SIDE_FILE = "scores.json"


@dataclass(frozen=True)
class Options:
    """How to analyse: rules that exclude, level of the tests, resamples, seed, and the attacker to compare with."""

    rules: tuple[str, ...] = ("attention", "constant")
    alpha: float = 0.01
    resamples: int = 1000
    seed: int = 0
    attacker: str = ""


@dataclass(frozen=True)
class Analysis:
    """Everything that was found."""

    test: ListeningTest
    options: Options
    listeners: Sequence[Listener]
    responses: Responses
    comparisons: Sequence[Comparison]
    records: Sequence[Record]
    correlations: Sequence[Record]
    pairs: dict[str, list[objective.Both]]
    attacker: str

    @property
    def gone(self) -> list[Listener]:
        """Who was left out."""
        return excluded(self.listeners, self.options.rules)


def analyse(test: ListeningTest, runs: Path, options: Options) -> Analysis:
    """Analyse the answers to a test; objective numbers are looked for in `runs`."""
    attacker, machine = objective.read_objective(runs, test.settings.systems, options.attacker)
    everything = read_responses(test)
    listeners = judge_listeners(everything)
    gone = excluded(listeners, options.rules)
    responses = everything.without(each.listener for each in gone)
    if not responses.answers:
        raise InputError(
            f"all {len(gone)} listeners break a rule of --exclude; look at them before excluding", test.path
        )
    notes: dict[str, object] = {"excluded": len(gone), "seed": options.seed}
    if options.resamples:
        notes |= {"interval": "listener and speaker bootstrap", "resamples": options.resamples}
    if test.settings.simulated:
        notes["listeners"] = "SIMULATED"
    tables = {task: responses.ratings(task) for task in TASKS["rating"]}
    records, comparisons = _opinions(tables, responses, options, notes)
    placings = responses.placings()
    records += linking_records(placings, options.resamples, options.seed, notes)
    records = [record.tagged({"recipe": test.settings.recipe}) for record in records]
    pairs = objective.pair_up(records, machine)
    plain = {name: value for name, value in notes.items() if name not in ("interval", "resamples", "seed")}
    correlations = objective.correlation_records(pairs, attacker, plain)
    correlations = [record.tagged({"recipe": test.settings.recipe}) for record in correlations]
    return Analysis(test, options, listeners, responses, comparisons, records, correlations, pairs, attacker)


def _opinions(
    tables: dict[str, Ratings], responses: Responses, options: Options, notes: dict[str, object]
) -> tuple[list[Record], list[Comparison]]:
    for task, ratings in tables.items():
        if not len(ratings):
            raise InputError(f"nobody has answered '{task}' yet; come back when somebody has", responses.test.path)
    spks = len(tables["similarity"].names.spks)
    draws = draw(responses.listeners, responses.test.settings.listeners, spks, options.resamples, options.seed)
    comparisons = compare_systems(tables)
    records = mean_records(tables, draws, notes)
    records += difference_records(tables, comparisons, draws, notes)
    records += verification_records(tables["similarity"], draws, notes)
    return records, comparisons


def tables_of(runs: Path, systems: Sequence[str]) -> list[Path]:
    """The tables with what listeners and machines found, those of the listeners first: they are the newest."""
    fresh = [runs / system / FOLDER / "records.jsonl" for system in systems]
    machine = [path for system in systems for path in sorted((runs / system).glob("*/records.jsonl"))]
    return list(dict.fromkeys((*fresh, *machine)))


def write_runs(analysis: Analysis, runs: Path) -> list[Path]:
    """Write ``<runs>/<system>/listening/``: records, and the scores behind them for the figures."""
    tables = {task: analysis.responses.ratings(task) for task in TASKS["rating"]}
    placings = analysis.responses.placings()
    written = []
    for i, system in enumerate(analysis.test.settings.systems):
        folder = runs / system / FOLDER
        _refuse_foreign(folder, analysis.test.settings.simulated)
        scores: dict[str, object] = {"groups": {}, "simulated": analysis.test.settings.simulated}
        groups = {}
        for group in GROUPS:
            own = group_ratings(tables, group)
            own = own.where(own.system == i)
            cells = {
                f"{name} {gender}".strip(): own.score[own.cell == k] for k, (name, gender) in enumerate(own.names.cells)
            }
            groups[group] = {cell: sorted(values.round(6).tolist()) for cell, values in cells.items()}
        scores["groups"] = groups
        boards = [placing for placing in placings if placing.system == system]
        if boards:
            score, same, _ = pair_scores(boards)
            scores["distances"] = {
                "same": sorted((-score[same]).round(6).tolist()),
                "different": sorted((-score[~same]).round(6).tolist()),
            }
            scores["map"] = listeners_map(boards)
        own_records = [r.with_files({FOLDER: SIDE_FILE}) for r in analysis.records if r.system == system]
        write_text(folder / SIDE_FILE, json.dumps(scores) + "\n")
        write_records(folder / "records.jsonl", own_records)
        written.append(folder / "records.jsonl")
    return written


def _refuse_foreign(folder: Path, simulated: bool) -> None:
    """Simulated results never take the place of what people answered."""
    path = folder / "records.jsonl"
    if simulated and path.is_file() and any("listeners" not in record.notes for record in read_records(path)):
        raise InputError("holds results of real listeners; simulated ones go elsewhere", path)
