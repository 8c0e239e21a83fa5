"""Jobs on a Slurm cluster: one job array per call, watched by the status files of its tasks.

How a task ended is first of all what its own status file says. The scheduler is asked once per poll, for all tasks
together: it knows why a task left no status (cancelled, out of memory or time, node lost) and which will never run. The
exit code of ``sbatch --wait`` is not used: it is late, and 0 for cancelled jobs. A task may run twice, as when its node
is lost to the controller and not to the task; success of any attempt counts.

So that another launcher can resume the jobs of one that died, ``.x.array.log.slurm/`` next to the logs holds
``run.json`` (the name and command of the jobs), ``task.sh``, a list of jobs for every submission (``1.jobs``), the
output of tasks before they know their log (``out/``) and their status files (``status/<job>.<submission>``). A launcher
removes it when all its jobs have ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import secrets
import shlex
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TypeVar

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.jobs.backends import slurm_tasks
from vpeval.jobs.backends.base import Backend, Ended, Snapshot
from vpeval.jobs.backends.slurm_tasks import Entry, NoAnswer, QueueFull, Request, Settings, Status
from vpeval.jobs.launch import JobArray
from vpeval.jobs.shared_disk import Lease, refresh

T = TypeVar("T")
_STATUS = re.compile(rb"(\d+) (\d+) (\S*)\n")


class Slurm(Backend):
    """The job arrays of one launcher."""

    def __init__(self, array: JobArray, settings: Settings, note: Callable[[str], None]) -> None:
        self.attempts, self.poll_seconds = settings.attempts, settings.poll_seconds
        self._array, self._settings, self._note = array, settings, note
        self._control = Control.for_log(array.log_of("array"))
        self._lease = Lease(self._control.lock, array.log)
        self._request = Request(
            array.mem or settings.mem or "the cluster's default",
            array.time or settings.time or "the limit of the partition",
            self._control.path.absolute(),
            settings.visible_seconds,
            settings.poll_seconds,
        )
        self._name = ""
        self._waiting: list[int] = []  # to be submitted when the controller accepts them
        self._tasks: dict[int, tuple[int, int]] = {}  # job → submission, index in it; the newest attempt
        self._open: set[int] = set()
        self._silent: dict[int, float] = {}  # since when the status of an ended task is missing
        self._largest = self._chunk = 0
        self._last_array = ""
        self._unsure: tuple[int, list[int]] | None = None  # a submission that the controller may have accepted
        self._doubtful = False  # whether there may be jobs that nobody waits for
        self._away_since = self._full_since = 0.0
        self._noted: set[str] = set()

    @classmethod
    def make(cls, array: JobArray, conf: Path, note: Callable[[str], None]) -> Slurm:
        """With the settings in `conf`."""
        return cls(array, Settings.read(conf), note)

    @classmethod
    def left_behind(cls, log: Path) -> Control | None:
        """The jobs of a launcher that died, which may still run."""
        control = Control.for_log(log)
        return control if control.name else None

    def begin(self, jobs: Sequence[int]) -> list[int]:
        """Claim the logs; resume the jobs of a launcher that died, which may be all of them."""
        self._lease.acquire(self._note)
        self._largest = self._chunk = self._patiently(slurm_tasks.largest_array)
        for log in {self._array.log_of(job).parent for job in jobs}:
            log.mkdir(parents=True, exist_ok=True)
        if self._control.name and not self._control.belongs_to(self._array):
            self._control.clear(self._note)
        if not self._control.name:
            self._control.begin(self._array, slurm_tasks.task_script(self._array, self._control.path))
            self._name = self._control.name
            return list(jobs)
        self._name = self._control.name
        return self._resume(jobs)

    def submit(self, jobs: Sequence[int]) -> None:
        """Hand jobs to Slurm, in arrays of the size it takes."""
        self._doubtful = self._doubtful or any(job in self._tasks for job in jobs)
        self._waiting += jobs
        self._open |= set(jobs)
        self._submit_waiting({})

    def poll(self) -> Snapshot:
        """Read the status files and ask the scheduler once."""
        self._lease.beat()
        entries: dict[tuple[int, int], Entry] | None
        try:
            entries = {(entry.submission, entry.index): entry for entry in slurm_tasks.entries(self._name)}
            self._answered()
        except NoAnswer as error:
            entries = None
            self._note_no_answer(error)
        # After the scheduler: whatever it calls ended has by then written its status.
        self._control.read_statuses()
        ended = {job: end for job in sorted(self._open) if (end := self._end_of(job, entries))}
        if entries is not None:
            rest = {job: self._entry(job, entries) for job in self._open - ended.keys() if job in self._tasks}
            ended |= slurm_tasks.cancelled(rest, more_to_come=bool(self._waiting))
        self._open -= ended.keys()
        self._doubtful = self._doubtful or any(end.reason for end in ended.values())
        for job in ended:
            self._silent.pop(job, None)
        if self._waiting and entries is not None:
            self._submit_waiting(entries)
        live = {job: self._entry(job, entries or {}) for job in self._open}
        waits = frozenset(job for job, entry in live.items() if entry is None or entry.state == "PENDING")
        return Snapshot(waits, frozenset(self._open - waits), ended)

    def end(self) -> None:
        """Cancel what is left, and forget the run once nothing of it is."""
        if not self._name:
            self._lease.release()
            return
        try:
            if self._open or self._doubtful:
                slurm_tasks.end_jobs(self._name)
            self._control.remove()
        except NoAnswer as error:
            self._note(f"the jobs could not be cancelled ({error}); run scancel -n {self._name}, or this command again")
        finally:
            self._lease.release()

    def describe(self) -> str:
        """The call of sbatch and the script."""
        control = self._control.path
        largest = self._patiently(slurm_tasks.largest_array)
        chunks = -(-len(self._array.jobs) // largest)
        command = ["sbatch", *self._options(1, min(largest, len(self._array.jobs))), str(control / "task.sh"), "1"]
        more = f" (one of {chunks} arrays, of at most {largest} tasks each)" if chunks > 1 else ""
        script = slurm_tasks.task_script(self._array, control)
        return f"{len(self._array.jobs)} jobs by{more}\n{shlex.join(command)}\nwith {control / 'task.sh'}:\n{script}"

    def _resume(self, jobs: Sequence[int]) -> list[int]:
        entries = self._patiently(lambda: {(e.submission, e.index): e for e in slurm_tasks.entries(self._name)})
        self._control.read_statuses()
        for submission, members in self._control.submissions().items():
            for index, job in enumerate(members, start=1):
                if (submission, index) in entries:
                    self._tasks[job] = (submission, index)
        done = {job for job in jobs if any(status.code == 0 for status in self._control.statuses.get(job, ()))}
        live = {job for job in jobs if (entry := self._entry(job, entries)) and entry.is_live} - done
        self._open, self._doubtful = done | live, True
        self._note(
            f"resuming the jobs of a launcher that died ({self._name}): {len(done)} are done, {len(live)} are "
            f"waiting or running, {len(jobs) - len(done | live)} are submitted"
        )
        return [job for job in jobs if job not in self._open]

    def _submit_waiting(self, entries: Mapping[tuple[int, int], Entry]) -> None:
        if self._unsure and any(submission == self._unsure[0] for submission, _ in entries):
            self._note_submitted(*self._unsure)
        self._unsure = None
        while self._waiting:
            chunk = self._waiting[: self._chunk]
            submission = self._control.add_submission(chunk)
            script = str((self._control.path / "task.sh").resolve())
            try:
                options = self._options(submission, len(chunk))
                self._last_array = slurm_tasks.submit(options, script, [str(submission)])
            except QueueFull as error:
                self._wait_for_places(error)
                return
            except NoAnswer as error:
                # It may have accepted the jobs all the same; its next answer shows it.
                self._unsure, self._doubtful = (submission, chunk), True
                self._note_no_answer(error)
                return
            self._full_since = 0.0
            self._note_submitted(submission, chunk)

    def _note_submitted(self, submission: int, jobs: list[int]) -> None:
        self._tasks |= {job: (submission, index) for index, job in enumerate(jobs, start=1)}
        self._waiting = self._waiting[len(jobs) :]

    def _options(self, submission: int, count: int) -> list[str]:
        out = str((self._control.path / "out").resolve()).replace("%", "%%")
        limit = f"%{self._array.max_jobs}" if self._array.max_jobs else ""
        options = [
            f"--job-name={self._name or 'NAME'}",
            f"--comment={submission}",
            f"--array=1-{count}{limit}",
            f"--output={out}/{submission}.%a",
            f"--chdir={Path.cwd()}",
            *slurm_tasks.sbatch_options(self._array, self._settings),
        ]
        # The limit is one of an array; for the next one to keep to it, the arrays go one after the other.
        if limit and self._last_array:
            options.append(f"--dependency=afterany:{self._last_array}")
        return options

    def _entry(self, job: int, entries: Mapping[tuple[int, int], Entry]) -> Entry | None:
        return entries.get(self._tasks[job]) if job in self._tasks else None

    def _end_of(self, job: int, entries: Mapping[tuple[int, int], Entry] | None) -> Ended | None:
        """How a job has ended; None while it has not, or while that is not known."""
        statuses = self._control.statuses.get(job, [])
        if any(status.code == 0 for status in statuses):
            return Ended()
        if entries is None or job not in self._tasks:
            return None
        submission, index = self._tasks[job]
        status = next((status for status in statuses if status.submission == submission), None)
        entry = self._entry(job, entries)
        logs = (self._array.log_of(job), self._control.path / "out" / f"{submission}.{index}")
        if end := slurm_tasks.end_of_task(entry, status, logs, self._request):
            return end
        if entry and entry.waits_for_nodes:
            self._note_once(f"jobs wait for nodes that are down or drained ({entry.reason}); sinfo -R shows why")
        if entry and (entry.is_live or entry.state == "CANCELLED"):
            return None
        since = self._silent.setdefault(job, time.monotonic())
        return slurm_tasks.end_without_status(entry, time.monotonic() - since, self._request)

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Ask the controller, and wait if it does not answer."""
        deadline = time.monotonic() + self._settings.patience_seconds
        while True:
            try:
                answer = ask()
            except NoAnswer as error:
                if time.monotonic() > deadline:
                    raise InputError(
                        f"Slurm does not answer ({error}); is its controller running (scontrol ping)?"
                    ) from None
                self._note_no_answer(error)
                time.sleep(min(1.0, self.poll_seconds))
                continue
            self._answered()
            return answer

    def _wait_for_places(self, error: QueueFull) -> None:
        """Smaller arrays may fit into what the cluster lets a user have in the queue; others have to end first."""
        self._chunk = max(1, self._chunk // 2)
        self._full_since = self._full_since or time.monotonic()
        alone = not any(job in self._tasks for job in self._open)
        if self._chunk == 1 and alone and time.monotonic() - self._full_since > self._settings.patience_seconds:
            raise InputError(f"Slurm takes no more jobs ({error}); end others of yours first (squeue --me)")
        self._note_once(f"Slurm takes no more jobs for now ({error}); the rest follows when others have ended")

    def _note_no_answer(self, error: NoAnswer) -> None:
        if not self._away_since:
            self._away_since = time.monotonic()
            self._note(
                f"Slurm's controller does not answer ({str(error).splitlines()[0]}); waiting, running jobs go on"
            )

    def _answered(self) -> None:
        if self._away_since:
            self._note(f"Slurm's controller answers again after {time.monotonic() - self._away_since:.0f} s")
        self._away_since = 0.0

    def _note_once(self, sentence: str) -> None:
        if sentence not in self._noted:
            self._noted.add(sentence)
            self._note(sentence)


class Control:
    """The directory of one launcher, next to its logs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._names: set[str] = set()
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
        """Whether the run that was left here is of the same command."""
        found = json.loads((self.path / "run.json").read_text())
        return bool(found.get("identity") == _identity(array))

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
        number = 1 + max(self.submissions(), default=0)
        write_text(self.path / f"{number}.jobs", "".join(f"{job}\n" for job in jobs))
        return number

    def submissions(self) -> dict[int, list[int]]:
        """The jobs of every submission so far."""
        files = sorted(self.path.glob("*.jobs"), key=lambda path: int(path.stem))
        return {int(file.stem): [int(job) for job in file.read_text().split()] for file in files}

    def read_statuses(self) -> None:
        """Read new status files; one that is incomplete is read again the next time."""
        directory = self.path / "status"
        refresh(directory)
        for entry in os.scandir(directory):
            if entry.name in self._names or entry.name.startswith(".") or entry.name.endswith(".tmp"):
                continue
            match = _STATUS.fullmatch(Path(entry.path).read_bytes())
            if match:
                job, submission = map(int, entry.name.split("."))
                self._names.add(entry.name)
                status = Status(job, submission, int(match[1]), match[3].decode())
                self.statuses.setdefault(job, []).append(status)

    def remove(self) -> None:
        """Forget the run after all its jobs have ended."""
        shutil.rmtree(self.path, ignore_errors=True)

    def clear(self, note: Callable[[str], None]) -> None:
        """Cancel and forget the jobs of a launcher that died, which are of no use any more."""
        if name := self.name:
            try:
                if count := slurm_tasks.end_jobs(name):
                    note(f"{count} jobs of an earlier, different call were still there ({name}); they were cancelled")
            except NoAnswer as error:
                raise InputError(f"jobs of an earlier call cannot be cancelled: {error}", self.path) from None
            self.remove()


def _identity(array: JobArray) -> str:
    return hashlib.sha256(repr((astuple(array), str(Path.cwd()))).encode()).hexdigest()
