"""The interface between the launcher and the place where jobs run: one small class.

`vpeval.jobs.launch.run` decides what to do: which jobs, which of them again, when to stop. A backend does it:
`vpeval.jobs.backends.local` on this machine, `vpeval.jobs.backends.slurm` on a cluster. Another scheduler is another
subclass of `Backend` and an entry in `BACKENDS`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from vpeval.core.errors import InputError
from vpeval.core.lazy import Deferred

if TYPE_CHECKING:
    from vpeval.jobs.launch import JobArray

BACKENDS = {
    "local": Deferred("vpeval.jobs.backends.local", "Local"),
    "slurm": Deferred("vpeval.jobs.backends.slurm", "Slurm"),
}
"""Subclasses of `Backend` by their names in ``--backend``."""


@dataclass(frozen=True)
class Ended:
    """How a job ended.

    `reason` is empty when the command itself succeeded or failed, and then `code` shows which. Otherwise it continues a
    sentence that begins with "job 3": what happened to the job and what to do. `again`: the job did nothing wrong, and
    another attempt may succeed. `ends_all`: the reason affects all other jobs as well, which are then ended.
    """

    code: int = 0
    reason: str = ""
    again: bool = False
    ends_all: bool = False


@dataclass(frozen=True)
class Snapshot:
    """What the jobs are doing; a job that has ended is listed once."""

    pending: frozenset[int] = frozenset()
    running: frozenset[int] = frozenset()
    ended: Mapping[int, Ended] = field(default_factory=dict)


class LeftBehind(Protocol):
    """Jobs of a launcher that died, which may still run."""

    def clear(self, note: Callable[[str], None]) -> None:
        """End and forget them; `note` gets a sentence about them."""


class Backend(ABC):
    """A place where the jobs of one array run."""

    attempts = 1  # how often a job is started that ends through no fault of its own
    poll_seconds = 0.1  # how long to wait between two calls of `poll`, at most

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
    def submit(self, jobs: Sequence[int]) -> None:
        """Accept jobs, to run as soon as possible; called again for lost jobs."""

    @abstractmethod
    def poll(self) -> Snapshot:
        """What the submitted jobs do now; must be fast, whatever their number."""

    @abstractmethod
    def end(self) -> None:
        """End what still runs, wait for it, and clean up; called once, in any case."""

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
