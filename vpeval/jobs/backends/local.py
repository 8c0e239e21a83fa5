"""Jobs on this machine, as many at a time as it has cores, memory and GPUs for.

Jobs end when the launcher ends, however it ends: on Ctrl-C or a signal they are stopped and reaped, and when it is
killed outright, `vpeval.jobs.guard` ends them.
"""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from vpeval.core import gpus
from vpeval.core.errors import InputError
from vpeval.core.processes import memory, parent_death_hook
from vpeval.jobs import guard
from vpeval.jobs.backends.base import Attempt, Backend, Ended, Snapshot
from vpeval.jobs.launch import JobArray, parse_memory, parse_time

_GPU = "GPU "


class Local(Backend):
    """Child processes of the launcher."""

    def __init__(self, array: JobArray, note: Callable[[str], None] = lambda sentence: None) -> None:
        self._leases = gpus.Leases(gpus.visible() if array.gpus or array.gpu_if_any else gpus.Gpus())
        present = len(self._leases.gpus.names)
        self._array, self._limit, self._note = array, parallel_jobs(array, present), note
        self._count = array.gpus or int(array.gpu_if_any and present > 0)
        self._has_waited = False
        self._seconds = parse_time(array.time) if array.time else 0
        self._waiting: list[Attempt] = []
        self._excluded = frozenset[str]()
        self._running: dict[int, _Running] = {}
        self._watch: guard.Guard | None = None

    @classmethod
    def make(cls, array: JobArray, conf: Path, note: Callable[[str], None]) -> Local:
        """There is nothing to set."""
        return cls(array, note)

    def begin(self, jobs: Sequence[int]) -> list[int]:
        """Start the guard."""
        # Should the launcher be killed, its GPUs are not free before the guard has ended the jobs.
        self._watch = guard.Guard([self._leases.file] if self._count else [])
        return list(jobs)

    def submit(self, attempts: Sequence[Attempt]) -> None:
        """Start as many as the machine has resources for."""
        self._waiting[:0] = attempts
        self._fill()

    def exclude(self, places: frozenset[str]) -> None:
        """Start no more jobs on these GPUs."""
        self._excluded = places

    def poll(self) -> Snapshot:
        """Reap what has ended and start others in its place."""
        assert self._watch
        ended: dict[int, Ended] = {}
        for job, its in list(self._running.items()):
            seconds = time.time() - its.since
            late = 0 < self._seconds < seconds
            if late:
                guard.end_groups([its.child.pid], reap=its.child.poll)
            elif its.child.poll() is None:
                continue
            code = its.child.wait()
            self._watch.remove(its.child)
            del self._running[job]
            self._leases.give_back(job)
            _log_end(self._array, job, code, seconds)
            ended[job] = Ended(code, _out_of_time(self._array.time)) if late else Ended(code, place=its.place)
        self._fill()
        places = frozenset(its.place for its in self._running.values() if its.place)
        return Snapshot(frozenset(self._running), ended, places)

    def end(self, hurry: bool) -> bool:
        """Stop what runs."""
        if self._watch:
            self._watch.end([its.child for its in self._running.values()])
            self._watch = None
        self._leases.close()
        return True

    def describe(self) -> str:
        """The commands."""
        array = self._array
        return (
            f"{len(array.jobs)} jobs on this machine, {self._limit} at a time; the first one is\n"
            + array.shell_line(array.first)
        )

    def _fill(self) -> None:
        assert self._watch
        while self._waiting and len(self._running) < self._limit:
            variables, place = dict[str, str](), ""
            if self._count:
                avoid = [name.removeprefix(_GPU) for name in self._waiting[0].avoid | self._excluded]
                names = self._leases.take(self._waiting[0].job, self._count, self._array.jobs_per_gpu, avoid)
                if not names:
                    self._note_wait()
                    return
                variables = self._leases.variables(names)
                # A GPU may be broken while others work; of several it is not known which one.
                place = f"{_GPU}{names[0]}" if len(names) == 1 < len(self._leases.gpus.names) else ""
            job = self._waiting.pop(0).job
            self._running[job] = _Running(_start(self._array, job, variables), place, time.time())
            self._watch.add(self._running[job].child)

    def _note_wait(self) -> None:
        """Say who has the GPUs, once, where it is not this launcher."""
        holders = self._leases.holders()
        if holders and not self._running and not self._has_waited:
            self._has_waited = True
            names = " and ".join(f"process {pid}" for pid in holders)
            self._note(f"waiting for GPUs, which {names} of this machine {'have' if len(holders) > 1 else 'has'}")


def _out_of_time(limit: str) -> str:
    return f"was ended after its time (--time {limit}); give it more, or smaller jobs"


@dataclass(frozen=True)
class _Running:
    child: subprocess.Popen[bytes]
    place: str
    since: float


def _start(array: JobArray, job: int, variables: Mapping[str, str]) -> subprocess.Popen[bytes]:
    log = array.log_of(job)
    log.parent.mkdir(parents=True, exist_ok=True)
    line = array.shell_line(job)
    environment = {**os.environ, **variables}
    for library in ("OMP", "OPENBLAS", "MKL"):
        environment[f"{library}_NUM_THREADS"] = str(array.num_threads)
    with open(log, "wb") as file:
        file.write(f"# {line}\n# Started at {time.ctime()}\n#\n".encode())
        file.flush()
        # A group of its own, so that a stop reaches the whole pipeline and not only its shell.
        return subprocess.Popen(
            ["bash", "-o", "pipefail", "-c", line],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
            preexec_fn=parent_death_hook(),
        )


def parallel_jobs(array: JobArray, present: int = 0) -> int:
    """How many jobs of an array run at a time on this machine, with so many GPUs present."""
    if array.num_nodes > 1:
        raise InputError(f"--num-nodes {array.num_nodes}: this machine is one node; use a cluster (docs/cluster.md)")
    count = len(array.jobs)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Like Kaldi: a few jobs more than cores are started at once rather than in a short second round.
    limit = count if count < 1.4 * cores else cores
    if present < array.gpus:
        raise InputError(
            f"--gpu {array.gpus}: {present} GPUs of this machine are visible; ask for fewer, see nvidia-smi -L and "
            "CUDA_VISIBLE_DEVICES, or leave it out to use the CPU"
        )
    if array.jobs_per_gpu and present:
        limit = min(limit, present // max(1, array.gpus) * array.jobs_per_gpu)
    if array.mem:
        total, free = memory()
        if total and parse_memory(array.mem) > total:
            raise InputError(
                f"--mem {array.mem}: this machine has {total / (1 << 30):.1f} GB; use another, or ask for less"
            )
        limit = min(limit, max(1, free // parse_memory(array.mem))) if total else limit
    return min(limit, array.max_jobs) if array.max_jobs else limit


def _log_end(array: JobArray, job: int, code: int, seconds: float) -> None:
    status = code if code >= 0 else 128 - code  # as shells number the end by a signal
    with open(array.log_of(job), "a") as file:
        file.write(f"# Accounting: time={seconds:.0f} threads={array.num_threads}\n")
        file.write(f"# Ended (code {status}) at {time.ctime()}, elapsed time {seconds:.0f} seconds\n")
