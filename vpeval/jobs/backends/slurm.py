"""Jobs on a Slurm cluster: one job array per call, watched by the status files of its tasks.

The truth about a task is what the task itself says at its end. The scheduler is asked once per poll, for all tasks
together: it knows why a task said nothing (cancelled, out of memory or time, node lost) and which will never run. What
``sbatch --wait`` returns is not used: it is late, and 0 for cancelled jobs. A task may run twice, as when its node is
lost to the controller and not to the task; a good end of any attempt counts.
"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from vpeval.core.errors import InputError
from vpeval.jobs.array import JobArray
from vpeval.jobs.backends import slurm_queue
from vpeval.jobs.backends.base import Backend, Ended, Snapshot
from vpeval.jobs.backends.slurm_control import Control, clear, end_jobs
from vpeval.jobs.backends.slurm_queue import Entry, NoAnswer, QueueFull
from vpeval.jobs.backends.slurm_script import Settings, sbatch_options, task_script
from vpeval.jobs.backends.slurm_verdict import Request, cancelled, silence, verdict
from vpeval.jobs.lease import Lease

T = TypeVar("T")


class Slurm(Backend):
    """The job arrays of one launcher."""

    def __init__(self, array: JobArray, settings: Settings, note: Callable[[str], None]) -> None:
        self.attempts, self.poll_seconds = settings.attempts, settings.poll_seconds
        self._array, self._settings, self._note = array, settings, note
        self._control = Control.of(array)
        self._lease = Lease(self._control.lock, array.log)
        self._request = Request(
            array.mem or settings.mem or "the cluster's default",
            array.time or settings.time or "the limit of the partition",
            self._control.path.absolute(),
            settings.visible_seconds,
            settings.poll_seconds,
        )
        self._name = ""
        self._waiting: list[int] = []  # to be submitted when the controller takes them
        self._tasks: dict[int, tuple[int, int]] = {}  # job → submission, index in it; the newest attempt
        self._open: set[int] = set()
        self._silent: dict[int, float] = {}  # since when a task that has ended owes us its status
        self._largest = self._room = 0
        self._last_array = ""
        self._unsure: tuple[int, list[int]] | None = None  # a submission that the controller may have taken
        self._doubtful = False  # whether there may be jobs of ours that nobody waits for
        self._away_since = self._full_since = 0.0
        self._said: set[str] = set()

    def begin(self, jobs: Sequence[int]) -> list[int]:
        """Claim the logs; find out what a launcher that died has left, which may be all of it."""
        self._lease.take(self._note)
        self._largest = self._room = self._patiently(slurm_queue.largest_array)
        for log in {self._array.log_of(job).parent for job in jobs}:
            log.mkdir(parents=True, exist_ok=True)
        if self._control.name and not self._control.belongs_to(self._array):
            clear(self._array.log_of("array"), self._note)
        if not self._control.name:
            self._control.begin(self._array, task_script(self._array, self._control.path))
            self._name = self._control.name
            return list(jobs)
        self._name = self._control.name
        return self._take_up(jobs)

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
            entries = {(entry.submission, entry.index): entry for entry in slurm_queue.entries(self._name)}
            self._answered()
        except NoAnswer as error:
            entries = None
            self._say_away(error)
        # After the scheduler: whatever it calls ended has by then written its status.
        self._control.read_statuses()
        ended = {job: end for job in sorted(self._open) if (end := self._end_of(job, entries))}
        if entries is not None:
            rest = {job: self._entry(job, entries) for job in self._open - ended.keys() if job in self._tasks}
            ended |= cancelled(rest, more_to_come=bool(self._waiting))
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
            self._lease.give_up()
            return
        try:
            if self._open or self._doubtful:
                end_jobs(self._name)
            self._control.remove()
        except NoAnswer as error:
            self._note(f"the jobs could not be cancelled ({error}); run scancel -n {self._name}, or this command again")
        finally:
            self._lease.give_up()

    def describe(self) -> str:
        """The call of sbatch and the script."""
        control = self._control.path
        largest = self._patiently(slurm_queue.largest_array)
        chunks = -(-len(self._array.jobs) // largest)
        command = ["sbatch", *self._options(1, min(largest, len(self._array.jobs))), str(control / "task.sh"), "1"]
        more = f" (one of {chunks} arrays, of at most {largest} tasks each)" if chunks > 1 else ""
        script = task_script(self._array, control)
        return f"{len(self._array.jobs)} jobs by{more}\n{shlex.join(command)}\nwith {control / 'task.sh'}:\n{script}"

    def _take_up(self, jobs: Sequence[int]) -> list[int]:
        entries = self._patiently(lambda: {(e.submission, e.index): e for e in slurm_queue.entries(self._name)})
        self._control.read_statuses()
        for submission, members in self._control.submissions().items():
            for index, job in enumerate(members, start=1):
                if (submission, index) in entries:
                    self._tasks[job] = (submission, index)
        done = {job for job in jobs if any(status.code == 0 for status in self._control.statuses.get(job, ()))}
        live = {job for job in jobs if (entry := self._entry(job, entries)) and entry.is_live} - done
        self._open, self._doubtful = done | live, True
        self._note(
            f"taking up the jobs of a launcher that died ({self._name}): {len(done)} are done, {len(live)} are "
            f"waiting or running, {len(jobs) - len(done | live)} are submitted"
        )
        return [job for job in jobs if job not in self._open]

    def _submit_waiting(self, entries: Mapping[tuple[int, int], Entry]) -> None:
        if self._unsure and any(submission == self._unsure[0] for submission, _ in entries):
            self._note_submitted(*self._unsure)
        self._unsure = None
        while self._waiting:
            chunk = self._waiting[: self._room]
            submission = self._control.add_submission(chunk)
            script = str((self._control.path / "task.sh").resolve())
            try:
                options = self._options(submission, len(chunk))
                self._last_array = slurm_queue.submit(options, script, [str(submission)])
            except QueueFull as error:
                self._wait_for_room(error)
                return
            except NoAnswer as error:
                # It may have taken the jobs all the same, which shows when it answers again.
                self._unsure, self._doubtful = (submission, chunk), True
                self._say_away(error)
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
            *sbatch_options(self._array, self._settings),
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
        if end := verdict(entry, status, logs, self._request):
            return end
        if entry and entry.waits_for_nodes:
            self._say(f"jobs wait for nodes that are down or drained ({entry.reason}); sinfo -R tells why")
        if entry and (entry.is_live or entry.state == "CANCELLED"):
            return None
        since = self._silent.setdefault(job, time.monotonic())
        return silence(entry, time.monotonic() - since, self._request)

    def _patiently(self, ask: Callable[[], T]) -> T:
        """Ask the controller something before there is anything to wait for."""
        deadline = time.monotonic() + self._settings.patience_seconds
        while True:
            try:
                answer = ask()
            except NoAnswer as error:
                if time.monotonic() > deadline:
                    raise InputError(
                        f"Slurm does not answer ({error}); is its controller running (scontrol ping)?"
                    ) from None
                self._say_away(error)
                time.sleep(min(1.0, self.poll_seconds))
                continue
            self._answered()
            return answer

    def _wait_for_room(self, error: QueueFull) -> None:
        """Smaller arrays may fit into what the cluster lets a user have in the queue; others have to end first."""
        self._room = max(1, self._room // 2)
        self._full_since = self._full_since or time.monotonic()
        alone = not any(job in self._tasks for job in self._open)
        if self._room == 1 and alone and time.monotonic() - self._full_since > self._settings.patience_seconds:
            raise InputError(f"Slurm takes no more jobs ({error}); end others of yours first (squeue --me)")
        self._say(f"Slurm takes no more jobs for now ({error}); the rest follows when others have ended")

    def _say_away(self, error: NoAnswer) -> None:
        if not self._away_since:
            self._away_since = time.monotonic()
            self._note(
                f"Slurm's controller does not answer ({str(error).splitlines()[0]}); waiting, running jobs go on"
            )

    def _answered(self) -> None:
        if self._away_since:
            self._note(f"Slurm's controller answers again after {time.monotonic() - self._away_since:.0f} s")
        self._away_since = 0.0

    def _say(self, sentence: str) -> None:
        if sentence not in self._said:
            self._said.add(sentence)
            self._note(sentence)
