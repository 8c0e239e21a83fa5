"""A simulated Slurm cluster for the real launcher: its own clock, and answers to sbatch, squeue, scancel and scontrol.

Tasks do nothing but take time: their work in seconds, divided by the speed of their node. What the launcher sees is
what it sees on a cluster: answers in the words of Slurm, and status files that tasks leave.
"""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vpeval.jobs import launch, tasks
from vpeval.jobs.backends.base import Clock
from vpeval.jobs.backends.slurm import Slurm
from vpeval.jobs.backends.slurm_client import Answer
from vpeval.jobs.backends.slurm_tasks import Settings

CONF = Path(__file__).resolve().parents[2] / "conf/slurm.conf"
_REMEMBERED = 300.0  # MinJobAge
_START_SECONDS = 1.0  # from a free GPU to the begin of a task
_BROKEN_SECONDS = 2.0


@dataclass
class Machine:
    """One GPU."""

    node: str
    speed: float
    broken: bool = False


@dataclass
class Array:
    """A job array; `waiting` are the indices of tasks that have not begun."""

    number: int
    submission: int
    script: Path
    jobs: list[int]
    waiting: deque[int]
    throttle: int
    excluded: set[str]
    mem: int
    running: int = 0


@dataclass
class Simulation(Clock):
    """A cluster of `machines` with tasks of `work` seconds (by job); `hungry` jobs need more memory than 1 GB."""

    machines: Sequence[Machine]
    work: Mapping[int, float]
    hungry: frozenset[int] = frozenset()
    most_queued: int = 10**9
    most_mem: int = 10**9
    array_size: int = 1001
    time: float = 0.0
    arrays: dict[int, Array] = field(default_factory=dict)
    asked: list[float] = field(default_factory=list)  # when squeue was called
    most_running: int = 0
    refused: int = 0
    starts: dict[str, int] = field(default_factory=dict)  # by node

    def __post_init__(self) -> None:
        self._free = list(self.machines)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._live: dict[tuple[int, int], str] = {}
        self._over: deque[tuple[float, str]] = deque()
        self._count = 0

    def now(self) -> float:
        """Simulated seconds."""
        return self.time

    def wait(self, seconds: float, stops: Callable[[], int]) -> int:
        """What happens in the meantime."""
        until = self.time + seconds
        while self._events and self._events[0][0] <= until:
            self.time, _, event = heapq.heappop(self._events)
            event()
        self.time = until
        return stops()

    def call(self, command: Sequence[str], stops: Callable[[], int], seconds: float) -> Answer:
        """Slurm's commands."""
        program, *words = command
        answer: Answer = getattr(self, f"_{program}")(words)
        return answer

    def run(self, path: Path, limit: int, notes: list[str]) -> list[launch.Failure]:
        """Have the launcher run all jobs, at most `limit` at a time."""
        words = ["--gpu", "1", "--mem", "1G", "--max-jobs-run", str(limit)]
        array = launch.parse([*words, f"JOB=1:{len(self.work)}", str(path / "log/x.JOB.log"), "true"])
        backend = Slurm(array, Settings.read(CONF), notes.append, self, self.call)
        return launch.run(array, backend, note=notes.append)

    def _sbatch(self, words: Sequence[str]) -> Answer:
        options = dict(word[2:].partition("=")[::2] for word in words if word.startswith("--"))
        script, submission = Path(words[-2]), int(words[-1])
        jobs = [int(line) for line in (script.parent / f"{submission}.jobs").read_text().split()]
        if len(self._live) + sum(len(array.waiting) for array in self.arrays.values()) + len(jobs) > self.most_queued:
            self.refused += 1
            return Answer(
                1, "", "sbatch: error: AssocMaxSubmitJobLimit\nsbatch: error: Job violates accounting/QOS policy"
            )
        assert len(jobs) < self.array_size
        number, mem = len(self.arrays) + 1, int(options["mem"].rstrip("K")) >> 20
        excluded = set(options.get("exclude", "").split(","))
        if mem > self.most_mem or all(gpu.node in excluded for gpu in self.machines):
            return Answer(1, "", "sbatch: error: Requested node configuration is not available")
        throttle = int(options["array"].partition("%")[2] or 0)
        waiting = deque(range(1, len(jobs) + 1))
        self.arrays[number] = Array(number, submission, script, jobs, waiting, throttle, excluded, mem)
        self._schedule()
        return Answer(0, f"{number}\n", "")

    def _squeue(self, words: Sequence[str]) -> Answer:
        self.asked.append(self.time)
        while self._over and self._over[0][0] < self.time - _REMEMBERED:
            self._over.popleft()
        lines = [line for _, line in self._over] + list(self._live.values())
        for array in self.arrays.values():
            if array.waiting:
                tasks = f"{array.waiting[0]}-{array.waiting[-1]}%{array.throttle}"
                lines.append(f"{array.number}|{tasks}|{array.submission}|PENDING||1G|UNLIMITED|Resources")
        return Answer(0, "\n".join(lines), "")

    def _scontrol(self, words: Sequence[str]) -> Answer:
        if words[0] == "show":
            return Answer(0, f"MaxArraySize = {self.array_size}\nMaxJobCount = 10000\n", "")
        array = self.arrays[int(words[1].partition("=")[2])]
        name, _, value = words[2].partition("=")
        if name == "ExcNodeList":
            array.excluded = set(value.split(","))
        else:
            array.throttle = int(value)
        self._schedule()
        return Answer(0, "", "")

    def _scancel(self, words: Sequence[str]) -> Answer:
        return Answer(0, "", "")

    def _at(self, seconds: float, event: Callable[[], None]) -> None:
        self._count += 1
        heapq.heappush(self._events, (self.time + seconds, self._count, event))

    def _schedule(self) -> None:
        """Start what can start, the oldest array first."""
        for array in self.arrays.values():
            while self._free and array.waiting and (not array.throttle or array.running < array.throttle):
                place = next((n for n, gpu in enumerate(self._free) if gpu.node not in array.excluded), None)
                if place is None:
                    break
                self._start(array, array.waiting.popleft(), self._free.pop(place))

    def _start(self, array: Array, index: int, gpu: Machine) -> None:
        job = array.jobs[index - 1]
        array.running += 1
        self.starts[gpu.node] = self.starts.get(gpu.node, 0) + 1
        line = f"{array.number}|{index}|{array.submission}|%s|{gpu.node}|1G|UNLIMITED|None"
        self._live[array.number, index] = line % "RUNNING"
        self.most_running = max(self.most_running, len(self._live))
        seconds, state, code = self.work[job] / gpu.speed, "COMPLETED", 0
        if gpu.broken:
            seconds, state, code = _BROKEN_SECONDS, "FAILED", 1
        elif job in self.hungry and array.mem < 2:
            seconds, state, code = seconds / 2, "OUT_OF_MEMORY", 137

        def end() -> None:
            status = array.script.parent / "status" / str(array.submission) / str(job)
            status.write_text(f"{code} {round(seconds)} {gpu.node}\n")
            del self._live[array.number, index]
            self._over.append((self.time, line % state))
            array.running -= 1
            self._free.append(gpu)
            self._schedule()

        self._at(_START_SECONDS + seconds, end)


def study(count: int, nodes: int, hungry: int = 5) -> Simulation:
    """About `count` tasks as a batch cuts them, on nodes of four GPUs whose speeds differ, of which one fails all."""
    rng = np.random.default_rng(0)
    speeds = rng.uniform(0.8, 1.2, nodes)
    gpus = [Machine(f"n{node}", float(speeds[node]), broken=node == 1) for node in range(nodes) for _ in range(4)]
    seconds = np.full(count * 20, 600 / 20.77)
    lengths = [float(seconds[items.start : items.stop].sum()) for items in tasks.cut(seconds.tolist(), len(gpus), 600)]
    work = {job: length * float(rng.uniform(0.7, 1.3)) for job, length in enumerate(lengths, start=1)}
    chosen = frozenset(int(job) for job in rng.choice(len(work), hungry, replace=False) + 1)
    return Simulation(gpus, work, chosen)


def ideal(simulation: Simulation) -> float:
    """Seconds that the work takes if all GPUs that work are busy all the time."""
    return sum(simulation.work.values()) / sum(gpu.speed for gpu in simulation.machines if not gpu.broken)
