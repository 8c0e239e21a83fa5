"""The seam between the launcher and the place where jobs run: one small class.

`vpeval.jobs.launch.run` decides what is to be done: which jobs, which of them again, when to stop. A backend does it
somewhere: `vpeval.jobs.backends.local` on this machine, `vpeval.jobs.backends.slurm` on a cluster. Another scheduler is
another subclass of `Backend` and a line in `utils/run.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Ended:
    """How a job ended.

    `reason` is empty when the command itself succeeded or failed, and then `code` tells which. Otherwise it goes on
    after "job 3": what happened to the job and what to do. `again`: the job has done nothing wrong, and another attempt
    may succeed. `ends_all`: what stopped this job will stop all the others, which are ended rather than waited for.
    """

    code: int = 0
    reason: str = ""
    again: bool = False
    ends_all: bool = False


@dataclass(frozen=True)
class Snapshot:
    """What the jobs are doing; a job that has ended is told once."""

    pending: frozenset[int] = frozenset()
    running: frozenset[int] = frozenset()
    ended: Mapping[int, Ended] = field(default_factory=dict)


class Backend(ABC):
    """A place where the jobs of one array run."""

    attempts = 1  # how often a job is tried that ends through no fault of its own
    poll_seconds = 0.1  # how long to wait between two calls of `poll`, at most

    def begin(self, jobs: Sequence[int]) -> list[int]:
        """Get ready, and return the jobs to submit: all, unless some go on from a launcher that died."""
        return list(jobs)

    @abstractmethod
    def submit(self, jobs: Sequence[int]) -> None:
        """Take jobs to run as soon as there is room. Called for lost jobs once more."""

    @abstractmethod
    def poll(self) -> Snapshot:
        """What the submitted jobs do now. Must not take long, whatever their number."""

    @abstractmethod
    def end(self) -> None:
        """End what still runs, return when it is gone, and clear away; called once, whatever happened."""

    @abstractmethod
    def describe(self) -> str:
        """What `submit` would do, for ``--dry-run``."""
