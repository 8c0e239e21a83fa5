"""Cutting work into tasks: long ones first and short ones last, so that a slow node does not delay the end.

Guided self-scheduling (Polychronopoulos and Kuck, 1987): the next task is a fixed part of what remains. No task should
take longer than `task_seconds`, which limits the loss with a node, or be so short that starting it costs more than its
work. A million utterances become some thousand tasks. How much work a task does in that time is measured: at first by
short tasks (`pilot`), later by those of the call before, also if it failed.
"""

from __future__ import annotations

import os
import re
import time
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from contextlib import suppress
from itertools import accumulate, pairwise
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.jobs.progress import last_progress

_TASK_SECONDS = 600.0
_SHORTEST = 0.1  # of the longest task
ASSUMED_PACE = 10.0
"""Seconds of speech that a task does in a second, until it has been measured."""
_PILOT_SECONDS = 30.0
_LEAST_SECONDS = 30.0  # of measurement
_STARTED = re.compile(rb"^# Started at (\w+ \w+ +\d+ [\d:]+ \d+)", re.MULTILINE)
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


def pilot(seconds: Sequence[float], nj: int, longest: float) -> list[range]:
    """The tasks of the first items by which to measure the pace: a short one for every worker.

    None where all work together is not much more than that.

    >>> pilot([1.0] * 200, 2, 600), pilot([1.0] * 90, 2, 600)
    ([range(0, 30), range(30, 60)], [])
    """
    ends, length = list(accumulate(seconds)), min(_PILOT_SECONDS, longest)
    if not ends or ends[-1] <= 2 * nj * length:
        return []
    places = [0, *(bisect_right(ends, number * length + 1e-9) for number in range(1, nj + 1))]
    return [range(first, last) for first, last in pairwise(places) if first < last]


def read_pace(path: Path) -> float | None:
    """Seconds of speech that earlier tasks did in a second; None if it was not measured."""
    try:
        return max(1e-3, float(path.read_text()))
    except (FileNotFoundError, ValueError):
        return None


def write_pace(path: Path, parts: Iterable[tuple[float, Path]]) -> None:
    """Store how fast tasks with so much speech and these logs were, if they took long enough to measure it.

    Tasks that failed or were ended count with what they did.
    """
    done = spent = 0.0
    for speech, log in parts:
        share, seconds = _measure(log)
        done, spent = done + speech * share, spent + (seconds if share else 0.0)
    if done and spent >= _LEAST_SECONDS:
        write_text(path, f"{done / spent:.3f}\n")


def _measure(log: Path) -> tuple[float, float]:
    """What share of its work a task has done, and the seconds that it took; nothing if the log does not tell."""
    try:
        with open(log, "rb") as file:
            head = file.read(2000)
            file.seek(max(0, log.stat().st_size - 2000))
            tail = file.read()
    except FileNotFoundError:
        return 0.0, 0.0
    ended = _ACCOUNTING.search(tail)
    counts = last_progress(log)
    share = counts[0] / counts[1] if counts and counts[1] else float(b"# Ended (code 0)" in tail)
    if ended:
        return share, float(ended[1])
    # It was killed: its log has grown until then.
    if begun := _STARTED.search(head):
        with suppress(ValueError):
            start = time.mktime(time.strptime(begun[1].decode(), "%a %b %d %H:%M:%S %Y"))
            return share, max(0.0, log.stat().st_mtime - start)
    return 0.0, 0.0
