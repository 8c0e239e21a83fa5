"""Simulated listeners: for planning, for the demonstration and for tests.

A rating is the quality of the system in points, plus an offset of the listener, plus an offset of the recording, plus
noise, rounded and clipped to the scale of 1 to 10.

The number of listeners needed for a difference comes from simulations of the design itself, in which one system is
better than all others. The difference counts as found if its Mann-Whitney p value, multiplied by the number of all
tests of the analysis, is below the level. Holm's correction is never stricter, so the power of the real analysis is at
least the planned one.
"""

from __future__ import annotations

import hashlib
import logging
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from vpeval.core.errors import InputError
from vpeval.core.places import ROOT
from vpeval.core.seeds import generator
from vpeval.listening.answers import BOARD_SIZE, SCALE, TASKS, Answer, Floats, Ints, Value
from vpeval.listening.design import DesignOptions, Page, draw_design
from vpeval.listening.disk import ListeningTest
from vpeval.listening.material import Material, choose_partition, load_material, recipe_pairs
from vpeval.listening.prepare_test import PrepareOptions, Texts, prepare
from vpeval.listening.ratings import GROUPS, VERIFICATION
from vpeval.listening.store import Store
from vpeval.metrics.paired import mann_whitney, ranks_within
from vpeval.metrics.scores import pool
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record, write_records

log = logging.getLogger(__name__)

MAX_LISTENERS = 3000
_MIDDLE = 5.5
_CORNERS = np.array([[0.2, 0.2], [0.8, 0.8], [0.2, 0.8], [0.8, 0.2], [0.5, 0.5], [0.5, 0.05], [0.05, 0.5], [0.95, 0.5]])
_CARELESS = 2


@dataclass(frozen=True)
class Spread:
    """Standard deviations in points: of listeners, of recordings, and of one rating."""

    listener: float = 1.0
    recording: float = 0.7
    noise: float = 1.6


@dataclass(frozen=True)
class Quality:
    """Mean ratings of a system in points; `separation` of voices on boards is 0 (random) to 1."""

    naturalness: float
    intelligibility: float
    same: float
    different: float
    separation: float

    def mean(self, task: str, is_target: bool) -> float:
        """The mean rating of a task."""
        if task == "similarity":
            return self.same if is_target else self.different
        return self.naturalness if task == "naturalness" else self.intelligibility


DEMO_QUALITIES = {
    ORIGINAL: Quality(8.5, 9.2, 8.4, 2.6, 0.9),
    "mcadams": Quality(4.2, 6.6, 5.2, 3.1, 0.55),
    "vtln": Quality(6.6, 8.4, 7.0, 2.9, 0.75),
}
"""Invented mean ratings for the demonstration."""

DEMO_SEPARATION = {ORIGINAL: 4.0, "mcadams": 1.4, "vtln": 2.6}
"""Invented distance between same-speaker and different-speaker scores of an attacker, in standard deviations."""


def rate(mean: Floats, listener: Ints, recording: Ints, spread: Spread, rng: np.random.Generator) -> NDArray[np.int64]:
    """Ratings around `mean`, given by listeners to recordings (numbers from 0)."""
    of_listener = spread.listener * rng.standard_normal(int(listener.max()) + 1)
    of_recording = spread.recording * rng.standard_normal(int(recording.max()) + 1)
    raw = mean + of_listener[listener] + of_recording[recording] + spread.noise * rng.standard_normal(len(mean))
    return np.clip(np.rint(raw), SCALE[0], SCALE[-1]).astype(np.int64)


def simulate_answers(
    test: ListeningTest, qualities: Mapping[str, Quality], spread: Spread, seed: int, careless: int = 0
) -> list[Answer]:
    """Complete sessions of all listeners; the last `careless` of them answer at random."""
    rows = [(name, page, task) for name, page in test.pages.items() for task in TASKS[page.kind]]
    ratings = [row for row in rows if row[1].kind == "rating"]
    listener, recording = _numbers([page for _, page, _ in ratings])
    mean = np.array([qualities[page.system].mean(task, page.label == "target") for _, page, task in ratings])
    values = rate(mean, listener, recording, spread, generator(seed, "ratings"))
    rated = {(name, task): int(value) for (name, _, task), value in zip(ratings, values, strict=True)}
    answers = []
    for name, page, task in rows:
        rng = generator(seed, "answer", page.listener, page.position, task)
        is_careless = page.listener >= test.settings.listeners - careless
        value: Value
        if task == "comment":
            value = ""
        elif task == "board":
            separation = 0.0 if is_careless else qualities[page.system].separation
            value = _place(page, separation, test.settings.shape == "line", rng)
        elif is_careless:
            value = int(rng.integers(1, 4 if task == "quietest" else 11))
        else:
            value = rated.get((name, task), page.truth)
        seconds = round(float(rng.gamma(2, 0.3 if is_careless else 3.0)), 3)
        answers.append(Answer(page.listener, name, task, value, seconds, 0 if task == "comment" else 1))
    return answers


def _numbers(pages: Sequence[Page]) -> tuple[Ints, Ints]:
    """The numbers of the listener and of the rated recording of every page."""
    clips = {clip: i for i, clip in enumerate(dict.fromkeys(page.clips[0] for page in pages))}
    listener = np.array([page.listener for page in pages], dtype=np.intp)
    return listener, np.array([clips[page.clips[0]] for page in pages], dtype=np.intp)


