"""A resumable batch: the utterances of some data directories, processed in parallel by ``$cmd``.

Anonymisation, embedding extraction, decoding and emotions work the same way: each utterance gives a result, and the
workers publish their results in shards of many (`vpeval.jobs.shards`). A batch finds out which results are missing,
cuts the rest into tasks (`vpeval.jobs.tasks`), runs the worker on them and, when all results are there, calls `finish`,
which turns them into the output directory; this appears in one rename together with its stamp. After an interruption,
the same call continues with what is missing. If its jobs continued without it, as they do on a cluster, it waits for
them instead of starting them again.

A job may run twice, even at the same time: a result does not depend on who makes it, and a shard appears as a whole.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.lazy import Deferred
from vpeval.core.locks import locked
from vpeval.core.places import ROOT
from vpeval.core.publish import begin_work, end_work, publish, refuse_overlap, refuse_target, work_of
from vpeval.data.directory import DataDir
from vpeval.data.layout import is_split, read_places
from vpeval.jobs import shared_disk, tasks
from vpeval.jobs.backends.base import left_behind
from vpeval.jobs.code import Maker
from vpeval.jobs.dry_run import current_dry_run
from vpeval.jobs.launch import jobs_on_gpus, launcher, request_gpus
from vpeval.jobs.progress import log_skipped
from vpeval.jobs.shards import SHARDS, Shards, clear_unfinished
from vpeval.jobs.stamps import NOT_MADE, STAMP, Fingerprint, fingerprint, is_current, why, write_stamp
from vpeval.jobs.steps import log_commands

log = logging.getLogger(__name__)
_WORK = ROOT / "steps/jobs/work.py"


@dataclass(frozen=True)
class Target:
    """One data directory, which is loaded when there is work to do, and the directory for its results."""

    load: Callable[[], DataDir]
    out: Path
    fingerprint: Fingerprint
    source: Path
    inputs: tuple[Path, ...] = ()

    @cached_property
    def data(self) -> DataDir:
        """The utterances."""
        return self.load()

    @cached_property
    def places(self) -> list[Path]:
        """Everything that is read, which the output must not touch."""
        return [self.source, *self.inputs, *read_places(self.source)]

    @property
    def work(self) -> Path:
        """The directory of unfinished results; next to the output, so that publishing is a rename."""
        return work_of(self.out)

    @property
    def new(self) -> Path:
        """The output directory until it is published."""
        return self.work / "out"

    def why(self) -> str:
        """Why it has to be made (again); empty if it is up to date."""
        return why(self.out / STAMP, self.fingerprint, [self.out])

    def is_current(self) -> bool:
        """Whether it is up to date."""
        return is_current(self.out / STAMP, self.fingerprint, [self.out])


def target(source: Path, out: Path, inputs: Sequence[Path], makers: Sequence[Maker], **options: object) -> Target:
    """The target for data directory `source`; results also depend on `inputs`, `options` and the code of `makers`."""
    made_from = fingerprint([source, *inputs], {**options, "out": out}, makers)
    return Target(partial(DataDir.load, source), out, made_from, source, tuple(inputs))


@dataclass(frozen=True)
class Task:
    """What to do with an utterance, and how the results become a directory.

    The worker is a class that is made once per job as ``Worker(*arguments)`` and gives ``worker(part) -> bytes`` for
    every utterance (`vpeval.jobs.worker.Part`), or a command that is called as ``<worker …> <argument …> <job>
    <work-dir> …``. `tables` are the files of the data directory that it needs besides utt2spk (None: all). `begin` puts
    into the work directory what the workers need besides their splits; `recover` saves what interrupted workers left
    there besides their shards and returns the utterances. `makes` is the word for a result in messages; `commands` make
    targets by hand. `made_from` gives what a target was made from, where that is known only when it is there. Where a
    worker can use a GPU, `jobs_per_gpu` is how many of them share one (0: any number).
    """

    name: str
    worker: Deferred | tuple[str, ...]
    finish: Callable[[Target, Shards], None]
    arguments: tuple[str, ...] = ()
    tables: Collection[str] | None = ("wav.scp", "utt2dur")
    begin: Callable[[Target], object] = lambda target: None
    recover: Callable[[Target], Collection[str]] = lambda target: ()
    makes: str = "result"
    made_from: Callable[[Target], Fingerprint] = lambda target: target.fingerprint
    commands: Callable[[Sequence[Target]], Sequence[Sequence[str]]] = lambda targets: ()
    jobs_per_gpu: int | None = None

    @property
    def command(self) -> tuple[str, ...]:
        """What a job runs, before its number and the work directories."""
        if isinstance(self.worker, Deferred):
            return (str(_WORK), f"{self.worker.module}:{self.worker.name}", *self.arguments, "--")
        return (*self.worker, *self.arguments)


def one_command(*words: str) -> Callable[[Sequence[Target]], list[list[str]]]:
    """The one command that makes any number of targets by hand: these words, then the data directories."""
    return lambda targets: [[*words, *(str(target.source) for target in targets)]]


def run(task: Task, targets: Sequence[Target], cmd: str, nj: int, log_dir: Path) -> list[Target]:
    """Bring all `targets` up to date; return those that had work to do."""
    _refuse_shared(targets)
    if dry_run := current_dry_run():
        for target in targets:
            dry_run.consider(target.out, [target.out], target.why())
        return []
    for target in targets:
        if not target.is_current():
            refuse_overlap(target.out, target.places)
    with ExitStack() as locks:
        # Every process takes the locks in the same order, or two of them could wait for each other for ever.
        for target in sorted(targets, key=lambda target: str(target.out.resolve())):
            target.out.parent.mkdir(parents=True, exist_ok=True)
            locks.enter_context(locked(target.out.with_name(f".{target.out.name}.lock"), str(target.out)))
        stale = [target for target in targets if not target.is_current()]
        for target in targets:
            if target not in stale:
                end_work(target.out)  # left by a kill just after publishing
        for target in stale:
            refuse_target(target.out, target.places, is_split)
        log_skipped(log, len(targets) - len(stale), f"sets of {task.name}")
        for reason, count in Counter(target.why() for target in stale).items():
            if reason != NOT_MADE:
                log.info("%s: %d of %d sets again, %s", task.name, count, len(targets), reason)
        if stale:
            log_commands(lambda: task.commands(stale))
        _Batch(task, stale, cmd, nj, log_dir).run()
    return stale


@dataclass(frozen=True)
class _Batch:
    """A task on targets that are not up to date, and how its jobs are run."""

    task: Task
    targets: Sequence[Target]
    cmd: str
    nj: int
    log_dir: Path

    def run(self) -> None:
        """Make what is missing and publish all of it."""
        logs = self.log_dir / f"{self.task.name}.array.log"
        jobs = left_behind(logs)
        if jobs and not self._is_cut():
            # They would go on writing into directories that are about to be made for something else.
            jobs.clear(log.info)
            jobs = None
        if jobs:
            self._launch(int(self._cut_file.read_text().split("\n")[0]))
        self._make_missing(goes_on=not jobs)
        if jobs := left_behind(logs):  # when the launcher used another backend than the one with these jobs
            jobs.clear(log.info)
        found = [_find_results(target) for target in self.targets]
        if any(shards.damaged for shards in found):  # since their jobs have written them
            self._make_missing()
            found = [_find_results(target) for target in self.targets]
        for target, shards in zip(self.targets, found, strict=True):
            self._publish(target, shards)

    def _make_missing(self, goes_on: bool = True) -> None:
        """Cut what is missing of every target into tasks of about the time that a task should take, and run them.

        `goes_on` says so where results are there already.
        """
        missing = [self._missing(target, goes_on) for target in self.targets]
        if not any(missing):
            return
        for target in self.targets:
            self.task.begin(target)
        pace = self.log_dir / f".{self.task.name}.pace"
        by_target = list(zip(self.targets, missing, strict=True))
        speech = [seconds for target, utts in by_target for seconds in _seconds(target, utts)]
        measured = tasks.read_pace(pace)
        seconds = [length / (measured or tasks.ASSUMED_PACE) for length in speech]
        longest = tasks.task_seconds()
        pilot = [] if measured else tasks.pilot(seconds, self._workers, longest)
        ranges = pilot or tasks.cut(seconds, self._workers, longest)
        first = 0
        for target, utts in by_target:
            self._write_splits(target, utts, first, ranges)
            first += len(utts)
        write_text(self._cut_file, self._describe_cut(len(ranges)))
        logs = [self.log_dir / f"{self.task.name}.{n + 1}.log" for n in range(len(ranges))]
        for log_file in logs:
            log_file.unlink(missing_ok=True)  # of an earlier call, which had other tasks
        try:
            self._launch(len(ranges))
        finally:
            parts = (sum(speech[items.start : items.stop]) for items in ranges)
            tasks.write_pace(pace, zip(parts, logs, strict=True))
        if pilot:
            if not pace.exists():
                write_text(pace, f"{tasks.ASSUMED_PACE}\n")  # they were too fast to measure it
            self._make_missing(goes_on=False)

    def _missing(self, target: Target, goes_on: bool) -> list[str]:
        """Utterances without a result; work that was begun for other inputs or options is deleted."""
        begin_work(target.out, target.fingerprint.digest)
        shutil.rmtree(target.work / "split", ignore_errors=True)
        (target.work / SHARDS).mkdir(exist_ok=True)
        clear_unfinished(target.work / SHARDS)
        shards = Shards(target.work / SHARDS)
        missing = _without_result(target, shards)
        if shards.damaged:
            log.warning("%s: WARNING: %d damaged files of results are made again", target.out, len(shards.damaged))
        recovered = set(self.task.recover(target)).intersection(missing)
        kept = len(target.data.utts) - len(missing) + len(recovered)
        if kept and goes_on:
            log.info("%s: going on, %d of %d utterances are there", target.out, kept, len(target.data.utts))
        return missing

    def _write_splits(self, target: Target, utts: Sequence[str], first: int, ranges: Sequence[range]) -> None:
        """Write the utterances of this target in every task; `first` is the place of `utts` among all that is cut."""
        # Without trials and enrolments, which are as long for every task as for the whole set.
        data = replace(target.data, enrolls=None, trials=None)
        if self.task.tables is not None:
            kept = set(self.task.tables)
            utt_tables = {name: table for name, table in data.utt_tables.items() if name in kept}
            spk_tables = {name: table for name, table in data.spk_tables.items() if name in kept}
            data = replace(data, utt_tables=utt_tables, spk_tables=spk_tables)
        for number, items in enumerate(ranges, start=1):
            if chosen := utts[max(0, items.start - first) : max(0, items.stop - first)]:
                data.subset(chosen).write(target.work / "split" / str(number))

    @property
    def _cut_file(self) -> Path:
        """Describes how the work on these targets was cut; written after all splits."""
        return self.targets[0].work / "split" / "cut"

    def _describe_cut(self, jobs: int) -> str:
        return "\n".join([str(jobs), *(f"{target.out} {target.fingerprint.digest}" for target in self.targets)]) + "\n"

    def _is_cut(self) -> bool:
        """Whether the splits that jobs of an earlier call work on are those of just these targets."""
        if not self.targets or not self._cut_file.is_file():
            return False
        found = self._cut_file.read_text()
        return found == self._describe_cut(int(found.split("\n")[0]))

    @cached_property
    def _launcher(self) -> list[str]:
        """The words of the launcher with a request for GPUs, where the task can use them."""
        words = launcher(self.cmd)
        return words if self.task.jobs_per_gpu is None else request_gpus(words, self.task.jobs_per_gpu)

    @cached_property
    def _workers(self) -> int:
        """How many tasks to work on at a time: on this machine, no more than its GPUs take."""
        return min(self.nj, jobs_on_gpus(self._launcher) or self.nj)

    def _launch(self, count: int) -> None:
        works = [str(target.work) for target in self.targets]
        job = "JOB"
        while any(job in word for word in (str(self.log_dir), self.task.name, *self.task.command, *works)):
            job += "_"  # the launcher replaces this word everywhere, also in the path of a clone
        logs = str(self.log_dir / f"{self.task.name}.{job}.log")
        words = [*self._launcher]
        if count > self.nj and "--max-jobs-run" not in words:
            words += ["--max-jobs-run", str(self.nj)]
        line = [*words, f"{job}=1:{count}", logs, *self.task.command, job, *works]
        if subprocess.run(line, check=False).returncode:
            raise InputError(
                f"{self.task.name} failed (see above); what is finished is kept: fix the cause and run the same "
                "command again"
            )

    def _publish(self, target: Target, shards: Shards) -> None:
        if missing := _without_result(target, shards):
            names = ", ".join(missing[:5]) + (" …" if len(missing) > 5 else "")
            raise InputError(
                f"{self.task.name} ended without an error but made no {self.task.makes} for {len(missing)} of "
                f"{len(target.data.utts)} utterances ({names}); every utterance of wav.scp needs one",
                target.out,
            )
        target.new.mkdir(exist_ok=True)
        self.task.finish(target, shards)
        write_stamp(target.new / STAMP, self.task.made_from(target), [target.new])
        publish(target.new, target.out, target.places, is_split)
        end_work(target.out)


def _refuse_shared(targets: Sequence[Target]) -> None:
    outs = [target.out.resolve() for target in targets]
    for target, out in zip(targets, outs, strict=True):
        if outs.count(out) > 1:
            raise InputError("the results of two data directories would go here; name one of them", target.out)


def _seconds(target: Target, utts: Sequence[str]) -> list[float]:
    """The length of each utterance; without utt2dur all count the same."""
    if "utt2dur" not in target.data.utt_tables:
        return [1.0] * len(utts)
    return [target.data.utt2dur[utt] for utt in utts]


def _find_results(target: Target) -> Shards:
    """The results of a target, after a wait for those that other machines have written."""
    shards = Shards(target.work / SHARDS)
    shared_disk.wait_for(lambda: _without_result(target, shards), target.work / SHARDS)
    return shards


def _without_result(target: Target, shards: Shards) -> list[str]:
    done = shards.scan()
    return [utt for utt in target.data.utts if utt not in done]
