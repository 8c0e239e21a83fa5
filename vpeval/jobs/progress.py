"""Progress: how far an array of jobs is, by what its jobs print into their logs, and what was up to date."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from vpeval.jobs.backends.base import Snapshot

_PROGRESS = re.compile(rb"^progress: (\d+)/(\d+)$", re.MULTILINE)
_LOGS_PER_READING = 50


@dataclass(frozen=True)
class Progress:
    """Jobs by state, and the units of work that those which have begun told of."""

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
        self._begun: set[int] = set()
        self._turn: list[int] = []
        self._ended = 0

    def read(self, snapshot: Snapshot, failed: int) -> Progress:
        """The state of things after `snapshot`."""
        ended = [job for job, end in snapshot.ended.items() if not end.again]
        self._ended += len(ended)
        self._turn = [job for job in self._turn if job in snapshot.running] or sorted(snapshot.running)
        now, self._turn = self._turn[:_LOGS_PER_READING], self._turn[_LOGS_PER_READING:]
        for job in (*ended, *now):
            if counts := last_progress(self._log_of(job)):
                self._counts[job] = counts
        running = len(snapshot.running)
        done, total = (sum(counts[which] for counts in self._counts.values()) for which in (0, 1))
        return Progress(self._jobs - self._ended - running, running, failed, self._ended, done, total)


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
