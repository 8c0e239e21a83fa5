"""An array of commands, as ``$cmd`` is given it.

``$cmd [--mem 4G] [--num-threads n] [--gpu n] [--max-jobs-run n] [--time 2:00:00] [JOB=1:N] <log> <command …>`` as in
Kaldi. A word of the command that is a shell operator (``|``, ``>``, ``2>&1`` …) works as one; all others reach the
command as they are, blanks and quotes included.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.jobs.resources import parse_memory, parse_time

_OPERATOR = re.compile(r"\|\|?|&&|;|\d*(>>?|<)(&\d)?")
_NUMBERS = ("--num-threads", "--gpu", "--max-jobs-run", "--num-nodes")


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
    time: str = ""
    num_nodes: int = 1

    @property
    def jobs(self) -> range:
        """The numbers of the jobs."""
        return range(self.first, self.last + 1)

    @property
    def line(self) -> str:
        """The command for bash, with the name of the array where the number of a job belongs."""
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
    """Understand the words after ``$cmd``."""
    rest = list(arguments)
    options = {"--mem": "", "--num-threads": "1", "--gpu": "0", "--max-jobs-run": "0", "--time": "", "--num-nodes": "1"}
    while rest and rest[0].startswith("-"):
        if rest[0] not in options:
            raise InputError(f"unknown option {rest[0]}; there are {', '.join(options)}")
        if len(rest) < 2:
            raise InputError(f"{rest[0]} needs a value")
        options[rest[0]] = rest[1]
        if rest[0] in _NUMBERS and not re.fullmatch("[0-9]+", rest[1]):
            raise InputError(f"{rest[0]} {rest[1]}: expected a whole number")
        del rest[:2]
    if options["--mem"]:
        parse_memory(options["--mem"])
    if options["--time"]:
        parse_time(options["--time"])
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
        time=options["--time"],
        num_nodes=max(1, int(options["--num-nodes"])),
    )
