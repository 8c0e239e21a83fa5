"""What a Slurm launcher keeps beside its logs, so that another can take up its jobs when it has died.

``.x.array.log.slurm/`` holds ``run.json`` (whose jobs these are), ``task.sh``, a list of jobs for every submission
(``1.jobs``), what tasks have printed before they know their log (``out/``) and their status files
(``status/<job>.<submission>``). It goes when the launcher has seen all its jobs end; what is still there has been left
by one that died.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.jobs.array import JobArray
from vpeval.jobs.backends import slurm_queue
from vpeval.jobs.visibility import refresh

_GONE_SECONDS = 300.0
_STATUS = re.compile(rb"(\d+) (\d+) (\S*)\n")


@dataclass(frozen=True)
class Status:
    """What a task says at its end."""

    job: int
    submission: int
    code: int
    node: str


class Control:
    """The directory of one launcher."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names: set[str] = set()
        self.statuses: dict[int, list[Status]] = {}

    @classmethod
    def of(cls, array: JobArray) -> Control:
        """The one that belongs to an array: it depends on the logs only."""
        return cls.beside(array.log_of("array"))

    @classmethod
    def beside(cls, log: Path) -> Control:
        """The one beside a log whose job is called 'array'."""
        return cls(log.with_name(f".{log.name}.slurm"))

    @property
    def lock(self) -> Path:
        """The file that a launcher holds."""
        return self.path.with_suffix(".lock")

    @property
    def name(self) -> str:
        """The name of the Slurm jobs; '' if there is no run here."""
        try:
            return str(json.loads((self.path / "run.json").read_text())["name"])
        except (FileNotFoundError, NotADirectoryError):
            return ""
        except (ValueError, KeyError, TypeError):
            raise InputError("is damaged; end its jobs with scancel, then remove the directory", self.path) from None

    def belongs_to(self, array: JobArray) -> bool:
        """Whether the run that was left here is of the same command."""
        found = json.loads((self.path / "run.json").read_text())
        return bool(found.get("identity") == _identity(array))

    def begin(self, array: JobArray, script: str) -> None:
        """Make the directory of a new run."""
        shutil.rmtree(self.path, ignore_errors=True)
        for folder in ("status", "out"):
            (self.path / folder).mkdir(parents=True)
        write_text(self.path / "task.sh", script)
        stem = re.sub(r"[^A-Za-z0-9_]+", "-", Path(array.log).name.split(".")[0])
        name = f"{stem}-{secrets.token_hex(4)}"
        write_text(self.path / "run.json", json.dumps({"name": name, "identity": _identity(array)}) + "\n")

    def add_submission(self, jobs: Sequence[int]) -> int:
        """Note jobs that are about to be submitted; returns the number of the submission."""
        number = 1 + max(self.submissions(), default=0)
        write_text(self.path / f"{number}.jobs", "".join(f"{job}\n" for job in jobs))
        return number

    def submissions(self) -> dict[int, list[int]]:
        """The jobs of every submission so far."""
        files = sorted(self.path.glob("*.jobs"), key=lambda path: int(path.stem))
        return {int(file.stem): [int(job) for job in file.read_text().split()] for file in files}

    def read_statuses(self) -> None:
        """Look for new status files. A file counts by what is in it: one that is not whole yet is read again."""
        folder = self.path / "status"
        refresh(folder)
        for entry in os.scandir(folder):
            if entry.name in self._names or entry.name.startswith(".") or entry.name.endswith(".tmp"):
                continue
            match = _STATUS.fullmatch(Path(entry.path).read_bytes())
            if match:
                job, submission = map(int, entry.name.split("."))
                self._names.add(entry.name)
                status = Status(job, submission, int(match[1]), match[3].decode())
                self.statuses.setdefault(job, []).append(status)

    def remove(self) -> None:
        """Forget the run, whose jobs have all ended."""
        shutil.rmtree(self.path, ignore_errors=True)


def end_jobs(name: str) -> int:
    """Cancel all jobs called `name`, wait until they are gone, and return how many there were."""
    deadline, told = time.monotonic() + _GONE_SECONDS, 0
    while True:
        live = [entry for entry in slurm_queue.entries(name) if entry.is_live]
        told = max(told, len(live))
        if not live:
            return told
        if time.monotonic() > deadline:
            raise slurm_queue.NoAnswer(f"{len(live)} of its jobs do not end")
        if ending := sorted({entry.array for entry in live if entry.state != "COMPLETING"}):
            slurm_queue.cancel(ending)
        time.sleep(0.2)


def is_left_behind(log: Path) -> bool:
    """Whether a launcher with this log (its job called 'array') has died and its jobs may still run."""
    return bool(Control.beside(log).name)


def clear(log: Path, note: Callable[[str], None]) -> None:
    """End and forget what a launcher with this log left behind, as it is of no use any more."""
    control = Control.beside(log)
    if name := control.name:
        try:
            if count := end_jobs(name):
                note(f"{count} jobs of an earlier, different call were still there ({name}); they were cancelled")
        except slurm_queue.NoAnswer as error:
            raise InputError(f"jobs of an earlier call cannot be cancelled: {error}", control.path) from None
        control.remove()


def _identity(array: JobArray) -> str:
    return hashlib.sha256(repr((astuple(array), str(Path.cwd()))).encode()).hexdigest()
