"""The worker's side of a batch (`vpeval.jobs.batch`): which utterances a job has to do, and where their results go.

A worker is a class of computing code that knows nothing of jobs: it is made from words, and called with a `Part`.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.lazy import Deferred
from vpeval.data.directory import DataDir
from vpeval.jobs import shared_disk
from vpeval.jobs.backends.base import NOT_VISIBLE
from vpeval.jobs.shards import SHARDS, Shards, ShardWriter

_REPORT_SECONDS = 0.2


@dataclass(frozen=True)
class Part:
    """An utterance that a worker has to do, its speaker and audio, and the work directory that the result is for."""

    utt: str
    spk: str
    wav: str
    work: Path
    tables: Mapping[str, str] = field(default_factory=dict)
    """The values of the speaker in those speaker tables that the task names, such as ``tables["spk2fold"]``."""


def work(worker: Deferred, arguments: Sequence[str], job: str, works: Sequence[str]) -> None:
    """Do job number `job`: make the worker, if there is something to do, and record its result of every utterance."""
    parts = job_parts(job, works)
    if not parts:
        return
    compute: Callable[[Part], bytes] = worker.load()(*arguments)
    with recording(job, parts) as record:
        for part in parts:
            record(part, compute(part))


class Unseen(InputError):
    """This machine does not see the work of the job; another one may."""

    exit_code = NOT_VISIBLE


def job_parts(job: str, works: Sequence[str]) -> list[Part]:
    """What job number `job` has to do in the given work directories and no run of it has done before."""
    splits = [Path(work_dir) / "split" for work_dir in works]

    def unseen() -> list[str]:
        return [] if any((split / job).is_dir() for split in splits) else [job]

    try:
        lacking = shared_disk.wait_for(unseen, splits[0])
    except OSError:  # there is nothing at all
        lacking = [job]
    if lacking:
        machine = socket.gethostname()
        raise Unseen(f"there is no work of job {job} to be seen on {machine}; does it have this disk?", splits[0])
    parts = []
    for work_dir in map(Path, works):
        split = work_dir / "split" / job
        if split.is_dir():
            data, done = DataDir.load(split), Shards(work_dir / SHARDS, job).scan()
            wav = data.wav
            tables = {
                spk: {name: table[spk] for name, table in data.spk_tables.items() if spk in table}
                for spk in set(data.utt2spk.values())
            }
            parts += [
                Part(utt, spk, wav[utt], work_dir, tables[spk]) for utt, spk in data.utt2spk.items() if utt not in done
            ]
    return parts


@contextmanager
def recording(job: str, parts: Sequence[Part]) -> Iterator[Callable[[Part, bytes], None]]:
    """Give the function to call with every part and its result; it also reports the progress to the launcher.

    However the job ends, short of kill -9, no result that was recorded is lost.
    """
    done, reported = 0, 0.0

    def record(part: Part, result: bytes) -> None:
        nonlocal done, reported
        writers[part.work].add(part.utt, result)
        done += 1
        if done == len(parts) or time.monotonic() - reported > _REPORT_SECONDS:
            reported = time.monotonic()
            report(done, len(parts))

    with ExitStack() as stack:
        work_dirs = dict.fromkeys(part.work for part in parts)
        writers = {work_dir: stack.enter_context(ShardWriter(work_dir / SHARDS, job)) for work_dir in work_dirs}
        yield record


def report(done: int, total: int) -> None:
    """Report the progress of a job to the launcher."""
    print(f"progress: {done}/{total}", flush=True)
