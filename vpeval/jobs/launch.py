"""The job launcher behind ``$cmd``: parse an array of commands, run it on a backend, and report what failed.

``$cmd [--mem 4G] [--num-threads n] [--gpu n|auto] [--jobs-per-gpu n] [--max-jobs-run n] [--time 2:00:00] [JOB=1:N]
<log> <command …>`` as in Kaldi. A word of the command that is a shell operator (``|``, ``>``, ``2>&1`` …) works as one;
all others reach the command unchanged, with their blanks and quotes.
"""

from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from vpeval.core import gpus
from vpeval.core.errors import InputError
from vpeval.core.processes import alive
from vpeval.jobs.backends.base import Attempt, Backend, Ended
from vpeval.jobs.progress import Meter, Progress
from vpeval.jobs.retries import Retries

FREE_MEMORY_SELDOM = {
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "4294967296",
    "MALLOC_TOP_PAD_": "67108864",
}
"""For training: giving memory back to the system after every step would cost a third of the time."""
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_OPERATOR = re.compile(r"\|\|?|&&|;|\d*(>>?|<)(&\d)?")
_NUMBERS = ("--num-threads", "--jobs-per-gpu", "--max-jobs-run", "--num-nodes")
_OWN = "run.py"


def launcher(cmd: str) -> list[str]:
    """The words of a launcher such as ``utils/run.py --max-jobs-run 4``."""
    try:
        return shlex.split(cmd)
    except ValueError as error:
        raise InputError(f"launcher {cmd}: {error}") from None


def request_gpus(words: Sequence[str], jobs_per_gpu: int) -> list[str]:
    """The launcher `words`, asked for a GPU for each job where the machine has some; other requests in it hold.

    Only a launcher of ours is asked, as others take a number.
    """
    if Path(words[0]).name != _OWN or "--gpu" in words:
        return list(words)
    share = [] if "--jobs-per-gpu" in words else ["--jobs-per-gpu", str(jobs_per_gpu)]
    return [*words, "--gpu", "auto", *share]


def jobs_on_gpus(words: Sequence[str]) -> int:
    """How many jobs the GPUs of this machine take at a time for the launcher `words`; 0 where they set no limit."""

    def option(name: str, default: str) -> str:
        return words[words.index(name) + 1] if name in words[:-1] else default

    count, share = option("--gpu", "0"), option("--jobs-per-gpu", "1")
    if Path(words[0]).name != _OWN or count == "0" or not share.isdecimal() or option("--backend", "local") != "local":
        return 0
    return len(gpus.visible().names) // (int(count) if count.isdecimal() else 1) * int(share)


def run_command(
    cmd: str,
    log: Path,
    command: Sequence[str],
    threads: int = 1,
    variables: Mapping[str, str] | None = None,
    request: Sequence[str] = (),
) -> None:
    """Run one command by the launcher `cmd`; a failure is an InputError that names the log.

    `request` are further options of the launcher, such as ``--num-nodes 2``.
    """
    line = [*launcher(cmd), "--num-threads", str(threads), *request, str(log), *command]
    if subprocess.run(line, check=False, env={**os.environ, **(variables or {})}).returncode:
        name = Path(command[0]).stem
        raise InputError(f"{name} failed (see above); fix the cause and run the same command again", log)


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
    gpu_if_any: bool = False
    """One GPU for each job, but only where the machine has some (``--gpu auto``)."""

    jobs_per_gpu: int = 1
    """0: any number."""

    max_jobs: int = 0
    mem: str = ""
    time: str = ""
    num_nodes: int = 1

    @property
    def jobs(self) -> range:
        """The numbers of the jobs."""
        return range(self.first, self.last + 1)

    @property
    def line(self) -> str:
        """The command for bash, with the name of the array in place of the number of a job."""
        return " ".join(word if _OPERATOR.fullmatch(word) else shlex.quote(word) for word in self.words)

    def log_of(self, job: int | str) -> Path:
        """Log file of one job."""
        return Path(self._fill(self.log, job))

    def shell_line(self, job: int) -> str:
        """The command of one job for bash."""
        return self._fill(self.line, job)

    def _fill(self, text: str, job: int | str) -> str:
        return text.replace(self.name, str(job)) if self.name else text


def parse(arguments: Sequence[str]) -> JobArray:
    """The job array that the words after ``$cmd`` describe."""
    options, rest = _parse_options(arguments)
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
        gpus=0 if options["--gpu"] == "auto" else int(options["--gpu"]),
        gpu_if_any=options["--gpu"] == "auto",
        jobs_per_gpu=int(options["--jobs-per-gpu"]),
        max_jobs=int(options["--max-jobs-run"]),
        mem=options["--mem"],
        time=options["--time"],
        num_nodes=max(1, int(options["--num-nodes"])),
    )


