"""A resumable batch: the utterances of some data directories, worked through in parallel by ``$cmd``.

Anonymisation, embedding extraction, decoding and emotions are the same machine: each utterance gives a result, and a
worker publishes its results in pieces of many (`vpeval.jobs.pieces`). A batch asks which results are missing, cuts the
rest into jobs, runs the worker on them and, when all are there, lets `finish` turn them into the output directory,
which appears in one rename together with its stamp. Killed at any moment, the same call goes on where it stopped: if
its jobs went on without it, as they do on a cluster, it finds them by the same cut.

A job may run twice, even at the same time: a result is the same whoever makes it, and a piece appears as a whole.
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
from vpeval.core.files import locked, write_text
from vpeval.core.lazy import Deferred
from vpeval.core.publish import publish, refuse_overlap, refuse_target
from vpeval.data.directory import DataDir
from vpeval.data.layout import is_split, read_places
from vpeval.jobs import shards, visibility
from vpeval.jobs.backends import slurm_control
from vpeval.jobs.code import Maker
from vpeval.jobs.command import launcher
from vpeval.jobs.pieces import FOLDER, Pieces, clear_unfinished
from vpeval.jobs.progress import log_skipped
from vpeval.jobs.rehearsal import rehearsing
from vpeval.jobs.stamps import NOT_MADE, STAMP, Fingerprint, fingerprint, is_current, why, write_stamp

log = logging.getLogger(__name__)
_WORK = Path(__file__).resolve().parents[2] / "steps/jobs/work.py"


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


def target(source: Path, out: Path, inputs: Sequence[Path], makers: Sequence[Maker], **options: object) -> Target:
    """The target for data directory `source`; its results also depend on `inputs`, `options` and the code of `makers`."""
    made_from = fingerprint([source, *inputs], {**options, "out": out}, makers)
    return Target(partial(DataDir.load, source), out, made_from, source, tuple(inputs))


@dataclass(frozen=True)
class Task:
    """What to do with an utterance, and how the results become a directory.

    The worker is a class that is made once per job as ``Worker(*arguments)`` and gives ``worker(part) -> bytes`` for
    every utterance (`vpeval.jobs.worker.Part`), or a command that is called as ``<worker …> <argument …> <job>
    <work-dir> …``. `tables` are the files of the data directory that it needs beside utt2spk (None: all). `begin` puts
    into the work directory what the workers need beside their splits; `recover` saves what interrupted workers left
    there beside their pieces and returns the utterances. `makes` is how a message calls a result.
    """

    name: str
    worker: Deferred | tuple[str, ...]
    finish: Callable[[Target, Pieces], None]
    arguments: tuple[str, ...] = ()
    tables: Collection[str] | None = ("wav.scp",)
    begin: Callable[[Target], object] = lambda target: None
    recover: Callable[[Target], Collection[str]] = lambda target: ()
    makes: str = "result"

    @property
    def command(self) -> tuple[str, ...]:
        """What a job runs, before its number and the work directories."""
        if isinstance(self.worker, Deferred):
            return (str(_WORK), f"{self.worker.module}:{self.worker.name}", *self.arguments, "--")
        return (*self.worker, *self.arguments)


def run(task: Task, targets: Sequence[Target], cmd: str, nj: int, log_dir: Path) -> list[Target]:
    """Bring all `targets` up to date; return those that had work to do."""
    _refuse_shared(targets)
    if rehearsal := rehearsing():
        for target in targets:
            rehearsal.consider(target.out, [target.out], _why(target))
        return []
    for target in targets:
        if not _is_current(target):
            refuse_overlap(target.out, target.places)
    with ExitStack() as locks:
        # Every process takes the locks in the same order, or two of them could wait for each other for ever.
        for target in sorted(targets, key=lambda target: str(target.out.resolve())):
            target.out.parent.mkdir(parents=True, exist_ok=True)
            locks.enter_context(locked(target.out.with_name(f".{target.out.name}.lock"), str(target.out)))
        stale = [target for target in targets if not _is_current(target)]
        for target in targets:
            if target not in stale:
                shutil.rmtree(target.work, ignore_errors=True)  # what a kill just after publishing left
        for target in stale:
            refuse_target(target.out, target.places, is_split)
        log_skipped(log, len(targets) - len(stale), f"sets of {task.name}")
        for reason, count in Counter(map(_why, stale)).items():
            if reason != NOT_MADE:
                log.info("%s: %d of %d sets again, %s", task.name, count, len(targets), reason)
        logs = log_dir / f"{task.name}.array.log"
        if slurm_control.is_left_behind(logs) and not _is_cut(stale):
            # They would go on writing into directories that are about to be made for something else.
            slurm_control.clear(logs, log.info)
        if slurm_control.is_left_behind(logs):
            _launch(task, stale, int(_cut_file(stale).read_text().split("\n")[0]), nj, cmd, log_dir)
        else:
            _do_missing(task, stale, [_missing(task, target) for target in stale], nj, cmd, log_dir)
        slurm_control.clear(logs, log.info)  # of a cluster, when the rest was done elsewhere
        found = {id(target): _found(target) for target in stale}
        if any(pieces.damaged for pieces in found.values()):  # since their jobs have written them
            _do_missing(task, stale, [_missing(task, target) for target in stale], nj, cmd, log_dir)
            found = {id(target): _found(target) for target in stale}
        for target in stale:
            _publish(task, target, found[id(target)])
    return stale


def _why(target: Target) -> str:
    return why(target.out / STAMP, target.fingerprint, [target.out])


def _is_current(target: Target) -> bool:
    return is_current(target.out / STAMP, target.fingerprint, [target.out])


def _refuse_shared(targets: Sequence[Target]) -> None:
    outs = [target.out.resolve() for target in targets]
    for target, out in zip(targets, outs, strict=True):
        if outs.count(out) > 1:
            raise InputError("the results of two data directories would go here; name one of them", target.out)


def _missing(task: Task, target: Target) -> list[str]:
    """Utterances without a result; work that was begun for other inputs or options is thrown away."""
    begun = target.work / "fingerprint"
    if not begun.is_file() or begun.read_text() != target.fingerprint.digest:
        shutil.rmtree(target.work, ignore_errors=True)
        target.work.mkdir(parents=True)
        write_text(begun, target.fingerprint.digest)
    shutil.rmtree(target.work / "split", ignore_errors=True)
    (target.work / FOLDER).mkdir(exist_ok=True)
    clear_unfinished(target.work / FOLDER)
    pieces = Pieces(target.work / FOLDER)
    done = pieces.look()
    if pieces.damaged:
        log.warning("%s: WARNING: %d damaged files of results are made again", target.out, len(pieces.damaged))
    missing = [utt for utt in target.data.utts if utt not in done]
    if kept := len(target.data.utts) - len(missing) + len(set(task.recover(target)).intersection(missing)):
        log.info("%s: going on, %d of %d utterances are there", target.out, kept, len(target.data.utts))
    return missing


def _do_missing(
    task: Task, targets: Sequence[Target], missing: Sequence[list[str]], nj: int, cmd: str, log_dir: Path
) -> None:
    """Cut what is `missing` of every target into tasks of about the time that a task should take; have them run."""
    if not any(missing):
        return
    for target in targets:
        task.begin(target)
    pace = log_dir / f".{task.name}.pace"
    speech = [seconds for target, utts in zip(targets, missing, strict=True) for seconds in _seconds(target, utts)]
    per_second = shards.read_pace(pace)
    pieces = shards.cut([seconds / per_second for seconds in speech], nj, shards.task_seconds())
    first = 0
    for target, utts in zip(targets, missing, strict=True):
        _write_splits(task, target, utts, first, pieces)
        first += len(utts)
    write_text(_cut_file(targets), _describe_cut(targets, len(pieces)))
    _launch(task, targets, len(pieces), nj, cmd, log_dir)
    shards.note_pace(pace, sum(speech), [log_dir / f"{task.name}.{n + 1}.log" for n in range(len(pieces))])


def _seconds(target: Target, utts: Sequence[str]) -> list[float]:
    """How long each utterance is; where nobody says it, all are alike."""
    if "utt2dur" not in target.data.utt_tables:
        return [1.0] * len(utts)
    return [target.data.utt2dur[utt] for utt in utts]


def _write_splits(task: Task, target: Target, utts: Sequence[str], first: int, pieces: Sequence[range]) -> None:
    """Write the part of every piece that is of this target, whose `utts` begin at place `first` of all that is cut."""
    # Without trials and enrolments, which are as long for every piece as for the whole set.
    data = replace(target.data, enrolls=None, trials=None)
    if task.tables is not None:
        kept = set(task.tables)
        utt_tables = {name: table for name, table in data.utt_tables.items() if name in kept}
        data = replace(
            data, utt_tables=utt_tables, spk_tables={n: table for n, table in data.spk_tables.items() if n in kept}
        )
    for number, piece in enumerate(pieces, start=1):
        if chosen := utts[max(0, piece.start - first) : max(0, piece.stop - first)]:
            data.subset(chosen).write(target.work / "split" / str(number))


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


def _launch(task: Task, targets: Sequence[Target], count: int, nj: int, cmd: str, log_dir: Path) -> None:
    works = [str(target.work) for target in targets]
    job = "JOB"
    while any(job in word for word in (str(log_dir), task.name, *task.command, *works)):
        job += "_"  # the launcher replaces this word wherever it stands, in the path of a clone as well
    logs = str(log_dir / f"{task.name}.{job}.log")
    words = launcher(cmd)
    if count > nj and "--max-jobs-run" not in words:
        words += ["--max-jobs-run", str(nj)]
    line = [*words, f"{job}=1:{count}", logs, *task.command, job, *works]
    code = subprocess.run(line, check=False).returncode
    if code != 0:
        raise InputError(
            f"{task.name} failed (see above); what is finished is kept: fix the cause and run the same command again"
        )


def _found(target: Target) -> Pieces:
    """The results of a target, after a wait for those that other machines have written."""
    pieces = Pieces(target.work / FOLDER)
    visibility.wait_for(lambda: _lacking(target, pieces), target.work / FOLDER)
    return pieces


def _lacking(target: Target, pieces: Pieces) -> list[str]:
    done = pieces.look()
    return [utt for utt in target.data.utts if utt not in done]


def _publish(task: Task, target: Target, pieces: Pieces) -> None:
    if lacking := _lacking(target, pieces):
        names = ", ".join(lacking[:5]) + (" …" if len(lacking) > 5 else "")
        raise InputError(
            f"{task.name} ended without an error but made no {task.makes} for {len(lacking)} of "
            f"{len(target.data.utts)} utterances ({names}); every utterance of wav.scp needs one",
            target.out,
        )
    target.new.mkdir(exist_ok=True)
    task.finish(target, pieces)
    write_stamp(target.new / STAMP, target.fingerprint, [target.new])
    publish(target.new, target.out, target.places, is_split)
    shutil.rmtree(target.work)