def _place(page: Page, separation: float, is_line: bool, rng: np.random.Generator) -> list[list[int]]:
    """Points between the place of their speaker and a random one."""
    spks = sorted(set(page.spks))
    centres = _CORNERS[rng.permutation(len(_CORNERS))]
    points = []
    for spk in page.spks:
        centre = centres[spks.index(spk) % len(centres)]
        point = separation * centre + (1 - separation) * rng.random(2) + 0.06 * rng.standard_normal(2)
        x, y = (int(v) for v in np.clip(np.rint(point * BOARD_SIZE), 0, BOARD_SIZE))
        points.append([x, 0 if is_line else y])
    return points


@dataclass(frozen=True)
class PowerTarget:
    """The difference in points to be found, with which probability and at which level of the corrected tests."""

    difference: float = 1.0
    power: float = 0.8
    alpha: float = 0.01
    simulations: int = 200
    seed: int = 0


@dataclass(frozen=True)
class RequiredListeners:
    """The smallest number of listeners that reaches the power; None where `MAX_LISTENERS` do not."""

    group: str
    listeners: int | None
    power: float


def simulated_power(
    pages: Sequence[Page], systems: Sequence[str], target: PowerTarget, spread: Spread, group: str
) -> float:
    """The share of simulated experiments that find a difference between the last two systems."""
    task, kind = GROUPS[group]
    rated = [page for page in pages if page.kind == "rating"]
    listener, recording = _numbers(rated)
    system = np.array([systems.index(page.system) for page in rated], dtype=np.intp)
    counted = np.array([kind is None or (page.label == "target") == kind for page in rated])
    last, before = ((system == len(systems) - k) & counted for k in (1, 2))
    mean = _MIDDLE - target.difference / 2 + target.difference * last
    tests = len(GROUPS) * comb(len(systems), 2)
    found = 0
    for k in range(target.simulations):
        rng = generator(target.seed, "power", group, task, k)
        scores = ranks_within(rate(mean, listener, recording, spread, rng), listener)
        found += tests * mann_whitney(scores[last], scores[before]).p_value < target.alpha
    return found / target.simulations


def required_listeners(
    material: Material, design: DesignOptions, target: PowerTarget, spread: Spread, group: str
) -> RequiredListeners:
    """Double the number of listeners until the power is reached, then bisect."""
    low, high = 0, 4
    while True:
        drawn = draw_design(material, replace(design, listeners=high, boards=0), target.seed)

        def power(listeners: int, drawn: Sequence[Page] = drawn) -> float:
            pages = [page for page in drawn if page.listener < listeners]
            value = simulated_power(pages, material.systems, target, spread, group)
            log.info("%s: %d listeners, power %.2f", group, listeners, value)
            return value

        reached = power(high)
        if reached >= target.power:
            break
        if high >= MAX_LISTENERS:
            return RequiredListeners(group, None, reached)
        low, high = high, min(MAX_LISTENERS, 2 * high)
    while high - low > 1:
        middle = (low + high) // 2
        found = power(middle)
        if found >= target.power:
            high, reached = middle, found
        else:
            low = middle
    return RequiredListeners(group, high, reached)


def run_demo(out: Path, listeners: int, seed: int) -> ListeningTest:
    """Prepare a test of the embedded corpus in `out` and store the answers of simulated listeners."""
    if out.exists() and any(out.iterdir()):
        raise InputError("is not empty; choose another directory for the demonstration", out)
    recipe, pairs = recipe_pairs(ROOT / "egs/mini/recipe.conf")
    pairs = choose_partition(pairs, "test")
    data, logs = out.resolve() / "data", out.resolve() / "log"
    log.info("preparing the embedded corpus")
    _run("egs/mini/prepare.sh", "egs/mini/corpus", str(data))
    systems = [system for system in DEMO_QUALITIES if system != ORIGINAL]
    for system in systems:
        log.info("anonymising it with %s", system)
        hook = f"local/anon/{system}/anonymize.py"
        for _, trials in pairs:
            _run("steps/anonymize.sh", "--log-dir", str(logs), hook, f"{data}/{trials}", f"{data}/{trials}_{system}")
    texts = Texts("Demonstration of a listening test", "Nobody: this is a demonstration with simulated listeners")
    # The key need not be secret here, and the same seed gives the same bytes.
    key = hashlib.sha256(f"demonstration {seed}".encode()).digest()
    material = load_material(data, recipe, pairs, systems)
    options = PrepareOptions(seed, key, simulated=True)
    test = prepare(out / "test", material, DesignOptions(listeners), texts, options)
    store = Store(test.database)
    careless = min(_CARELESS, listeners // 4)
    with store.transaction():
        for listener in range(listeners):
            store.enrol(listener)
            store.consent(listener, test.settings.consent)
        for answer in simulate_answers(test, DEMO_QUALITIES, Spread(), seed, careless):
            store.add(answer)
    store.close()
    return test


def write_demo_attacker(runs: Path, test: ListeningTest, seed: int) -> None:
    """Write results of an invented attacker, for the comparison with objective metrics."""
    for system in test.settings.systems:
        for set_, gender in sorted({(p.set, p.gender) for p in test.pages.values() if p.kind == "rating"}):
            rng = generator(seed, "machine", system, set_)
            scores = pool(rng.normal(DEMO_SEPARATION[system], 1, 200) - 1, rng.normal(-1, 1, 1000))
            tags = {"recipe": test.settings.recipe, "system": system, "set": set_, "gender": gender}
            tags |= {"attacker": "SIMULATED", "condition": "oo" if system == ORIGINAL else "oa"}
            records = [Record(name, function(scores)).tagged(tags) for name, function in VERIFICATION.values()]
            write_records(runs / system / f"ASV-simulated-{set_}" / "records.jsonl", records)


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        last = (done.stderr.strip().splitlines() or ["no message"])[-1]
        raise InputError(f"{command[0]} failed: {last}")
