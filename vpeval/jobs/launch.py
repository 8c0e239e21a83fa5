"""The job launcher behind ``$cmd``: have a backend run an array of commands, and see it through."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.processes import alive
from vpeval.jobs.array import JobArray
from vpeval.jobs.backends.base import Backend, Ended
from vpeval.jobs.progress import Meter, Progress

_SLICE_SECONDS = 0.1


@dataclass(frozen=True)
class Failure:
    """A job that did not end well."""

    job: int
    code: int
    log: Path
    reason: str = ""

    def describe(self) -> str:
        """What a participant needs to see: which job, how it ended, the end of its log, and where the rest is."""
        how = f"was killed by signal {-self.code}" if self.code < 0 else f"failed with exit code {self.code}"
        lines = [line for line in _read(self.log).splitlines() if not line.startswith(("#", "progress: "))]
        tail = "".join(f"\n  | {line}" for line in lines[-5:])
        if self.reason and not tail:
            return f"job {self.job} {self.reason}"
        return f"job {self.job} {self.reason or how}; the end of {self.log} is:{tail or ' empty'}"


class Interrupted(Exception):
    """The launcher was told to stop; its jobs have been stopped."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by signal {number}")
        self.number = number


def run(
    array: JobArray,
    backend: Backend,
    show: Callable[[Progress], None] = lambda progress: None,
    note: Callable[[str], None] = lambda sentence: None,
) -> list[Failure]:
    """Have `backend` run the jobs; return those that failed.

    Jobs that the backend lost are submitted again, as often as it allows, and `note` gets a sentence about them. When a
    job ends of what would end all of them, or this process is told to stop, the others are ended as well.
    """
    left, failures, attempts = set(array.jobs), list[Failure](), Counter(array.jobs)
    meter, began = Meter(array.log_of, len(array.jobs)), time.monotonic()
    with _stops() as stops:
        try:
            backend.submit(backend.begin(array.jobs))
            while left:
                # Often at first, when all may be over soon; a day later a few seconds do not matter.
                _sleep(min(backend.poll_seconds, max(0.3, (time.monotonic() - began) / 20)), stops)
                snapshot = backend.poll()
                lost = {
                    job: end for job, end in snapshot.ended.items() if end.again and attempts[job] < backend.attempts
                }
                ended = {job: end for job, end in snapshot.ended.items() if job not in lost}
                left -= ended.keys()
                bad = {job: end for job, end in ended.items() if end.code or end.reason}
                failures += [Failure(job, end.code, array.log_of(job), end.reason) for job, end in bad.items()]
                show(meter.read(snapshot, len(failures)))
                if any(end.ends_all for end in bad.values()):
                    break
                if lost:
                    _tell_of_lost(lost, note)
                    attempts.update(lost.keys())
                    backend.submit(sorted(lost))
        finally:
            backend.end()
    return sorted(failures, key=lambda failure: failure.job)


@contextmanager
def _stops() -> Iterator[Callable[[], int]]:
    """A test for "I am to stop", by a signal or because who started me is gone; gives its number or 0.

    A handler that raised could do so while a job is being started, which nobody would then know of.
    """
    got: list[int] = []
    orphaned = _orphan_check()
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    old_handlers = {number: signal.signal(number, lambda number, _: got.append(number)) for number in signals}
    try:
        yield lambda: got[0] if got else int(signal.SIGTERM) if orphaned() else 0
    finally:
        for number, handler in old_handlers.items():
            signal.signal(number, handler)


def _sleep(seconds: float, stops: Callable[[], int]) -> None:
    until = time.monotonic() + seconds
    while True:
        if number := stops():
            raise Interrupted(number)
        if (left := until - time.monotonic()) <= 0:
            return
        time.sleep(min(left, _SLICE_SECONDS))


def _tell_of_lost(lost: Mapping[int, Ended], note: Callable[[str], None]) -> None:
    """One sentence for every way in which jobs were lost."""
    for reason in dict.fromkeys(end.reason for end in lost.values()):
        note(f"{name_jobs([job for job, end in lost.items() if end.reason == reason])}: {reason}; submitted again")


def name_jobs(jobs: Sequence[int]) -> str:
    """Some jobs in words.

    >>> name_jobs([3]), name_jobs([3, 5]), name_jobs(range(1, 10))
    ('job 3', 'jobs 3, 5', 'jobs 1, 2, 3 … 9 (9 of them)')
    """
    if len(jobs) == 1:
        return f"job {jobs[0]}"
    if len(jobs) < 5:
        return f"jobs {', '.join(map(str, jobs))}"
    return f"jobs {', '.join(map(str, jobs[:3]))} … {jobs[-1]} ({len(jobs)} of them)"


def _orphan_check() -> Callable[[], bool]:
    """A test for "who started me is gone": the direct parent, and the recipe (VPEVAL_RUN_PID) above it."""
    parent = os.getppid()
    recipe = os.environ.get("VPEVAL_RUN_PID", "")

    def orphaned() -> bool:
        return os.getppid() != parent or (recipe.isdecimal() and not alive(int(recipe)))

    return orphaned


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
