"""The job launcher behind ``$cmd``: an array of commands, each with a log of its own.

``$cmd [--mem 4G] [--num-threads n] [--gpu n] [--max-jobs-run n] [JOB=1:N] <log> <command …>`` as in Kaldi.
`parse` turns that line into a `JobArray`, which every backend understands; `run_local` is the backend for one
machine. A word of the command that is a shell operator (``|``, ``>``, ``2>&1`` …) works as one; all others reach
the command as they are, blanks and quotes included.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.jobs import guard
from vpeval.jobs.processes import die_with_parent

_OPERATOR = re.compile(r"\|\|?|&&|;|\d*(>>?|<)(&\d)?")
_PROGRESS = re.compile(rb"^progress: (\d+)/(\d+)$", re.MULTILINE)
_POLL_SECONDS = 0.1


@dataclass(frozen=True)
class JobArray:
    """Jobs `first` to `last`: the same command with the word `name` replaced by the number of the job."""

    name: str
    first: int
    last: int
    log: str
    words: tuple[str, ...]
    num_threads: int = 1
    gpus: int = 0
    max_jobs: int = 0
    mem: str = ""

    def log_of(self, job: int) -> Path:
        """Log file of one job."""
        return Path(self._fill(self.log, job))

    def shell_line(self, job: int) -> str:
        """The command of one job for bash."""
        words = (self._fill(word, job) for word in self.words)
        return " ".join(word if _OPERATOR.fullmatch(word) else shlex.quote(word) for word in words)

    def _fill(self, text: str, job: int) -> str:
        return text.replace(self.name, str(job)) if self.name else text


@dataclass(frozen=True)
class Failure:
    """A job that did not end well."""

    job: int
    code: int
    log: Path

    def describe(self) -> str:
        """What a participant needs to see: which job, how it ended, the end of its log, and where the rest is."""
        how = f"was killed by signal {-self.code}" if self.code < 0 else f"failed with exit code {self.code}"
        lines = [line for line in _read(self.log).splitlines() if not line.startswith(("#", "progress: "))]
        tail = "".join(f"\n  | {line}" for line in lines[-5:])
        return f"job {self.job} {how}; the end of {self.log} is:{tail or ' empty'}"


def parse(arguments: Sequence[str]) -> JobArray:
    """Understand the words after ``$cmd``."""
    rest = list(arguments)
    options = {"--mem": "", "--num-threads": "1", "--gpu": "0", "--max-jobs-run": "0"}
    while rest and rest[0].startswith("-"):
        if rest[0] not in options:
            raise InputError(f"unknown option {rest[0]}; there are {', '.join(options)}")
        if len(rest) < 2:
            raise InputError(f"{rest[0]} needs a value")
        options[rest[0]] = rest[1]
        if rest[0] != "--mem" and not re.fullmatch("[0-9]+", rest[1]):
            raise InputError(f"{rest[0]} {rest[1]}: expected a whole number")
        del rest[:2]
    name, first, last = "", 1, 1
    if rest and (match := re.fullmatch(r"([A-Za-z_]\w*)=(\d+)(?::(\d+))?", rest[0])):
        name, first, last = match[1], int(match[2]), int(match[3] or match[2])
        if not 1 <= first <= last:
            raise InputError(f"{rest[0]}: expected JOB=<first>:<last> with 1 <= first <= last")
        del rest[0]
    if len(rest) < 2:
        raise InputError("expected a log file and a command")
    if re.match(r"\w+=", rest[0]):
        raise InputError(f"{rest[0]}: expected JOB=<first>:<last> with whole numbers, then the log file")
    if name and last > first and name not in rest[0]:
        raise InputError(f"log file {rest[0]} must contain {name}, or {last - first + 1} jobs would share it")
    return JobArray(
        name,
        first,
        last,
        rest[0],
        tuple(rest[1:]),
        num_threads=max(1, int(options["--num-threads"])),
        gpus=int(options["--gpu"]),
        max_jobs=int(options["--max-jobs-run"]),
        mem=options["--mem"],
    )


def run_local(array: JobArray, progress: Callable[[int, int], None] | None = None) -> list[Failure]:
    """Run the jobs on this machine, as many at a time as there are cores; return those that failed.

    Children end when this process ends, however it ends: on Ctrl-C or a signal they are stopped and reaped, and
    when this process or the run that started it is killed outright, a guard sees to it.
    """
    waiting = list(range(array.first, array.last + 1))
    running: dict[int, _Running] = {}
    failures: list[Failure] = []
    started: list[int] = []
    limit = _parallel_jobs(array)
    orphaned = _orphan_check()
    # A handler that raised could do so while a child is being started, which nobody would then know of.
    stops: list[int] = []
    signals = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    old_handlers = {number: signal.signal(number, lambda got, _: stops.append(got)) for number in signals}
    watch = _Guard()
    try:
        while waiting or running:
            while waiting and len(running) < limit:
                job = waiting.pop(0)
                slot = min(set(range(limit)) - {other.slot for other in running.values()})
                running[job] = _Running(_start(array, job, slot), slot, time.time())
                watch.add(running[job].child)
                started.append(job)
            time.sleep(_POLL_SECONDS)
            for job in [job for job, its in running.items() if its.child.poll() is not None]:
                ended = running.pop(job)
                watch.remove(ended.child)
                code = ended.child.returncode
                _log_end(array, job, code, time.time() - ended.since)
                if code != 0:
                    failures.append(Failure(job, code, array.log_of(job)))
            if orphaned():
                stops.append(signal.SIGTERM)
            if stops:
                raise Interrupted(stops[0])
            if progress:
                _report(array, started, progress)
    finally:
        watch.end([its.child for its in running.values()])
        for number, handler in old_handlers.items():
            signal.signal(number, handler)
    return failures


class Interrupted(Exception):
    """The launcher was told to stop; its jobs have been stopped."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by signal {number}")
        self.number = number


