"""A resumable batch: the utterances of some data directories, worked through in parallel by ``$cmd``.

Anonymisation, embedding extraction and decoding are the same machine: each utterance gives one small file, written
under its final name only when it is whole. A batch asks which of them are missing, cuts the rest into jobs, runs the
worker on them and, when all are there, lets `finish` turn them into the output directory, which appears in one rename
together with its stamp. Killed at any moment, the same call goes on where it stopped: if its jobs went on without it,
as they do on a cluster, it finds them by the same cut.

A job may run twice, even at the same time: a part is the same whoever makes it, and appears as a whole.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import locked, write_text
from vpeval.core.publish import publish, refuse_overlap, refuse_target
from vpeval.data.directory import DataDir
from vpeval.data.layout import is_split, read_places
from vpeval.jobs import shards, visibility
from vpeval.jobs.backends import slurm_control
from vpeval.jobs.command import launcher
from vpeval.jobs.stamps import STAMP, Fingerprint, fingerprint, is_current, write_stamp

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Target:
    """One data directory, which is loaded when there is work to do, and the directory that its results will go to."""

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
        """Where unfinished results are; beside the output, so that publishing is a rename."""
        return self.out.with_name(f".{self.out.name}.work")

    @property
    def new(self) -> Path:
        """The output directory in the making."""
        return self.work / "out"


def target(source: Path, out: Path, inputs: Sequence[Path], code: Sequence[str], **options: object) -> Target:
    """The target for data directory `source`, whose results also depend on `inputs`, on `options` and on `code`.

    `code` are entry points, as `closure` takes them.
    """
    made_from = fingerprint([source, *inputs], {**options, "out": out}, code)
    return Target(partial(DataDir.load, source), out, made_from, source, tuple(inputs))


@dataclass(frozen=True)
class Task:
    """What to do with an utterance: the worker command, the file it makes, and how results become a directory.

    The worker is called as ``<worker …> <job> <work-dir> …``; see `job_parts` for its side. `parts` is the folder
    in the work directory for the files ``<utt><suffix>``; `is_whole` tells whether a file found there can be kept.
    `begin` puts into the work directory what the workers need beside their splits.
    """

    name: str
    worker: tuple[str, ...]
    suffix: str
    finish: Callable[[Target, Path], None]
    parts: str = "parts"
    begin: Callable[[Target], object] = lambda target: None
    is_whole: Callable[[Target, str, Path], bool] = lambda target, utt, part: True


@dataclass(frozen=True)
class Part:
    """An utterance that a worker has to do, and the file that it makes."""

    utt: str
    wav: str
    file: Path


def run(task: Task, targets: Sequence[Target], cmd: str, nj: int, log_dir: Path) -> list[Target]:
    """Bring all `targets` up to date; return those that had work to do."""
    _refuse_shared(targets)
    for target in targets:
        refuse_overlap(target.out, target.places)
    with ExitStack() as locks:
        # Every process takes the locks in the same order, or two of them could wait for each other for ever.
        for target in sorted(targets, key=lambda target: str(target.out.resolve())):
            target.out.parent.mkdir(parents=True, exist_ok=True)
            locks.enter_context(locked(target.out.with_name(f".{target.out.name}.lock"), str(target.out)))
        stale = [t for t in targets if not is_current(t.out / STAMP, t.fingerprint, [t.out])]
        for target in targets:
            if target not in stale:
                shutil.rmtree(target.work, ignore_errors=True)  # what a kill just after publishing left
        for target in stale:
            refuse_target(target.out, target.places, is_split)
        if len(stale) < len(targets):
            log.info("%s: %d of %d sets up to date, skipped", task.name, len(targets) - len(stale), len(targets))
        logs = log_dir / f"{task.name}.array.log"
        if slurm_control.is_left_behind(logs) and not _is_cut(stale):
            # They would go on writing into directories that are about to be made for something else.
            slurm_control.clear(logs, log.info)
        if slurm_control.is_left_behind(logs):
            _launch(task, stale, int(_cut_file(stale).read_text().split("\n")[0]), nj, cmd, log_dir)
        elif missing := [(target, utt) for target in stale for utt in _missing(task, target)]:
            for target in stale:
                task.begin(target)
            _do(task, stale, missing, nj, cmd, log_dir)
        slurm_control.clear(logs, log.info)  # of a cluster, when the rest was done elsewhere
        for target in stale:
            _publish(task, target)
    return stale


def job_parts(task_parts: str, suffix: str, job: str, works: Sequence[str]) -> list[Part]:
    """The worker's side: what job number `job` has to do in the given work directories, and nobody has done before."""
    parts = []
    for work in map(Path, works):
        split = work / "split" / job
        if split.is_dir():
            data = DataDir.load(split)
            parts += [Part(utt, data.wav[utt], work / task_parts / f"{utt}{suffix}") for utt in data.utts]
    return [part for part in parts if not part.file.exists()]


def report(done: int, total: int) -> None:
    """Tell the launcher how far a job is."""
    print(f"progress: {done}/{total}", flush=True)


