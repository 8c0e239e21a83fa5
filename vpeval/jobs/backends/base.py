"""The interface between the launcher and the place where jobs run: one small class.

`vpeval.jobs.launch.run` decides what to do: which jobs, which of them again (`vpeval.jobs.retries`), when to stop. A
backend does it:
`vpeval.jobs.backends.local` on this machine, `vpeval.jobs.backends.slurm` on a cluster. Another scheduler is another
subclass of `Backend` and an entry in `BACKENDS`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from vpeval.core.errors import InputError
from vpeval.core.lazy import Deferred

if TYPE_CHECKING:
    from vpeval.jobs.launch import JobArray

NOT_VISIBLE = 75
"""Exit code of a job that does not see its work, which another node may: "temporary failure" of sysexits.h."""
_SLICE_SECONDS = 0.1
BACKENDS = {
    "local": Deferred("vpeval.jobs.backends.local", "Local"),
    "slurm": Deferred("vpeval.jobs.backends.slurm", "Slurm"),
}
"""Subclasses of `Backend` by their names in ``--backend``."""


class Clock:
    """Time as the launcher sees it; a simulation has one of its own."""

    def now(self) -> float:
        """Seconds since some moment."""
        return time.monotonic()

    def wait(self, seconds: float, stops: Callable[[], int]) -> int:
        """Sleep, but no longer than until `stops` gives a signal; return that, or 0."""
        until = self.now() + seconds
        while not (number := stops()) and (left := until - self.now()) > 0:
            time.sleep(min(left, _SLICE_SECONDS))
        return number


@dataclass(frozen=True)
class Attempt:
    """A job to be started: not on the places `avoid`, with so many times the memory and time that was asked for."""

    job: int
    avoid: frozenset[str] = frozenset()
    mem: int = 1
    time: int = 1


@dataclass(frozen=True)
class Ended:
    """How a job ended.

    `reason` is empty when the command itself succeeded or failed, and then `code` shows which. Otherwise it continues a
    sentence that begins with "job 3": what happened to the job; `remedy` is what to do if it is not tried again.
    `place` is the node or GPU that it ran on, if there are others like it and it may be at fault. `again`: the job did
    nothing wrong, and another attempt may succeed. `lacks`: it may succeed with more "mem" or "time". `ends_all`: the
    reason affects all other jobs as well, which are then ended.
    """

    code: int = 0
    reason: str = ""
    place: str = ""
    again: bool = False
    lacks: str = ""
    remedy: str = ""
    ends_all: bool = False

    @property
    def failed(self) -> bool:
        """Whether it did not succeed."""
        return bool(self.code or self.reason)


@dataclass(frozen=True)
class Snapshot:
    """What the jobs are doing; a job that has ended is listed once. `places` are those on which jobs run."""

    running: frozenset[int] = frozenset()
    ended: Mapping[int, Ended] = field(default_factory=dict)
    places: frozenset[str] = frozenset()


class LeftBehind(Protocol):
    """Jobs of a launcher that died, which may still run."""

    def clear(self, note: Callable[[str], None]) -> None:
        """End and forget them; `note` gets a sentence about them."""


class Backend(ABC):
    """A place where the jobs of one array run."""

    attempts = 1  # how often a job is started that ends through no fault of its own
    growth = 1  # how many times its memory or time a job gets at most that lacked it
    poll_seconds = 0.1  # how long to wait between two calls of `poll`, at most
    clock = Clock()
    stops: Callable[[], int] = staticmethod(lambda: 0)  # gives the signal by which the launcher is to stop; set by it

    @classmethod
    @abstractmethod
    def make(cls, array: JobArray, conf: Path, note: Callable[[str], None]) -> Backend:
        """The backend for an array; `conf` is the file of its settings, `note` gets sentences for the user."""

    @classmethod
    def left_behind(cls, log: Path) -> LeftBehind | None:
        """Jobs of an earlier launcher of the array with this log; None where jobs end with their launcher."""
        return None

    def begin(self, jobs: Sequence[int]) -> list[int]:
        """Prepare, and return the jobs to submit: all, unless some still run for a launcher that died."""
        return list(jobs)

    @abstractmethod
    def submit(self, attempts: Sequence[Attempt]) -> None:
        """Accept jobs, to run as soon as possible; called again for jobs that are tried again, which come first."""

    def exclude(self, places: frozenset[str]) -> None:
        """Start no more jobs on exactly these places, which are those that `Ended` and `Snapshot` name."""
        raise NotImplementedError(f"{type(self).__name__} names places, but cannot leave them out")

    @abstractmethod
    def poll(self) -> Snapshot:
        """What the submitted jobs do now; must be fast, whatever their number."""

    @abstractmethod
    def end(self, hurry: bool) -> bool:
        """End what still runs, wait for it, and clean up; called once, in any case; with `hurry` within two seconds.

        Whether nothing runs any more; if not, a note has said so.
        """

    @abstractmethod
    def describe(self) -> str:
        """What `submit` would do, for ``--dry-run``."""


def make_backend(name: str, array: JobArray, conf: Path, note: Callable[[str], None]) -> Backend:
    """The backend that ``--backend`` names."""
    if name not in BACKENDS:
        raise InputError(f"--backend {name}: expected {' or '.join(BACKENDS)}")
    backend: Backend = BACKENDS[name].load().make(array, conf, note)
    return backend


def left_behind(log: Path) -> LeftBehind | None:
    """Jobs that a launcher of the array with this log (its job called 'array') left on any backend when it died."""
    found = (backend.load().left_behind(log) for backend in BACKENDS.values())
    return next((jobs for jobs in found if jobs), None)
