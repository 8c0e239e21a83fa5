"""Simulated listeners: for planning, for the demonstration and for tests. Nobody has heard anything.

A rating is the quality of the system in points, plus the habit of the listener, plus what is special about the
recording, plus noise, rounded and cut to the scale of 1 to 10.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.core.seeds import generator
from vpeval.listening.answers import BOARD_SIZE, SCALE, TASKS, Answer, Value
from vpeval.listening.design import Page
from vpeval.listening.folder import ListeningTest

MIDDLE = 5.5
_CORNERS = np.array([[0.2, 0.2], [0.8, 0.8], [0.2, 0.8], [0.8, 0.2], [0.5, 0.5], [0.5, 0.05], [0.05, 0.5], [0.95, 0.5]])


@dataclass(frozen=True)
class Habits:
    """Standard deviations in points: of listeners, of recordings, and of one rating."""

    listener: float = 1.0
    recording: float = 0.7
    noise: float = 1.6


@dataclass(frozen=True)
class Quality:
    """What listeners think of a system on average, in points; `apart` is how far voices stay apart (0 to 1)."""

    naturalness: float
    intelligibility: float
    same: float
    different: float
    apart: float

    def mean(self, task: str, is_target: bool) -> float:
        """The mean rating of a task."""
        if task == "similarity":
            return self.same if is_target else self.different
        return self.naturalness if task == "naturalness" else self.intelligibility


def rate(
    mean: NDArray[np.float64],
    listener: NDArray[np.intp],
    recording: NDArray[np.intp],
    habits: Habits,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Ratings around `mean`, given by listeners to recordings (numbers from 0)."""
    habit = habits.listener * rng.standard_normal(int(listener.max()) + 1)
    special = habits.recording * rng.standard_normal(int(recording.max()) + 1)
    raw = mean + habit[listener] + special[recording] + habits.noise * rng.standard_normal(len(mean))
    return np.clip(np.rint(raw), SCALE[0], SCALE[-1]).astype(np.int64)


def simulate_answers(
    test: ListeningTest, qualities: Mapping[str, Quality], habits: Habits, seed: int, careless: int = 0
) -> list[Answer]:
    """Complete sessions of all listeners; the last `careless` of them press buttons at random."""
    rows = [(name, page, task) for name, page in test.pages.items() for task in TASKS[page.kind]]
    ratings = [row for row in rows if row[1].kind == "rating"]
    clips = {clip: i for i, clip in enumerate(dict.fromkeys(page.clips[0] for _, page, _ in ratings))}
    mean = np.array([qualities[page.system].mean(task, page.label == "target") for _, page, task in ratings])
    listener = np.array([page.listener for _, page, _ in ratings], dtype=np.intp)
    recording = np.array([clips[page.clips[0]] for _, page, _ in ratings], dtype=np.intp)
    values = rate(mean, listener, recording, habits, generator(seed, "ratings"))
    rated = {(name, task): int(value) for (name, _, task), value in zip(ratings, values, strict=True)}
    answers = []
    for name, page, task in rows:
        rng = generator(seed, "answer", page.listener, page.position, task)
        is_careless = page.listener >= test.settings.listeners - careless
        value: Value
        if task == "comment":
            value = ""
        elif task == "board":
            value = _place(
                page, 0.0 if is_careless else qualities[page.system].apart, test.settings.shape == "line", rng
            )
        elif is_careless:
            value = int(rng.integers(1, 4 if task == "quietest" else 11))
        else:
            value = rated.get((name, task), page.truth)
        seconds = round(float(rng.gamma(2, 0.3 if is_careless else 3.0)), 3)
        answers.append(Answer(page.listener, name, task, value, seconds, 0 if task == "comment" else 1))
    return answers


def _place(page: Page, apart: float, is_line: bool, rng: np.random.Generator) -> list[list[int]]:
    """Points around the places of their speakers; the less voices stay apart, the more by chance."""
    spks = sorted(set(page.spks))
    homes = _CORNERS[rng.permutation(len(_CORNERS))]
    points = []
    for spk in page.spks:
        home = homes[spks.index(spk) % len(homes)]
        point = apart * home + (1 - apart) * rng.random(2) + 0.06 * rng.standard_normal(2)
        x, y = (int(v) for v in np.clip(np.rint(point * BOARD_SIZE), 0, BOARD_SIZE))
        points.append([x, 0 if is_line else y])
    return points