def _refuse_shared(targets: Sequence[Target]) -> None:
    outs = [target.out.resolve() for target in targets]
    for target, out in zip(targets, outs, strict=True):
        if outs.count(out) > 1:
            raise InputError("the results of two data directories would go here; name one of them", target.out)


def _missing(task: Task, target: Target) -> list[str]:
    """Utterances without a whole part; work that was begun for other inputs or options is thrown away."""
    begun = target.work / "fingerprint"
    if not begun.is_file() or begun.read_text() != target.fingerprint.digest:
        shutil.rmtree(target.work, ignore_errors=True)
        target.work.mkdir(parents=True)
        write_text(begun, target.fingerprint.digest)
    parts = target.work / task.parts
    parts.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(target.work / "split", ignore_errors=True)
    for unfinished in parts.glob(".*.tmp"):  # of a worker that was killed while it wrote
        unfinished.unlink()
    missing = []
    for utt in target.data.utts:
        part = parts / f"{utt}{task.suffix}"
        if part.exists() and not task.is_whole(target, utt, part):
            part.unlink()
        if not part.exists():
            missing.append(utt)
    if kept := len(target.data.utts) - len(missing):
        log.info("%s: going on, %d of %d utterances are there", target.out, kept, len(target.data.utts))
    return missing


def _do(
    task: Task, targets: Sequence[Target], missing: list[tuple[Target, str]], nj: int, cmd: str, log_dir: Path
) -> None:
    """Cut what is missing into tasks of about the time that a task should take, and have them run."""
    pace = log_dir / f".{task.name}.pace"
    speech = [t.data.utt2dur[utt] if "utt2dur" in t.data.utt_tables else 1.0 for t, utt in missing]
    cost = [seconds / shards.read_pace(pace) for seconds in speech]
    pieces = [[missing[item] for item in piece] for piece in shards.cut(cost, nj, shards.task_seconds())]
    _write_jobs(pieces)
    write_text(_cut_file(targets), _describe_cut(targets, len(pieces)))
    _launch(task, targets, len(pieces), nj, cmd, log_dir)
    shards.note_pace(pace, sum(speech), [log_dir / f"{task.name}.{n + 1}.log" for n in range(len(pieces))])


def _cut_file(targets: Sequence[Target]) -> Path:
    """Where it says how the work on these targets was cut; written when all its pieces are."""
    return targets[0].work / "split" / "cut"


def _describe_cut(targets: Sequence[Target], jobs: int) -> str:
    return "\n".join([str(jobs), *(f"{target.out} {target.fingerprint.digest}" for target in targets)]) + "\n"


def _is_cut(targets: Sequence[Target]) -> bool:
    """Whether the pieces that jobs of an earlier call work on are those of just these targets."""
    if not targets or not _cut_file(targets).is_file():
        return False
    found = _cut_file(targets).read_text()
    return found == _describe_cut(targets, int(found.split("\n")[0]))


def _write_jobs(jobs: list[list[tuple[Target, str]]]) -> None:
    for number, job in enumerate(jobs, start=1):
        for target in dict.fromkeys(id(target) for target, _ in job):
            chosen = [(t, utt) for t, utt in job if id(t) == target]
            # Without trials and enrolments, which are as long for every piece as for the whole set.
            data = replace(chosen[0][0].data, enrolls=None, trials=None).subset(utt for _, utt in chosen)
            data.write(chosen[0][0].work / "split" / str(number))


def _launch(task: Task, targets: Sequence[Target], count: int, nj: int, cmd: str, log_dir: Path) -> None:
    works = [str(target.work) for target in targets]
    job = "JOB"
    while any(job in word for word in (str(log_dir), task.name, *task.worker, *works)):
        job += "_"  # the launcher replaces this word wherever it stands, in the path of a clone as well
    logs = str(log_dir / f"{task.name}.{job}.log")
    words = launcher(cmd)
    if count > nj and "--max-jobs-run" not in words:
        words += ["--max-jobs-run", str(nj)]
    line = [*words, f"{job}=1:{count}", logs, *task.worker, job, *works]
    code = subprocess.run(line, check=False).returncode
    if code != 0:
        raise InputError(
            f"{task.name} failed (see above); what is finished is kept: fix the cause and run the same command again"
        )


def _publish(task: Task, target: Target) -> None:
    parts = target.work / task.parts

    def missing() -> list[str]:
        return [utt for utt in target.data.utts if not (parts / f"{utt}{task.suffix}").is_file()]

    if lacking := visibility.wait_for(missing, parts):
        names = ", ".join(lacking[:5]) + (" …" if len(lacking) > 5 else "")
        raise InputError(
            f"{task.name} ended without an error but made no file for {len(lacking)} of {len(target.data.utts)} "
            f"utterances ({names}); every utterance of wav.scp needs {task.parts}/<utt>{task.suffix}",
            target.out,
        )
    target.new.mkdir(exist_ok=True)
    task.finish(target, parts)
    write_stamp(target.new / STAMP, target.fingerprint, [target.new])
    publish(target.new, target.out, target.places, is_split)
    shutil.rmtree(target.work)
