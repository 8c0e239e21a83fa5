"""The worker's side of a batch (`vpeval.jobs.batch`): which utterances a job has to do, and where their results go.

A worker is a class of computing code that knows nothing of jobs: it is made from words, and called with a `Part`. One
that reads and computes in two steps (`InSteps`) has its utterances read ahead by threads, and what a device can compute
together comes in groups.
"""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from vpeval.core.errors import InputError
from vpeval.core.lazy import Deferred
from vpeval.data.directory import DataDir
from vpeval.jobs import shared_disk
from vpeval.jobs.backends.base import NOT_VISIBLE
from vpeval.jobs.shards import SHARDS, Shards, ShardWriter

_REPORT_SECONDS = 0.2
_READERS = 4
_MOST_SECONDS = 160.0
"""Speech in a group, by utt2dur; the memory of a device is for more, but not for any amount."""


@dataclass(frozen=True)
class Part:
    """An utterance that a worker has to do, its speaker and audio, and the work directory that the result is for."""

    utt: str
    spk: str
    wav: str
    work: Path
    tables: Mapping[str, str] = field(default_factory=dict)
    """The values of the speaker in those speaker tables that the task names, such as ``tables["spk2fold"]``."""

    seconds: float = 0.0
    """Its length by utt2dur, or 0 where there is none."""


@runtime_checkable
class InSteps(Protocol):
    """A worker that reads first and computes then.

    `most` is how many utterances it may compute together, 1 where that would change bytes of results (on the CPU); they
    are in a group if `alike` is the same and not None. `start` may return before a device has computed; the function
    that it returns waits for the results.
    """

    most: int

    def read(self, part: Part) -> Any:
        """What computing needs of an utterance; called in threads."""

    def alike(self, item: Any) -> Hashable:
        """What utterances of a group have in common."""

    def start(self, parts: Sequence[Part], items: Sequence[Any]) -> Callable[[], Sequence[bytes]]:
        """Compute utterances that have been read."""


def work(worker: Deferred, arguments: Sequence[str], job: str, works: Sequence[str]) -> None:
    """Do job number `job`: make the worker, if there is something to do, and record its result of every utterance."""
    parts = job_parts(job, works)
    if not parts:
        return
    report(0, len(parts))
    compute = worker.load()(*arguments)
    with recording(job, parts) as record:
        for part, result in results(compute, parts):
            record(part, result)


def results(worker: InSteps | Callable[[Part], bytes], parts: Sequence[Part]) -> Iterator[tuple[Part, bytes]]:
    """The results of a worker; each as soon as it is there, the rest even if reading or computing fails."""
    if not isinstance(worker, InSteps):
        for part in parts:
            yield part, worker(part)
        return
    if worker.most > 1:  # those of one length are neighbours then
        parts = sorted(parts, key=lambda part: (part.seconds, part.utt))
    running: tuple[Sequence[Part], Callable[[], Sequence[bytes]]] | None = None
    try:
        for group in _groups(worker, _read_ahead(worker, parts)):
            own, items = zip(*group, strict=True)
            started = worker.start(own, items)
            if running:
                yield from _wait(*running)
            running = own, started
            if worker.most == 1:  # without a device to wait for
                running = None
                yield from _wait(own, started)
    except Exception:
        if running:
            yield from _wait(*running)
        raise
    if running:
        yield from _wait(*running)


def _wait(parts: Sequence[Part], finish: Callable[[], Sequence[bytes]]) -> Iterator[tuple[Part, bytes]]:
    return zip(parts, finish(), strict=True)


def _groups(worker: InSteps, items: Iterator[tuple[Part, Any]]) -> Iterator[list[tuple[Part, Any]]]:
    """Neighbours that may be computed together, no more than the worker takes and memory is for."""
    group: list[tuple[Part, Any]] = []
    last: Hashable = None
    seconds = 0.0
    try:
        for part, item in items:
            kind = worker.alike(item) if worker.most > 1 else None
            full = len(group) >= worker.most or seconds + part.seconds > _MOST_SECONDS
            if group and (kind is None or kind != last or full):
                yield group
                group, seconds = [], 0.0
            group.append((part, item))
            last, seconds = kind, seconds + part.seconds
    except Exception:  # the next one cannot be read, which does not concern these
        if group:
            yield group
        raise
    if group:
        yield group


def _read_ahead(worker: InSteps, parts: Sequence[Part]) -> Iterator[tuple[Part, Any]]:
    """The parts in their order and what was read of them, while threads read those that follow."""
    readers = ThreadPoolExecutor(_READERS if worker.most > 1 else 1)
    waiting: deque[tuple[Part, Future[Any]]] = deque()
    try:
        for part in parts:
            waiting.append((part, readers.submit(worker.read, part)))
            if len(waiting) > 2 * worker.most + _READERS:
                first, item = waiting.popleft()
                yield first, item.result()
        while waiting:
            first, item = waiting.popleft()
            yield first, item.result()
    finally:
        readers.shutdown(wait=False, cancel_futures=True)


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
            wav, seconds = data.wav, data.utt2dur if "utt2dur" in data.utt_tables else dict[str, float]()
            tables = {
                spk: {name: table[spk] for name, table in data.spk_tables.items() if spk in table}
                for spk in set(data.utt2spk.values())
            }
            parts += [
                Part(utt, spk, wav[utt], work_dir, tables[spk], seconds.get(utt, 0.0))
                for utt, spk in data.utt2spk.items()
                if utt not in done
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