def _parse_options(arguments: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """The options at the beginning, and the words after them."""
    rest = list(arguments)
    options = {"--mem": "", "--num-threads": "1", "--gpu": "0", "--jobs-per-gpu": "1", "--max-jobs-run": "0"}
    options |= {"--time": "", "--num-nodes": "1"}
    while rest and rest[0].startswith("-"):
        if rest[0] not in options:
            raise InputError(f"unknown option {rest[0]}; there are {', '.join(options)}")
        if len(rest) < 2:
            raise InputError(f"{rest[0]} needs a value")
        options[rest[0]] = rest[1]
        if rest[0] in _NUMBERS and not re.fullmatch("[0-9]+", rest[1]):
            raise InputError(f"{rest[0]} {rest[1]}: expected a whole number")
        if rest[0] == "--gpu" and not re.fullmatch("[0-9]+|auto", rest[1]):
            raise InputError(f"--gpu {rest[1]}: expected a whole number, or auto: a GPU where the machine has some")
        del rest[:2]
    if options["--mem"]:
        parse_memory(options["--mem"])
    if options["--time"]:
        parse_time(options["--time"])
    return options, rest


def parse_memory(text: str) -> int:
    """Bytes of a ``--mem``; a bare number is megabytes.

    >>> parse_memory("4G") == 4 << 30, parse_memory("500") == parse_memory("500M")
    (True, True)
    """
    match = re.fullmatch(r"([0-9]+)([KMGT]?)B?", text.upper())
    if not match or not int(match[1]):
        raise InputError(f"--mem {text}: expected a number with K, M, G or T, such as 4G")
    return int(match[1]) * _UNITS[match[2] or "M"]


def parse_time(text: str) -> int:
    """Seconds of a ``--time``: minutes, minutes:seconds, hours:minutes:seconds, or days-hours and on.

    >>> parse_time("90"), parse_time("1:30"), parse_time("2:00:00"), parse_time("1-12"), parse_time("1-0:30")
    (5400, 90, 7200, 129600, 88200)
    """
    match = re.fullmatch(r"(?:([0-9]+)-)?([0-9]+)(?::([0-9]+))?(?::([0-9]+))?", text)
    if not match:
        raise InputError(f"--time {text}: expected minutes, hours:minutes:seconds or days-hours:minutes:seconds")
    days, *parts = match.groups()
    numbers = [int(part) for part in parts if part is not None]
    # Without days, the last number of two or three is seconds, and one alone is minutes.
    units = (3600, 60, 1)[0 if days is not None or len(numbers) == 3 else 1 :]
    seconds = 86400 * int(days or 0) + sum(number * unit for number, unit in zip(numbers, units, strict=False))
    if not seconds:
        raise InputError(f"--time {text}: a job needs more than no time at all")
    return seconds


@dataclass(frozen=True)
class Failure:
    """A job that failed."""

    job: int
    code: int
    log: Path
    reason: str = ""
    place: str = ""

    def describe(self) -> str:
        """The job, how it ended, the end of its log, and where the log is."""
        how = f"was killed by signal {-self.code}" if self.code < 0 else f"failed with exit code {self.code}"
        lines = [line for line in _read(self.log).splitlines() if not line.startswith(("#", "progress: "))]
        tail = "".join(f"\n  | {line}" for line in lines[-5:])
        if self.reason and not tail:
            return f"job {self.job} {self.reason}"
        where = f" on {self.place}" if self.place and not self.reason else ""
        return f"job {self.job} {self.reason or how}{where}; the end of {self.log} is:{tail or ' empty'}"


def _failure(array: JobArray, job: int, end: Ended) -> Failure:
    reason = "; ".join(part for part in (end.reason, end.remedy) if part)
    return Failure(job, end.code, array.log_of(job), reason, end.place)


class Interrupted(Exception):
    """The launcher got a signal to stop."""

    def __init__(self, number: int) -> None:
        super().__init__(f"stopped by signal {number}")
        self.number, self.jobs_ended = number, False


def run(
    array: JobArray,
    backend: Backend,
    show: Callable[[Progress], None] = lambda progress: None,
    note: Callable[[str], None] = lambda sentence: None,
) -> list[Failure]:
    """Have `backend` run the jobs; return those that failed.

    Jobs may be tried again (`vpeval.jobs.retries`), and `note` gets sentences about them. When a job fails for a reason
    that affects all jobs, or this process is stopped, the others are ended as well.
    """
    left, failures, clock = set(array.jobs), list[Failure](), backend.clock
    retries, meter, began = Retries(backend.attempts, backend.growth, note), Meter(array.log_of, len(left)), clock.now()
    with _stops() as stops:
        backend.stops, stopped = stops, None
        try:
            backend.submit([Attempt(job) for job in backend.begin(array.jobs)])
            while left:
                # Often at first, as short jobs end soon; after a day a few seconds do not matter.
                if number := clock.wait(min(backend.poll_seconds, max(0.3, (clock.now() - began) / 20)), stops):
                    raise Interrupted(number)
                snapshot = backend.poll()
                verdict = retries.judge(snapshot)
                left -= verdict.ended.keys()
                bad = {job: end for job, end in verdict.ended.items() if end.failed}
                failures += [_failure(array, job, end) for job, end in bad.items()]
                show(meter.read(snapshot.running, verdict.ended, len(failures)))
                if any(end.ends_all for end in bad.values()):
                    break
                if verdict.excluded is not None:
                    backend.exclude(verdict.excluded)
                if verdict.again:
                    backend.submit(verdict.again)
        except Interrupted as stop:
            stopped = stop
            raise
        finally:
            ended = backend.end(hurry=stopped is not None)
            if stopped:
                stopped.jobs_ended = ended
    retries.summarize()
    return sorted(failures, key=lambda failure: failure.job)


@contextmanager
def _stops() -> Iterator[Callable[[], int]]:
    """A function that returns the signal to stop by, or 0; the end of the parent process counts as one.

    The handlers raise nothing: they could do so while a job is being started, which would then be lost.
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


def _orphan_check() -> Callable[[], bool]:
    """A function that checks whether the parent process or the recipe above it (VPEVAL_RUN_PID) has ended."""
    parent = os.getppid()
    recipe = os.environ.get("VPEVAL_RUN_PID", "")

    def orphaned() -> bool:
        return os.getppid() != parent or (recipe.isdecimal() and not alive(int(recipe)))

    return orphaned


def _read(path: Path) -> str:
    return path.read_text(errors="replace") if path.exists() else ""
