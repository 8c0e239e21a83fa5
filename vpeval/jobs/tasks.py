"""Cutting work into tasks: long ones first and short ones last, so that a slow node does not delay the end.

Guided self-scheduling (Polychronopoulos and Kuck, 1987): the next task is a fixed part of what remains. No task should
take longer than `task_seconds`, which limits the loss with a node, or be so short that starting it costs more than its
work. A million utterances become some thousand tasks.
"""

from __future__ import annotations

import os
import re
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from itertools import accumulate
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text

_TASK_SECONDS = 600.0
_SHORTEST = 0.1  # of the longest task
_ASSUMED_PACE = 10.0  # seconds of speech that a task does in a second, until it has been measured
_LEAST_SECONDS = 30.0  # of measurement
_ACCOUNTING = re.compile(rb"^# Accounting: time=(\d+) ", re.MULTILINE)


def cut(seconds: Sequence[float], nj: int, longest: float) -> list[range]:
    """Cut work, in `seconds` per item, into tasks of adjacent items for `nj` workers, none much longer than `longest`.

    Little work gives one task per worker; much work gives tasks that become smaller.

    >>> [len(items) for items in cut([1.0] * 10, 2, 600)]
    [5, 5]
    >>> [len(items) for items in cut([1.0] * 1000, 2, 200)]
    [200, 200, 150, 112, 85, 63, 48, 35, 27, 20, 20, 20, 20]
    """
    total = sum(seconds)
    shortest = min(_SHORTEST * longest, total / nj)
    ends, passed = list[float](), 0.0
    while total - passed > 1e-9 * total:
        passed += max(shortest, min(longest, (total - passed) / (2 * nj)))
        ends.append(passed)
    middles = [end - own / 2 for end, own in zip(accumulate(seconds), seconds, strict=True)]
    places = [min(bisect_right(ends, middle), len(ends) - 1) for middle in middles]
    firsts = [item for item, place in enumerate(places) if item == 0 or place != places[item - 1]]
    return [range(first, last) for first, last in zip(firsts, [*firsts[1:], len(places)], strict=True)]


def task_seconds() -> float:
    """How long a task should take: VPEVAL_TASK_SECONDS, or ten minutes."""
    text = os.environ.get("VPEVAL_TASK_SECONDS", "")
    if not text:
        return _TASK_SECONDS
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text) or not float(text):
        raise InputError(f"VPEVAL_TASK_SECONDS={text}: expected the seconds that a task should take, such as 600")
    return float(text)


def read_pace(path: Path) -> float:
    """Seconds of speech that earlier tasks did in a second; an assumed value if there were none."""
    try:
        return max(1e-3, float(path.read_text()))
    except (FileNotFoundError, ValueError):
        return _ASSUMED_PACE


def write_pace(path: Path, speech: float, logs: Iterable[Path]) -> None:
    """Store how fast the tasks with these logs were, if they took long enough to measure it."""
    spent = 0
    for log in logs:
        try:
            with open(log, "rb") as file:
                file.seek(max(0, log.stat().st_size - 500))
                spent += sum(map(int, _ACCOUNTING.findall(file.read())))
        except FileNotFoundError:
            return
    if spent >= _LEAST_SECONDS:
        write_text(path, f"{speech / spent:.3f}\n")
