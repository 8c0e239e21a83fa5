"""Jobs on a Slurm cluster: job arrays in a window that is kept full, watched by the status files of their tasks.

How a task ended is first of all what its own status file says. The scheduler is asked now and then, for all tasks
together: it knows why a task left no status (cancelled, out of memory or time, node lost) and which will never run. The
exit code of ``sbatch --wait`` is not used: it is late, and 0 for cancelled jobs. A task may run twice, as when its node
is lost to the controller and not to the task; success of any attempt counts.

No array waits for another one. Where a limit of running jobs was asked for, an array gets what the ones before it leave
of the limit as its own (``--array=1-500%20``), and more when they leave more. Jobs that are tried again come first.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import TypeVar

from vpeval.core.errors import InputError
from vpeval.jobs.backends import slurm_tasks
from vpeval.jobs.backends.base import Attempt, Backend, Clock, Ended, Snapshot
from vpeval.jobs.backends.slurm_client import Call, Client, Entries, Entry, NoAnswer, QueueFull, Refused, call
from vpeval.jobs.backends.slurm_control import Control
from vpeval.jobs.backends.slurm_tasks import Request, Settings
from vpeval.jobs.launch import JobArray, parse_memory, parse_time
from vpeval.jobs.progress import last_progress
from vpeval.jobs.shared_disk import Lease

T = TypeVar("T")
_MUCH_SLOWER = 3.0


@dataclass
class _Submitted:
    """A task that was submitted and has not ended, and what was seen of it."""

    attempt: Attempt
    submission: int
    index: int
    silent_since: float | None = None  # since when it has ended without a visible status
    running_since: float | None = None
    looked: float = 0.0  # when its log was last looked at
    log_size: int = -1
    grown: float = 0.0  # when its log had last grown


@dataclass
class _Array:
    """A submission of which tasks have not ended."""

    throttle: int  # how many of its tasks may run at a time; 0: all
    live: set[int]
    excluded: frozenset[str]


class LeftBehind:
    """The jobs of a launcher that died."""

    def __init__(self, control: Control) -> None:
        self._control = control

    def clear(self, note: Callable[[str], None]) -> None:
        """End and forget them."""
        self._control.clear(Client(6.0, Clock()), note)


class Slurm(Backend):
    """The job arrays of one launcher."""

    def __init__(
        self,
        array: JobArray,
        settings: Settings,
        note: Callable[[str], None],
        clock: Clock | None = None,
        run: Call = call,
    ) -> None:
        self.attempts, self.growth, self.poll_seconds = settings.attempts, settings.growth, settings.poll_seconds
        self.clock = clock or Clock()
        self._array, self._settings, self._note = array, settings, note
        self._client = Client(settings.poll_seconds, self.clock, run)
        self._control = Control.for_log(array.log_of("array"))
        self._lease = Lease(self._control.lock, array.log, wait=self._client.wait)
        shared = self._control.path.absolute()
        self._request = Request(shared, settings.visible_seconds, settings.poll_seconds, array.num_nodes)
        self._name = ""
        self._waiting: list[Attempt] = []  # to be submitted when there is room
        self._tasks: dict[int, _Submitted] = {}  # by job; the newest attempt
        self._arrays: dict[int, _Array] = {}  # by submission
        self._ended: dict[int, Ended] = {}  # to be told at the next poll
        self._defaults = {"mem": "", "time": ""}  # what the cluster gives a job that asks for none
        self._longest = 0  # seconds that a successful task took
        self._largest = self._chunk = 0
        self._unsure: int | None = None  # a submission that the controller may have accepted
        self._doubtful = False  # whether there may be jobs that nobody waits for
        self._away_since = self._full_since = 0.0
        self._excluded = frozenset[str]()
        self._full_until = 0.0
        self._earlier: dict[int, list[int]] = {}  # submissions of earlier attempts, which may still succeed
        self._unplaced: list[_Submitted] = []  # there are no nodes but those that they shall avoid
        self._noted: set[str] = set()

    @classmethod
    def make(cls, array: JobArray, conf: Path, note: Callable[[str], None]) -> Slurm:
        """With the settings in `conf`."""
        return cls(array, Settings.read(conf), note)

    @classmethod
    def left_behind(cls, log: Path) -> LeftBehind | None:
        """The jobs of a launcher that died, which may still run."""
        control = Control.for_log(log)
        return LeftBehind(control) if control.name else None

    def begin(self, jobs: Sequence[int]) -> list[int]:
        """Claim the logs; resume the jobs of a launcher that died, which may be all of them."""
        self._client.stops = self.stops
        self._lease.acquire(self._note)
        self._largest = self._chunk = self._patiently(self._client.largest_array)
        for log in {self._array.log_of(job).parent for job in jobs}:
            log.mkdir(parents=True, exist_ok=True)
        if self._control.name and not self._control.belongs_to(self._array):
            self._control.clear(self._client, self._note)
        if not self._control.name:
            script = slurm_tasks.task_script(self._array, self._control.path, self._settings.setup)
            self._control.begin(self._array, script)
            self._name = self._control.name
            return list(jobs)
        self._name = self._control.name
        return self._resume(jobs)

    def submit(self, attempts: Sequence[Attempt]) -> None:
        """Hand jobs to Slurm as far as there is room; those that are tried again come first."""
        self._waiting[:0] = attempts
        self._fill_window()

    def exclude(self, places: frozenset[str]) -> None:
        """Also jobs that wait in the queue do not run on these nodes."""
        self._excluded = places

    def poll(self) -> Snapshot:
        """Read the status files; when it is time, ask the scheduler."""
        self._lease.beat()
        entries = self._ask()
        # After the scheduler: whatever it calls ended has by then written its status.
        earlier = (submission for job, found in self._earlier.items() if job in self._tasks for submission in found)
        self._control.read_statuses({*self._arrays, *earlier})
        ended, self._ended = self._ended, {}
        ended |= {job: end for job, task in self._tasks.items() if (end := self._end_of(job, task, entries))}
        if entries:
            rest = {job: self._entry(task, entries) for job, task in self._tasks.items() if job not in ended}
            ended |= slurm_tasks.cancelled(rest, more_to_come=bool(self._waiting))
        for job, end in ended.items():
            self._forget(job)
            self._doubtful = self._doubtful or bool(end.reason)
        if entries:
            self._place_anywhere(entries)
            if self._unsure:  # the controller knows nothing of it
                self._take_back(self._unsure)
            self._unsure = None
            self._update_arrays(entries)
        self._fill_window()
        running = {job: task for job, task in self._tasks.items() if task.running_since is not None}
        places = set[str]()
        if entries and self._array.num_nodes == 1:
            found = (self._entry(task, entries) for task in running.values())
            places = {entry.node for entry in found if entry and entry.node}
        return Snapshot(frozenset(running), ended, frozenset(places))

    def end(self, hurry: bool) -> bool:
        """Cancel what is left, and forget the run once nothing of it is."""
        try:
            if not self._name:
                return True
            if self._tasks or self._doubtful or self._unsure:
                if not hurry:
                    self._client.end_jobs(self._name)
                elif not self._client.end_soon(self._name):
                    self._control.give_up()
                    self._note(f"its jobs on the cluster are being cancelled (squeue -n {self._name})")
                    return False
            self._control.remove()
            return True
        except NoAnswer as error:
            self._control.give_up()
            self._note(f"the jobs could not be cancelled ({error}); run scancel -n {self._name}, or this command again")
            return False
        finally:
            self._lease.release()

    def describe(self) -> str:
        """The call of sbatch and the script."""
        control, jobs = self._control.path, len(self._array.jobs)
        self._largest = self._patiently(self._client.largest_array)
        size = min(self._size_limit(), jobs)
        options = self._options(1, size, min(size, self._array.max_jobs), Attempt(1))
        command = ["sbatch", *options, str(control / "task.sh"), "1"]
        more = f" (one of {-(-jobs // size)} arrays, of at most {size} tasks each)" if jobs > size else ""
        script = slurm_tasks.task_script(self._array, control, self._settings.setup)
        return f"{jobs} jobs by{more}\n{shlex.join(command)}\nwith {control / 'task.sh'}:\n{script}"

    def _resume(self, jobs: Sequence[int]) -> list[int]:
        entries = self._patiently(lambda: self._client.entries(self._name))
        submissions = self._control.submissions()
        self._control.read_statuses(submissions)
        succeeded = {job for job in jobs if any(status.code == 0 for status in self._control.statuses.get(job, ()))}
        known = set(jobs)
        for submission, members in submissions.items():
            for index, job in enumerate(members, start=1):
                entry = entries.get(submission, index)
                if job in known and (job in succeeded or (entry and entry.is_live)):
                    self._tasks[job] = _Submitted(Attempt(job), submission, index)
        live = {job: task for job, task in self._tasks.items() if job not in succeeded}
        for submission in {task.submission for task in self._tasks.values()}:
            own = {job for job, task in self._tasks.items() if task.submission == submission}
            found = [self._entry(live[job], entries) for job in own & live.keys()]
            # What waits has the limit of its array; where nothing waits, all that is left may run.
            throttle = max((entry.throttle for entry in found if entry), default=0) or len(found)
            self._arrays[submission] = _Array(throttle, own, frozenset())
        self._doubtful = True
        self._note(
            f"resuming the jobs of a launcher that died ({self._name}): {len(succeeded)} are done, {len(live)} are "
            f"waiting or running, {len(known) - len(self._tasks)} are submitted"
        )
        return [job for job in jobs if job not in self._tasks]

    def _ask(self) -> Entries | None:
        """What the scheduler says; None when it is too soon to ask, or it does not answer."""
        if not self._client.may_ask():
            return None
        try:
            entries = self._client.entries(self._name, patient=False)
        except NoAnswer as error:
            self._note_no_answer(error)
            return None
        self._answered()
        if self._unsure in entries.submissions:
            self._unsure = None
        return entries

    def _fill_window(self) -> None:
        """Submit what waits, as far as the limits allow."""
        while self._waiting and self._unsure is None:
            limit, live = self._array.max_jobs, len(self._tasks)
            if (limit and live >= limit) or self.clock.now() < self._full_until:
                return
            first = self._waiting[0]
            same = takewhile(partial(_alike, first), self._waiting)
            chunk = list(islice(same, min(self._chunk, self._size_limit())))
            throttle = min(limit - live, len(chunk)) if limit else 0
            submission = self._control.add_submission([attempt.job for attempt in chunk])
            try:
                self._submit(submission, chunk, throttle)
            except QueueFull as error:
                self._wait_for_places(error)
                return
            except Refused as error:
                if not self._accept_refusal(chunk, error):
                    raise
                continue
            except NoAnswer as error:
                # It may have accepted the jobs all the same; its next answer shows it.
                self._unsure, self._doubtful = submission, True
                self._note_no_answer(error)
            else:
                self._full_since, self._chunk = 0.0, min(2 * self._chunk, self._largest)
            for index, attempt in enumerate(chunk, start=1):
                self._tasks[attempt.job] = _Submitted(attempt, submission, index)
            self._arrays[submission] = _Array(throttle, {attempt.job for attempt in chunk}, self._excluded)
            del self._waiting[: len(chunk)]

    def _submit(self, submission: int, chunk: Sequence[Attempt], throttle: int) -> None:
        script = str((self._control.path / "task.sh").resolve())
        options = self._options(submission, len(chunk), throttle, chunk[0])
        self._client.submit(options, script, [str(submission)])

    def _accept_refusal(self, chunk: Sequence[Attempt], error: Refused) -> bool:
        """Whether it concerns only how jobs are tried again: elsewhere, or with more."""
        first = chunk[0]
        if first.avoid:  # there are no other nodes
            self._waiting[: len(chunk)] = [replace(attempt, avoid=frozenset()) for attempt in chunk]
        elif self._excluded:
            self._excluded = frozenset()
        elif first.mem * first.time > 1:
            what = "memory" if first.mem > 1 else "time"
            why = f"needed more {what} than {self._had(first)}, and more is not to be had: {error}"
            self._ended |= {attempt.job: Ended(1, why) for attempt in chunk}
            del self._waiting[: len(chunk)]
        else:
            return False
        return True

    def _take_back(self, submission: int) -> None:
        """Submit again what the controller has not accepted."""
        lost = [task.attempt for task in self._tasks.values() if task.submission == submission]
        for attempt in lost:
            self._forget(attempt.job)
        self._waiting[:0] = lost

    def _place_anywhere(self, entries: Entries) -> None:
        """Submit again what can run only on nodes that it should avoid."""
        for task in self._unplaced:
            if entry := self._entry(task, entries):
                self._client.cancel_task(entry.array, task.index)
            self._forget(task.attempt.job)
            self._waiting.insert(0, replace(task.attempt, avoid=frozenset()))
        self._unplaced = []

    def _forget(self, job: int) -> None:
        if task := self._tasks.pop(job, None):
            self._earlier.setdefault(job, []).append(task.submission)
            array = self._arrays[task.submission]
            array.live.discard(job)
            if not array.live:
                del self._arrays[task.submission]

    def _update_arrays(self, entries: Entries) -> None:
        """Give arrays what those before them leave of the limit; keep what waits from nodes that are left out."""
        left = self._array.max_jobs
        for _, array in sorted(self._arrays.items()):
            found = {job: self._entry(self._tasks[job], entries) for job in array.live}
            pending = [entry for entry in found.values() if entry and entry.state == "PENDING"]
            share = min(left, len(found))
            left -= share
            if pending and array.throttle < share:
                self._client.update(pending[0].array, f"ArrayTaskThrottle={share}")
                array.throttle = share
            if pending and array.excluded != self._excluded:
                avoid = self._avoided(self._tasks[next(iter(array.live))].attempt)
                self._client.update(pending[0].array, f"ExcNodeList={','.join(avoid)}")
            array.excluded = self._excluded

    def _options(self, submission: int, count: int, throttle: int, attempt: Attempt) -> list[str]:
        out = str((self._control.path / "out").resolve()).replace("%", "%%")
        mem, time = self._settings.mem_of(self._array), self._settings.time_of(self._array)
        if attempt.mem > 1:
            mem = f"{attempt.mem * parse_memory(mem or self._defaults['mem']) >> 20}M"
        if attempt.time > 1:
            time = str(-(-attempt.time * parse_time(time or self._defaults["time"]) // 60))
        options = [
            f"--job-name={self._name or 'NAME'}",
            f"--comment={submission}",
            f"--array=1-{count}" + (f"%{throttle}" if throttle else ""),
            f"--output={out}/{submission}.%a",
            f"--chdir={Path.cwd()}",
            *slurm_tasks.sbatch_options(self._array, self._settings, mem, time),
        ]
        if attempt.avoid | self._excluded:
            options.append("--exclude=" + ",".join(self._avoided(attempt)))
        return options

    def _avoided(self, attempt: Attempt) -> list[str]:
        """Nodes to exclude, with those that the settings exclude: only the last such option counts for Slurm."""
        options = (*self._settings.extra, *(self._settings.gpu_extra if self._array.gpus else ()))
        given = [option.partition("=")[2] for option in options if option.startswith("--exclude=")]
        return [*given, *sorted(attempt.avoid | self._excluded)]

    def _size_limit(self) -> int:
        """How large an array may be; a limit of running jobs keeps it small, as jobs to be tried again wait for it."""
        return min(self._largest, max(2 * self._array.max_jobs, 10) if self._array.max_jobs else self._largest)

    def _had(self, attempt: Attempt) -> str:
        """What a job had before it was given more."""
        before = replace(attempt, mem=max(1, attempt.mem // 2), time=max(1, attempt.time // 2))
        options = self._options(0, 1, 0, before)
        return ", ".join(option for option in options if option.startswith(("--mem=", "--time=")))

    def _entry(self, task: _Submitted, entries: Entries) -> Entry | None:
        return entries.get(task.submission, task.index)

    def _end_of(self, job: int, task: _Submitted, entries: Entries | None) -> Ended | None:
        """How a job has ended; None while it has not, or while that is not known."""
        statuses = self._control.statuses.get(job, [])
        if good := next((status for status in statuses if status.code == 0), None):
            self._longest = max(self._longest, good.seconds)
            return Ended(place=good.node if self._array.num_nodes == 1 else "")
        if entries is None or task.submission == self._unsure:
            return None
        status = next((status for status in statuses if status.submission == task.submission), None)
        entry = self._entry(task, entries)
        if end := slurm_tasks.end_of_task(entry, status, self._logs(job, task), self._request):
            if entry and end.lacks:
                self._defaults[end.lacks] = self._defaults[end.lacks] or getattr(entry, end.lacks)
            if end.ends_all and task.attempt.avoid and entry and entry.reason == "BadConstraints":
                self._unplaced.append(task)
                return None
            return end
        if entry and entry.is_live:
            task.silent_since = None
        if entry and entry.waits_for_nodes:
            self._note_once(f"jobs wait for nodes that are down or drained ({entry.reason}); sinfo -R shows why")
        if entry and entry.state == "RUNNING":
            return self._end_of_hanging(job, task, entry)
        task.running_since = None
        if entry and (entry.is_live or entry.state == "CANCELLED"):
            return None
        now = self.clock.now()
        task.silent_since = now if task.silent_since is None else task.silent_since
        return slurm_tasks.end_without_status(entry, now - task.silent_since, self._request)

    def _logs(self, job: int, task: _Submitted) -> Iterator[Path]:
        """Where Slurm may have said why it ended a task; most polls do not look."""
        yield self._array.log_of(job)
        yield self._control.path / "out" / f"{task.submission}.{task.index}"

    def _end_of_hanging(self, job: int, task: _Submitted, entry: Entry) -> Ended | None:
        """The end of a task that does nothing any more, while others ended long since; this ends it.

        Only of one that reports its progress: of others it is not known whether they should say anything.
        """
        now, patience = self.clock.now(), self._settings.hang_seconds
        if task.running_since is None:
            task.running_since = task.grown = task.looked = now
        if now - task.looked > patience / 10:
            log = self._array.log_of(job)
            size = log.stat().st_size if log.exists() else 0
            if size != task.log_size:
                task.log_size, task.grown = size, now
            task.looked = now
        if not self._longest or now - task.grown < patience or now - task.running_since < _MUCH_SLOWER * self._longest:
            return None
        if not last_progress(self._array.log_of(job)):
            task.grown = now
            return None
        try:
            self._client.cancel_task(entry.array, task.index)
        except NoAnswer as error:
            self._note_no_answer(error)
            return None
        others = f"no other job took more than {self._longest} s"
        why = f"hung on {entry.node} (nothing in its log for {patience:.0f} s, {others})"
        return Ended(1, why, entry.node if self._array.num_nodes == 1 else "", again=True)

    def _patiently(self, ask: Callable[[], T]) -> T:
        answer = self._client.patiently(ask, self._settings.patience_seconds, self._note_no_answer)
        self._answered()
        return answer

    def _wait_for_places(self, error: QueueFull) -> None:
        """Smaller arrays may fit into what the cluster lets a user have in the queue; others have to end first."""
        self._chunk = max(1, self._chunk // 2)
        self._full_until = self.clock.now() + self._settings.poll_seconds / 2
        self._full_since = self._full_since or self.clock.now()
        patience = self._settings.patience_seconds
        if self._chunk == 1 and not self._tasks and self.clock.now() - self._full_since > patience:
            raise InputError(f"Slurm takes no more jobs ({error}); end others of yours first (squeue --me)")
        self._note_once(f"Slurm takes no more jobs for now ({error}); the rest follows when others have ended")

    def _note_no_answer(self, error: NoAnswer) -> None:
        if not self._away_since:
            self._away_since = self.clock.now()
            self._note(
                f"Slurm's controller does not answer ({str(error).splitlines()[0]}); waiting, running jobs go on"
            )

    def _answered(self) -> None:
        if self._away_since:
            self._note(f"Slurm's controller answers again after {self.clock.now() - self._away_since:.0f} s")
        self._away_since = 0.0

    def _note_once(self, sentence: str) -> None:
        if sentence not in self._noted:
            self._noted.add(sentence)
            self._note(sentence)


def _alike(one: Attempt, other: Attempt) -> bool:
    """Whether two attempts can be in one array."""
    return (one.avoid, one.mem, one.time) == (other.avoid, other.mem, other.time)
