"""Answers of listeners: what one looks like, and what is refused.

The server, the files of listeners without a server and the analysis all go through `check_answer`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vpeval.listening.design import Page, Shape

SCALE = range(1, 11)
TASKS: Mapping[str, tuple[str, ...]] = {
    "volume": (),
    "quietest": ("quietest",),
    "rating": ("naturalness", "similarity", "intelligibility"),
    "tones": ("tones",),
    "board": ("board",),
    "comment": ("comment",),
}
"""What is asked on each kind of page, in order (VoicePrivacy 2020 supplement, section 4.1)."""

BOARD_SIZE = 1000
COMMENT_LENGTH = 2000
_DAY = 86400.0
_FIELDS = {"page", "task", "value", "seconds", "plays"}

Value = int | str | list[list[int]]


class Refused(Exception):
    """An answer that does not count, with the HTTP status that says why."""

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
        """The value as it is kept."""
        return json.dumps(self.value, ensure_ascii=False)


def check_answer(payload: object, listener: int, pages: Mapping[str, Page], shape: Shape) -> Answer:
    """The answer that a listener with these `pages` sent; anything else is `Refused`."""
    if not isinstance(payload, dict) or payload.keys() != _FIELDS:
        raise Refused(400, f"an answer has the fields {', '.join(sorted(_FIELDS))}")
    page, task = payload["page"], payload["task"]
    if not isinstance(page, str) or page not in pages:
        raise Refused(404, "this is no page of yours")
    if not isinstance(task, str) or task not in TASKS[pages[page].kind]:
        raise Refused(400, "this is not asked on this page")
    seconds, plays = payload["seconds"], payload["plays"]
    if not _is_number(seconds) or not 0 <= seconds <= _DAY:
        raise Refused(400, "seconds must be a number from 0 to a day")
    if not _is_whole(plays) or not 0 <= plays <= 10_000:
        raise Refused(400, "plays must be a whole number")
    value = _check_value(payload["value"], pages[page], task, shape)
    return Answer(listener, page, task, value, float(seconds), plays)


def _check_value(value: Any, page: Page, task: str, shape: Shape) -> Value:
    if task == "comment":
        if not isinstance(value, str) or len(value) > COMMENT_LENGTH:
            raise Refused(400, f"a comment is a text of at most {COMMENT_LENGTH} characters")
        # Lone surrogates are valid in JSON and in no file.
        return value.encode("utf-8", "replace").decode("utf-8").replace("\0", "")
    if task == "board":
        good = isinstance(value, list) and len(value) == len(page.clips) and all(map(_is_point, value))
        if not good or (shape == "line" and any(point[1] for point in value)):
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


def _is_number(value: object) -> bool:
    return _is_whole(value) or (isinstance(value, float) and math.isfinite(value))