@dataclass(frozen=True)
class _Running:
    child: subprocess.Popen[bytes]
    slot: int
    since: float


class _Guard:
    """The other end of `vpeval.jobs.guard`."""

    def __init__(self) -> None:
        # A session of its own, so that what ends this process does not end the guard as well.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def add(self, child: subprocess.Popen[bytes]) -> None:
        self._tell(f"+{child.pid}\n")

    def remove(self, child: subprocess.Popen[bytes]) -> None:
        self._tell(f"-{child.pid}\n")

    def end(self, children: Iterable[subprocess.Popen[bytes]]) -> None:
        """End all that is still watched; `children` are reaped, as a group lasts until its leader is."""
        assert self._process.stdin
        self._process.stdin.close()
        while self._process.poll() is None:
            for child in children:
                child.poll()
            time.sleep(_POLL_SECONDS / 10)

    def _tell(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line.encode())
        self._process.stdin.flush()


def _start(array: JobArray, job: int, slot: int) -> subprocess.Popen[bytes]:
    log = array.log_of(job)
    log.parent.mkdir(parents=True, exist_ok=True)
    line = array.shell_line(job)
    environment = dict(os.environ)
    for library in ("OMP", "OPENBLAS", "MKL"):
        environment[f"{library}_NUM_THREADS"] = str(array.num_threads)
    if array.gpus:
        first = slot * array.gpus
        environment["CUDA_VISIBLE_DEVICES"] = ",".join(str(first + gpu) for gpu in range(array.gpus))
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
            preexec_fn=die_with_parent,
        )


def _parallel_jobs(array: JobArray) -> int:
    count = array.last - array.first + 1
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    # Like Kaldi: a few jobs more than cores are rather started at once than left for a lonely second round.
    limit = count if count < 1.4 * cores else cores
    if array.gpus:
        present = _count_gpus()
        if present < array.gpus:
            raise InputError(f"--gpu {array.gpus}: this machine has {present} GPUs; leave it out to use the CPU")
        limit = min(limit, present // array.gpus)
    return min(limit, array.max_jobs) if array.max_jobs else limit


def _count_gpus() -> int:
    try:
        listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return 0
    return listing.stdout.count("GPU ") if listing.returncode == 0 else 0


def _orphan_check() -> Callable[[], bool]:
    """A test for "who started me is gone": the direct parent, and the recipe (VPEVAL_RUN_PID) above it."""
    parent = os.getppid()
    recipe = os.environ.get("VPEVAL_RUN_PID", "")

    def orphaned() -> bool:
        return os.getppid() != parent or (recipe.isdecimal() and not _alive(int(recipe)))

    return orphaned


def _alive(pid: int) -> bool:
    with suppress(OSError):  # no such process, or no /proc on this system
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z"  # dead, and nobody has noticed
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _log_end(array: JobArray, job: int, code: int, seconds: float) -> None:
    status = code if code >= 0 else 128 - code  # as shells number the end by a signal
    with open(array.log_of(job), "a") as file:
        file.write(f"# Accounting: time={seconds:.0f} threads={array.num_threads}\n")
        file.write(f"# Ended (code {status}) at {time.ctime()}, elapsed time {seconds:.0f} seconds\n")


def _report(array: JobArray, jobs: list[int], progress: Callable[[int, int], None]) -> None:
    done = total = 0
    for job in jobs:
        if counts := _last_progress(array.log_of(job)):
            done, total = done + counts[0], total + counts[1]
    if total:
        progress(done, total)


def _last_progress(log: Path) -> tuple[int, int] | None:
    """The newest ``progress: 12/50`` line that a job has printed into its log."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, log.stat().st_size - 2000))
            found = _PROGRESS.findall(file.read())
    except FileNotFoundError:
        return None
    return (int(found[-1][0]), int(found[-1][1])) if found else None


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
