"""Answers of listeners: their format, the check that every answer passes, and the answers of a test as arrays.

The server, files from listeners without a server and the analysis all use `check_answer`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vpeval.core.errors import InputError
from vpeval.listening.design import Page, Shape
from vpeval.listening.disk import ListeningTest
from vpeval.listening.store import Store
from vpeval.metrics.paired import ranks_within

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]
Value = int | str | list[list[int]]

SCALE = range(1, 11)
TASKS: Mapping[str, tuple[str, ...]] = {
    "volume": (),
    "quietest": ("quietest",),
    "rating": ("naturalness", "similarity", "intelligibility"),
    "tones": ("tones",),
    "board": ("board",),
    "comment": ("comment",),
}
"""The questions on each kind of page, in order (VoicePrivacy 2020 supplement, section 4.1)."""

BOARD_SIZE = 1000
COMMENT_LENGTH = 2000
_DAY = 86400.0
_FIELDS = {"page", "task", "value", "seconds", "plays"}


class Refused(Exception):
    """An answer that does not count, with the HTTP status for it."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


@dataclass(frozen=True)
class Answer:
    """One answer: `seconds` from the question to the answer without pauses, `plays` of the recordings until then."""

    listener: int
    page: str
    task: str
    value: Value
    seconds: float
    plays: int

    @property
    def stored(self) -> str:
        """The value as it is stored."""
        return json.dumps(self.value, ensure_ascii=False)


def check_answer(payload: object, listener: int, pages: Mapping[str, Page], shape: Shape) -> Answer:
    """The answer that a listener with these `pages` sent; anything else is `Refused`."""
    if not isinstance(payload, dict) or payload.keys() != _FIELDS:
        raise Refused(400, f"an answer has the fields {', '.join(sorted(_FIELDS))}")
    page, task = payload["page"], payload["task"]
    if not isinstance(page, str) or page not in pages:
        raise Refused(404, "this page is not in your session")
    if not isinstance(task, str) or task not in TASKS[pages[page].kind]:
        raise Refused(400, "this page does not have this question")
    seconds, plays = payload["seconds"], payload["plays"]
    is_number = _is_whole(seconds) or (isinstance(seconds, float) and math.isfinite(seconds))
    if not is_number or not 0 <= seconds <= _DAY:
        raise Refused(400, f"seconds must be a number from 0 to {_DAY:.0f}")
    if not _is_whole(plays) or not 0 <= plays <= 10_000:
        raise Refused(400, "plays must be a whole number from 0 to 10000")
    value = _check_value(payload["value"], pages[page], task, shape)
    return Answer(listener, page, task, value, float(seconds), plays)


def _check_value(value: Any, page: Page, task: str, shape: Shape) -> Value:
    if task == "comment":
        if not isinstance(value, str) or len(value) > COMMENT_LENGTH:
            raise Refused(400, f"a comment is a text of at most {COMMENT_LENGTH} characters")
        # Lone surrogates are valid in JSON but cannot be written to a file.
        return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    if task == "board":
        valid = isinstance(value, list) and len(value) == len(page.clips) and all(map(_is_point, value))
        if not valid or (shape == "line" and any(point[1] for point in value)):
            raise Refused(400, f"a board has two whole numbers from 0 to {BOARD_SIZE} for every point")
        return [[int(x), int(y)] for x, y in value]
    highest = 3 if task == "quietest" else SCALE[-1]
    if not _is_whole(value) or not 1 <= value <= highest:
        raise Refused(400, f"the answer must be a whole number from 1 to {highest}")
    return int(value)


def _is_point(point: object) -> bool:
    return isinstance(point, list) and len(point) == 2 and all(_is_whole(x) and 0 <= x <= BOARD_SIZE for x in point)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


@dataclass(frozen=True)
class Names:
    """The names behind the numbers in `Ratings`; a cell is a trial set and a gender."""

    systems: tuple[str, ...]
    cells: tuple[tuple[str, str], ...]
    spks: tuple[str, ...]


@dataclass(frozen=True)
class Ratings:
    """Ratings of one task, a row each; `score` is the listener's normalised rank."""

    names: Names
    listener: Ints
    system: Ints
    cell: Ints
    is_target: NDArray[np.bool_]
    spk: Ints
    enroll: Ints
    value: Floats
    score: Floats

    def __len__(self) -> int:
        return len(self.value)

    def where(self, mask: NDArray[np.bool_]) -> Ratings:
        """The rows of a mask; scores are not ranked again."""
        arrays = ("listener", "system", "cell", "is_target", "spk", "enroll", "value", "score")
        return replace(self, **{name: getattr(self, name)[mask] for name in arrays})


@dataclass(frozen=True)
class PlacedBoard:
    """A board with the positions that a listener chose."""

    listener: int
    system: str
    utts: tuple[str, ...]
    spks: tuple[str, ...]
    positions: Floats


