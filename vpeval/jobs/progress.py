"""Progress of an array of jobs, from what they print into their logs, and the time and memory that a stage used."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vpeval.core.files import write_text

_PROGRESS = re.compile(rb"^progress: (\d+)/(\d+)$", re.MULTILINE)
_LOGS_PER_READING = 50
USAGE = "usage.json"


@dataclass(frozen=True)
class Progress:
    """Jobs by state, and the units of work that the jobs reported so far."""

    pending: int
    running: int
    failed: int
    ended: int
    done: int
    total: int

    @property
    def jobs(self) -> int:
        """All jobs."""
        return self.pending + self.running + self.ended

    @property
    def share(self) -> float:
        """What part of all work is done, as if jobs that have not begun were like the others."""
        begun = self.jobs - self.pending
        return self.done / self.total * begun / self.jobs if self.total else self.ended / self.jobs


class Meter:
    """Reads the logs of running jobs, a few at a time, so that a thousand of them cost no more than fifty."""

    def __init__(self, log_of: Callable[[int], Path], jobs: int) -> None:
        self._log_of, self._jobs = log_of, jobs
        self._counts: dict[int, tuple[int, int]] = {}
        self._done = self._total = self._ended = 0
        self._turn: list[int] = []

    def read(self, running: Collection[int], ended: Collection[int], failed: int) -> Progress:
        """The progress, with the jobs that run and those that have ended for good since the last time."""
        self._ended += len(ended)
        self._turn = [job for job in self._turn if job in running] or sorted(running)
        now, self._turn = self._turn[:_LOGS_PER_READING], self._turn[_LOGS_PER_READING:]
        for job in (*ended, *now):
            if counts := last_progress(self._log_of(job)):
                before = self._counts.get(job, (0, 0))
                self._done, self._total = self._done + counts[0] - before[0], self._total + counts[1] - before[1]
                self._counts[job] = counts
        pending = self._jobs - self._ended - len(running)
        return Progress(pending, len(running), failed, self._ended, self._done, self._total)


def log_skipped(log: logging.Logger, count: int, what: str) -> None:
    """Log that so many `what` (a word in the plural) are up to date; scripts print one line for all of them."""
    if count:
        log.info("%d %s up to date, skipped", count, what, extra={"skipped": (what, count)})


def last_progress(log: Path) -> tuple[int, int] | None:
    """The newest ``progress: 12/50`` line that a job has printed into its log."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, log.stat().st_size - 2000))
            found = _PROGRESS.findall(file.read())
    except FileNotFoundError:
        return None
    return (int(found[-1][0]), int(found[-1][1])) if found else None


@dataclass(frozen=True)
class Usage:
    """Seconds by the clock and of all its processes together, and megabytes of the largest of them."""

    number: int
    stage: str
    seconds: float
    cpu_seconds: float
    megabytes: float

    def __str__(self) -> str:
        """One line.

        >>> print(Usage(5, "embeddings", 75.2, 130.0, 812.4))
        stage  5 embeddings          1:15  CPU     2:10     812 MB
        """
        times = f"{_clock(self.seconds):>8}  CPU {_clock(self.cpu_seconds):>8}"
        return f"stage {self.number:>2} {self.stage:<15} {times} {self.megabytes:>7.0f} MB"

    @property
    def words(self) -> tuple[str, ...]:
        """The same for a table."""
        times = (_clock(self.seconds), _clock(self.cpu_seconds))
        return f"{self.number} {self.stage}", *times, f"{self.megabytes:.0f} MB"


def read_usage(run: Path) -> list[Usage]:
    """The stored usage of the stages of a run, in their order; empty if there is none."""
    try:
        return [Usage(**entry) for entry in json.loads((run / USAGE).read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []


def write_usage(run: Path, used: Sequence[Usage]) -> None:
    """Store the usage of stages; of several calls of a stage the one that did most work counts."""
    known = {usage.number: usage for usage in read_usage(run)}
    for usage in used:
        if usage.number not in known or usage.cpu_seconds >= known[usage.number].cpu_seconds:
            known[usage.number] = usage
    write_text(run / USAGE, json.dumps([asdict(known[number]) for number in sorted(known)], indent=0) + "\n")


def _clock(seconds: float) -> str:
    """Hours, minutes and seconds, as far as they are needed.

    >>> [_clock(s) for s in (0.04, 7.26, 75.2, 7391.0)]
    ['0.0 s', '7.3 s', '1:15', '2:03:11']
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
