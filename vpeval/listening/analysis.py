"""Analysis of a listening test: from answers to records, and the comparison with objective results.

Objective results are those of the ignorant attacker, who also compares anonymised trials with original enrolment, and
those of the original data (VoicePrivacy 2020 supplement, Table 18 and Figures 27 to 30).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.listening.answers import Ratings, Responses, read_responses
from vpeval.listening.boards import linking_records, mean_map, pair_scores
from vpeval.listening.disk import ListeningTest
from vpeval.listening.exclusion import Listener, broken_rules, check_listeners, excluded
from vpeval.listening.ratings import (
    ALPHA,
    GROUPS,
    VERIFICATION,
    Estimate,
    compare_systems,
    difference_records,
    draw,
    group_ratings,
    make_record,
    mean_records,
    verification_records,
)
from vpeval.metrics.intervals import Interval
from vpeval.records.names import IGNORANT, ORIGINAL, UNPROTECTED, WARNING, attack_model, costs
from vpeval.records.record import Record, read_records, write_records

DIRECTORY = "listening"
SIDE_FILE = "scores.json"


@dataclass(frozen=True)
class Options:
    """Options of the analysis; `attacker`: whose objective results to compare with (empty: the first one found)."""

    rules: tuple[str, ...] = ("attention", "constant")
    alpha: float = ALPHA
    resamples: int = 1000
    seed: int = 0
    attacker: str = ""


@dataclass(frozen=True)
class MetricPair:
    """One objective and one subjective number for the same trials, by the same estimator."""

    system: str
    set: str
    gender: str
    estimator: str
    objective: float
    subjective: float


@dataclass(frozen=True)
class Analysis:
    """All results of a test."""

    test: ListeningTest
    options: Options
    listeners: Sequence[Listener]
    responses: Responses
    records: Sequence[Record]
    objective: Sequence[Record]
    correlations: Sequence[Record]
    pairs: Mapping[str, Sequence[MetricPair]]
    attacker: str

    @property
    def excluded(self) -> list[Listener]:
        """The listeners who were left out."""
        return excluded(self.listeners, self.options.rules)


def analyse(test: ListeningTest, runs: Path, options: Options) -> Analysis:
    """Analyse the answers to a test; objective results are searched for in `runs`."""
    attacker, objective = _read_objective(runs, test.settings.systems, options.attacker)
    all_responses = read_responses(test)
    listeners = check_listeners(all_responses)
    removed = excluded(listeners, options.rules)
    responses = all_responses.without(each.listener for each in removed)
    if not responses.answers:
        raise InputError(
            f"--exclude {','.join(options.rules)} removes all {len(removed)} listeners ({broken_rules(removed)}); "
            "inspect their answers first, or name fewer rules: --exclude none removes nobody",
            test.path,
        )
    notes: dict[str, object] = {"excluded": len(removed), "seed": options.seed}
    if options.resamples:
        notes |= {"interval": "listener and speaker bootstrap", "resamples": options.resamples}
    if test.settings.instructions:
        notes |= {"instructions": f"of the organisers ({test.settings.instructions})"}
    if test.settings.simulated:
        notes |= {"listeners": "SIMULATED", WARNING: "listeners are SIMULATED: their ratings say nothing about systems"}
    records = _rating_records(responses, options, notes)
    records += linking_records(responses.boards(), options.resamples, options.seed, notes)
    records = [record.tagged({"recipe": test.settings.recipe}) for record in records]
    pairs = pair_metrics(records, objective)
    plain = {name: value for name, value in notes.items() if name not in ("interval", "resamples", "seed")}
    correlations = [
        record.tagged({"recipe": test.settings.recipe}) for record in _correlation_records(pairs, attacker, plain)
    ]
    return Analysis(test, options, listeners, responses, records, objective, correlations, pairs, attacker)


def _rating_records(responses: Responses, options: Options, notes: dict[str, object]) -> list[Record]:
    tables = responses.rating_tables()
    for task, ratings in tables.items():
        if not len(ratings):
            raise InputError(f"has no answers to '{task}' yet; analyse it later", responses.test.path)
    spks = len(tables["similarity"].names.spks)
    draws = draw(responses.listeners, responses.test.settings.listeners, spks, options.resamples, options.seed)
    records = mean_records(tables, draws, notes)
    records += difference_records(tables, compare_systems(tables), draws, {**notes, "alpha": options.alpha})
    return [*records, *verification_records(tables["similarity"], draws, notes)]


def _read_objective(runs: Path, systems: Sequence[str], attacker: str) -> tuple[str, list[Record]]:
    """Verification records of the ignorant attacker (the first, if none is named) and of the original data."""
    wanted = {objective for objective, _ in VERIFICATION.values()}
    records = []
    for system in systems:
        model = UNPROTECTED if system == ORIGINAL else IGNORANT
        for path in sorted((runs / system).glob("*/records.jsonl")):
            for record in read_records(path):
                if record.metric in wanted and record.system == system and attack_model(record) == model:
                    records.append(record)
    records = costs(records)
    attackers = sorted({record.attacker for record in records if record.system != ORIGINAL})
    if attacker and attacker not in attackers:
        raise InputError(f"--attacker {attacker}: {runs} has results of {', '.join(attackers) or 'no attacker'}")
    chosen = attacker or (attackers[0] if attackers else "")
    return chosen, [record for record in records if record.attacker == chosen]


def pair_metrics(subjective: Iterable[Record], objective: Iterable[Record]) -> dict[str, list[MetricPair]]:
    """Pairs of numbers for the same system, set and gender, by the name of the subjective metric."""
    known = {(r.metric, r.system, r.set, r.gender): r.value for r in objective}
    found: dict[str, list[MetricPair]] = {name: [] for name in VERIFICATION}
    for record in subjective:
        if record.metric in VERIFICATION and record.set:
            place, estimator = (record.system, record.set, record.gender), record.params["estimator"]
            other = known.get((estimator, *place))
            if other is not None and math.isfinite(other) and math.isfinite(record.value):
                found[record.metric].append(MetricPair(*place, estimator, other, record.value))
    return found


def _correlation_records(
    pairs: Mapping[str, Sequence[MetricPair]], attacker: str, notes: Mapping[str, object]
) -> list[Record]:
    """Pearson's correlation of each metric over systems and sets, with and without the original data.

    Fisher's interval assumes independent points. Points of one system are not, so it is too narrow.
    """
    records = []
    for metric, found in pairs.items():
        for systems in ("all", "anonymised"):
            chosen = [pair for pair in found if systems == "all" or pair.system != ORIGINAL]
            x = np.array([pair.objective for pair in chosen])
            y = np.array([pair.subjective for pair in chosen])
            if len(chosen) < 3 or not x.std() or not y.std():
                continue
            r = float(np.clip(np.corrcoef(x, y)[0, 1], -1, 1))
            interval = _fisher(r, len(chosen))
            own = {"interval": "Fisher z, points taken for independent"} if interval else {}
            params = {"of": metric, "with": VERIFICATION[metric][0], "objective_attacker": attacker, "systems": systems}
            counts = {"points": len(chosen), "systems": len({pair.system for pair in chosen})}
            estimate = Estimate(r, interval, counts)
            record = make_record("listening_correlation", estimate, ("", "", ""), params, {**notes, **own})
            records.append(record.tagged({"condition": ""}))
    return records


def _fisher(r: float, points: int) -> Interval | None:
    if points < 4 or abs(r) == 1:  # of points on a line it would have no width
        return None
    centre, half = math.atanh(r), 1.959964 / math.sqrt(points - 3)
    return Interval(math.tanh(centre - half), math.tanh(centre + half))


def record_tables(runs: Path, systems: Sequence[str]) -> list[Path]:
    """The record tables of listeners, then those of all other results of the systems."""
    own = [runs / system / DIRECTORY / "records.jsonl" for system in systems]
    others = [path for system in systems for path in sorted((runs / system).glob("*/records.jsonl"))]
    return list(dict.fromkeys((*own, *others)))


def write_runs(analysis: Analysis, runs: Path) -> list[Path]:
    """Write ``<runs>/<system>/listening/``: the records, and their scores for the figures."""
    tables = analysis.responses.rating_tables()
    written = []
    for system in analysis.test.settings.systems:
        directory = runs / system / DIRECTORY
        _refuse_real_listeners(directory, analysis.test.settings.simulated)
        scores = _side_file(analysis, tables, system)
        records = [r.with_files({DIRECTORY: SIDE_FILE}) for r in analysis.records if r.system == system]
        write_text(directory / SIDE_FILE, json.dumps(scores) + "\n")
        write_records(directory / "records.jsonl", records)
        written.append(directory / "records.jsonl")
    return written


def _side_file(analysis: Analysis, tables: Mapping[str, Ratings], system: str) -> dict[str, object]:
    """The scores of a system: of each group by cell, and the distances and the map of its boards."""
    groups = {}
    for group in GROUPS:
        own = group_ratings(tables, group)
        own = own.where(own.system == own.names.systems.index(system))
        groups[group] = {
            f"{name} {gender}".strip(): sorted(own.score[own.cell == k].round(6).tolist())
            for k, (name, gender) in enumerate(own.names.cells)
        }
    scores: dict[str, object] = {"groups": groups, "simulated": analysis.test.settings.simulated}
    if boards := [board for board in analysis.responses.boards() if board.system == system]:
        score, same, _ = pair_scores(boards)
        scores["distances"] = {
            name: sorted((-score[mask]).round(6).tolist()) for name, mask in (("same", same), ("different", ~same))
        }
        scores["map"] = mean_map(boards)
    return scores


def _refuse_real_listeners(directory: Path, simulated: bool) -> None:
    """Simulated results must not replace those of real listeners."""
    path = directory / "records.jsonl"
    if simulated and path.is_file() and any("listeners" not in record.notes for record in read_records(path)):
        raise InputError("holds results of real listeners; write simulated ones to another directory", path)