@dataclass(frozen=True)
class Responses:
    """All valid answers to a test, ordered by listener and page."""

    test: ListeningTest
    answers: tuple[Answer, ...]

    @property
    def listeners(self) -> list[int]:
        """All listeners with an answer."""
        return sorted({answer.listener for answer in self.answers})

    def without(self, listeners: Iterable[int]) -> Responses:
        """The answers of all other listeners."""
        removed = set(listeners)
        return replace(self, answers=tuple(a for a in self.answers if a.listener not in removed))

    def ratings(self, task: str) -> Ratings:
        """The ratings of a task, ranked within each listener."""
        rows = [(answer, self.test.pages[answer.page]) for answer in self.answers if answer.task == task]
        names = _design_names(self.test)
        system, cell, spk = (
            {name: i for i, name in enumerate(each)} for each in (names.systems, names.cells, names.spks)
        )

        def column(values: Iterable[int]) -> Ints:
            return np.array(list(values), dtype=np.intp)

        listener = column(answer.listener for answer, _ in rows)
        value = np.array([answer.value for answer, _ in rows], dtype=np.float64)
        return Ratings(
            names,
            listener,
            column(system[page.system] for _, page in rows),
            column(cell[page.set, page.gender] for _, page in rows),
            np.array([page.label == "target" for _, page in rows], dtype=bool),
            column(spk[page.spks[0]] for _, page in rows),
            column(spk[page.spks[1]] for _, page in rows),
            value,
            ranks_within(value, listener),
        )

    def rating_tables(self) -> dict[str, Ratings]:
        """The ratings of all tasks."""
        return {task: self.ratings(task) for task in TASKS["rating"]}

    def boards(self) -> list[PlacedBoard]:
        """All boards."""
        found = []
        for answer in self.answers:
            if answer.task == "board":
                page = self.test.pages[answer.page]
                utts = tuple(clip.utt for clip in page.clips)
                positions = np.array(answer.value, dtype=np.float64)
                found.append(PlacedBoard(answer.listener, page.system, utts, page.spks, positions))
        return found

    def comments(self) -> list[tuple[int, str]]:
        """All comments that are not empty, with their listeners."""
        return [(a.listener, str(a.value)) for a in self.answers if a.task == "comment" and str(a.value).strip()]


def _design_names(test: ListeningTest) -> Names:
    pages = [page for page in test.pages.values() if page.kind == "rating"]
    cells = sorted({(page.set, page.gender) for page in pages})
    return Names(test.settings.systems, tuple(cells), tuple(sorted({spk for page in pages for spk in page.spks})))


def read_responses(test: ListeningTest) -> Responses:
    """Read ``answers/answers.db`` and ``answers/*.json``; an answer that no page could have sent is an InputError."""
    found: dict[tuple[int, str, str], Answer] = {}
    if test.database.exists():
        store = Store(test.database)
        for row in store.answers():
            payload = {name: row[name] for name in ("page", "task", "seconds", "plays")}
            _add_checked(found, test, row["listener"], {**payload, "value": json.loads(row["value"])}, test.database)
        store.close()
    for path in sorted((test.path / "answers").glob("*.json")):
        listener, payloads = _read_file(test, path)
        for payload in payloads:
            _add_checked(found, test, listener, payload, path)
    if not found:
        raise InputError(
            "holds no answers yet; serve the test, or put the files of listeners there", test.path / "answers"
        )
    order = {name: (page.listener, page.position) for name, page in test.pages.items()}
    answers = sorted(found.values(), key=lambda a: (*order[a.page], TASKS[test.pages[a.page].kind].index(a.task)))
    return Responses(test, tuple(answers))


def _read_file(test: ListeningTest, path: Path) -> tuple[int, list[dict[str, Any]]]:
    """The listener and the answers of a file that the page without a server saved."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        token, consent, answers = content["token"], content["consent"], content["answers"]
        rows = [{k: v for k, v in dict(row).items() if k != "time"} for row in answers]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("was not saved by the page of a listening test; ask for the file again", path) from None
    listener = test.tokens().get(token) if isinstance(token, str) else None
    if listener is None:
        raise InputError("is from a listener who is not in this test; does it belong to another one?", path)
    if consent != test.settings.consent:
        raise InputError("is from a listener who has not agreed to the consent text of this test; remove it", path)
    return listener, rows


def _add_checked(
    found: dict[tuple[int, str, str], Answer], test: ListeningTest, listener: int, payload: Any, path: Path
) -> None:
    try:
        answer = check_answer(payload, listener, test.sessions.get(listener, {}), test.settings.shape)
    except Refused as refused:
        raise InputError(f"holds an invalid answer of listener {listener + 1}: {refused.reason}", path) from None
    known = found.setdefault((listener, answer.page, answer.task), answer)
    if known.value != answer.value:
        raise InputError(
            f"holds a second, different answer of listener {listener + 1} to the same question; keep one file", path
        )
