"""The answers of a test as arrays, from its database and from files that listeners handed in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vpeval.core.errors import InputError
from vpeval.listening.answers import TASKS, Answer, Refused, check_answer
from vpeval.listening.folder import ListeningTest
from vpeval.listening.store import Store
from vpeval.metrics.normalised_rank import ranks_within

Ints = NDArray[np.intp]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Names:
    """What the numbers in the arrays stand for; a cell is a trial set and a gender."""

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
        """The rows of a mask, with the scores they have."""
        arrays = ("listener", "system", "cell", "is_target", "spk", "enroll", "value", "score")
        return replace(self, **{name: getattr(self, name)[mask] for name in arrays})


@dataclass(frozen=True)
class Placing:
    """A board as a listener left it."""

    listener: int
    system: str
    cell: tuple[str, str]
    utts: tuple[str, ...]
    spks: tuple[str, ...]
    positions: Floats


@dataclass(frozen=True)
class Responses:
    """All valid answers to a test, in the order of listeners and pages."""

    test: ListeningTest
    answers: tuple[Answer, ...]

    @property
    def listeners(self) -> list[int]:
        """Everybody who answered anything."""
        return sorted({answer.listener for answer in self.answers})

    def without(self, listeners: Iterable[int]) -> Responses:
        """The answers of everybody else."""
        gone = set(listeners)
        return replace(self, answers=tuple(a for a in self.answers if a.listener not in gone))

    def ratings(self, task: str) -> Ratings:
        """The ratings of a task, ranked listener by listener."""
        rows = [(answer, self.test.pages[answer.page]) for answer in self.answers if answer.task == task]
        names = design_names(self.test)
        system = {name: i for i, name in enumerate(names.systems)}
        cell = {name: i for i, name in enumerate(names.cells)}
        spk = {name: i for i, name in enumerate(names.spks)}

        def column(values: Iterable[Any]) -> Ints:
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

    def placings(self) -> list[Placing]:
        """All boards."""
        found = []
        for answer in self.answers:
            if answer.task == "board":
                page = self.test.pages[answer.page]
                utts = tuple(clip.utt for clip in page.clips)
                positions = np.array(answer.value, dtype=np.float64)
                found.append(Placing(answer.listener, page.system, (page.set, page.gender), utts, page.spks, positions))
        return found

    def comments(self) -> list[tuple[int, str]]:
        """What listeners wrote, if anything."""
        return [(a.listener, str(a.value)) for a in self.answers if a.task == "comment" and str(a.value).strip()]


def design_names(test: ListeningTest) -> Names:
    """Systems, cells and speakers of the rating pages of a design."""
    pages = [page for page in test.pages.values() if page.kind == "rating"]
    cells = sorted({(page.set, page.gender) for page in pages})
    return Names(test.settings.systems, tuple(cells), tuple(sorted({spk for page in pages for spk in page.spks})))


def read_responses(test: ListeningTest) -> Responses:
    """Read ``answers/answers.db`` and ``answers/*.json``; what no page could have sent is an InputError."""
    found: dict[tuple[int, str, str], Answer] = {}
    if test.database.exists():
        store = Store(test.database)
        for row in store.answers():
            payload = {name: row[name] for name in ("page", "task", "seconds", "plays")}
            _keep(found, test, row["listener"], {**payload, "value": json.loads(row["value"])}, test.database)
        store.close()
    for path in sorted((test.path / "answers").glob("*.json")):
        _read_file(found, test, path)
    if not found:
        raise InputError(
            "holds no answers yet; serve the test, or put the files of listeners there", test.path / "answers"
        )
    order = {name: (page.listener, page.position) for name, page in test.pages.items()}
    kept = sorted(found.values(), key=lambda a: (*order[a.page], TASKS[test.pages[a.page].kind].index(a.task)))
    return Responses(test, tuple(kept))


def _read_file(found: dict[tuple[int, str, str], Answer], test: ListeningTest, path: Path) -> None:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        token, consent, answers = content["token"], content["consent"], content["answers"]
        rows: Sequence[dict[str, Any]] = [{k: v for k, v in dict(row).items() if k != "time"} for row in answers]
    except (ValueError, KeyError, TypeError, RecursionError):
        raise InputError("is no file that the page of a listening test saves; ask for it again", path) from None
    listener = test.tokens().get(token) if isinstance(token, str) else None
    if listener is None:
        raise InputError("is of a listener who is not in this test; is it of another one?", path)
    if consent != test.settings.consent:
        raise InputError("is of a listener who has not agreed to the text of this test; leave it out", path)
    for row in rows:
        _keep(found, test, listener, row, path)


def _keep(
    found: dict[tuple[int, str, str], Answer], test: ListeningTest, listener: int, payload: Any, path: Path
) -> None:
    try:
        answer = check_answer(payload, listener, test.sessions.get(listener, {}), test.settings.shape)
    except Refused as refused:
        raise InputError(f"holds an answer of listener {listener + 1} that cannot be: {refused.reason}", path) from None
    known = found.setdefault((listener, answer.page, answer.task), answer)
    if known.value != answer.value:
        raise InputError(
            f"has another answer of listener {listener + 1} to a question that is answered already; keep one file",
            path,
        )
