"""The directory of a Slurm launcher, next to its logs, with which another launcher resumes the jobs of one that died.

``.x.array.log.slurm/`` holds ``run.json`` (the name and command of the jobs), ``task.sh``, a list of jobs for every
submission (``1.jobs``), the output of tasks before they know their log (``out/``) and their status files
(``status/<submission>/<job>``). ``given_up`` says that the jobs were cancelled and nobody has seen them end yet. A
launcher removes the directory when all its jobs have ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Sequence
from dataclasses import astuple
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.jobs.backends.slurm_client import Client, NoAnswer
from vpeval.jobs.backends.slurm_tasks import Status
from vpeval.jobs.launch import JobArray
from vpeval.jobs.shared_disk import refresh

_STATUS = re.compile(rb"(\d+) (\d+) (\S*)\n")


class Control:
    """The directory of one launcher."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names: set[tuple[int, str]] = set()
        self._submissions = 0
        self.statuses: dict[int, list[Status]] = {}

    @classmethod
    def for_log(cls, log: Path) -> Control:
        """The one next to the log of an array, which is the log of a job called 'array'."""
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
        """Whether the run that was left here is of the same command, and shall go on."""
        found = json.loads((self.path / "run.json").read_text())
        return bool(found.get("identity") == _identity(array)) and not self._given_up.exists()

    def begin(self, array: JobArray, script: str) -> None:
        """Make the directory of a new run."""
        shutil.rmtree(self.path, ignore_errors=True)
        for name in ("status", "out"):
            (self.path / name).mkdir(parents=True)
        write_text(self.path / "task.sh", script)
        stem = re.sub(r"[^A-Za-z0-9_]+", "-", Path(array.log).name.split(".")[0])
        name = f"{stem}-{secrets.token_hex(4)}"
        write_text(self.path / "run.json", json.dumps({"name": name, "identity": _identity(array)}) + "\n")

    def add_submission(self, jobs: Sequence[int]) -> int:
        """Store which jobs are about to be submitted; return the number of the submission."""
        self._submissions = number = 1 + (self._submissions or max(self.submissions(), default=0))
        (self.path / "status" / str(number)).mkdir(exist_ok=True)
        write_text(self.path / f"{number}.jobs", "".join(f"{job}\n" for job in jobs))
        return number

    def submissions(self) -> dict[int, list[int]]:
        """The jobs of every submission so far."""
        files = sorted(self.path.glob("*.jobs"), key=lambda path: int(path.stem))
        return {int(file.stem): [int(job) for job in file.read_text().split()] for file in files}

    def read_statuses(self, submissions: Iterable[int]) -> None:
        """Read new status files of these submissions; one that is incomplete is read again the next time."""
        for submission in submissions:
            directory = self.path / "status" / str(submission)
            refresh(directory)
            for entry in os.scandir(directory):
                if (submission, entry.name) in self._names or not entry.name.isdecimal():
                    continue
                if match := _STATUS.fullmatch(Path(entry.path).read_bytes()):
                    job = int(entry.name)
                    self._names.add((submission, entry.name))
                    status = Status(job, submission, int(match[1]), int(match[2]), match[3].decode())
                    self.statuses.setdefault(job, []).append(status)

    def give_up(self) -> None:
        """Note that the jobs were cancelled."""
        self._given_up.touch()

    def remove(self) -> None:
        """Forget the run after all its jobs have ended."""
        shutil.rmtree(self.path, ignore_errors=True)

    def clear(self, client: Client, note: Callable[[str], None]) -> None:
        """Cancel and forget the jobs of a launcher that died, which are of no use any more."""
        if name := self.name:
            try:
                count = client.end_jobs(name)
            except NoAnswer as error:
                raise InputError(f"jobs of an earlier call cannot be cancelled: {error}", self.path) from None
            if count and not self._given_up.exists():
                note(f"{count} jobs of an earlier, different call were still there ({name}); they were cancelled")
            self.remove()

    @property
    def _given_up(self) -> Path:
        return self.path / "given_up"


def _identity(array: JobArray) -> str:
    return hashlib.sha256(repr((astuple(array), str(Path.cwd()))).encode()).hexdigest()
