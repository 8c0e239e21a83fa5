"""Shards: files with the results of many utterances, published by the workers of a batch.

A shard is one line of JSON, its index (``utts`` and the ``sizes`` of their results in bytes), followed by the results.
It appears under its final name in one rename, ``<job>-<SHA-256 of the file>.piece``, so that the name shows if a shard
was cut off or changed on disk; its utterances are then done again. The size of a shard and the time that goes into it
are limited: after ``kill -9`` a worker repeats at most one of them. Two runs of the same job may overlap; their results
are the same, and the first one counts.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path

SHARDS = "parts"
"""The directory of the shards in a work directory."""
_SUFFIX = ".piece"
_BYTES = 16 << 20
_SECONDS = 30.0


@dataclass(frozen=True)
class Shard:
    """A complete shard on disk and its index."""

    path: Path
    utts: tuple[str, ...]
    ends: tuple[int, ...]
    """Where each result ends in the file; it begins where the one before it ends, the first after the index."""

    start: int

    def results(self) -> Iterator[tuple[str, memoryview]]:
        """Utterances with their results, in the order in which they were made."""
        content, first = memoryview(self.path.read_bytes()), self.start
        for utt, last in zip(self.utts, self.ends, strict=True):
            yield utt, content[first:last]
            first = last


@dataclass
class Shards:
    """The shards in a directory; each is read and checked once, however often the directory is scanned."""

    directory: Path
    job: str = ""
    """The number of a job, for its shards only."""

    damaged: list[Path] = field(default_factory=list)
    _known: dict[str, Shard] = field(default_factory=dict)

    def scan(self) -> set[str]:
        """Read new shards and remove damaged ones; return the utterances with a result."""
        for path in sorted(self.directory.glob(f"{self.job or '*'}-*{_SUFFIX}")):
            if path.name not in self._known:
                if shard := _read(path):
                    self._known[path.name] = shard
                else:
                    self.damaged.append(path)
                    path.unlink(missing_ok=True)
        return {utt for shard in self._known.values() for utt in shard.utts}

    @property
    def shards(self) -> list[Shard]:
        """The shards that the last scan found."""
        return [self._known[name] for name in sorted(self._known)]

    def results(self) -> Iterator[tuple[str, memoryview]]:
        """The results in the shards that the last scan found, a shard at a time; of repeated results the first."""
        seen: set[str] = set()
        for shard in self.shards:
            for utt, result in shard.results():
                if utt not in seen:
                    seen.add(utt)
                    yield utt, result


class ShardWriter:
    """Collects the results of one job and publishes them shard by shard; at the end of a `with` all are published."""

    def __init__(self, directory: Path, job: str) -> None:
        self._directory, self._job, self._seconds = directory, job, shard_seconds()
        self._utts: list[str] = []
        self._results: list[bytes] = []
        self._size, self._begun = 0, time.monotonic()

    def __enter__(self) -> ShardWriter:
        return self

    def __exit__(self, *reason: object) -> None:
        self.publish()

    def add(self, utt: str, result: bytes) -> None:
        """Add a result; it is written to disk when the shard is full or old."""
        self._utts.append(utt)
        self._results.append(result)
        self._size += len(result)
        if self._size >= _BYTES or time.monotonic() - self._begun >= self._seconds:
            self.publish()

    def publish(self) -> None:
        """Write the results so far to disk."""
        if self._utts:
            index = {"utts": self._utts, "sizes": [len(result) for result in self._results]}
            content = json.dumps(index).encode() + b"\n" + b"".join(self._results)
            with atomic_path(self._directory / _name(self._job, content)) as temporary:
                temporary.write_bytes(content)
        self._utts, self._results, self._size, self._begun = [], [], 0, time.monotonic()


def clear_unfinished(directory: Path) -> None:
    """Remove the temporary files of workers that were killed while they wrote a shard."""
    for unfinished in directory.glob(".*.tmp"):
        unfinished.unlink(missing_ok=True)


def shard_seconds() -> float:
    """The time that may go into a shard before it is published: VPEVAL_PIECE_SECONDS, or half a minute."""
    text = os.environ.get("VPEVAL_PIECE_SECONDS", "")
    if not text:
        return _SECONDS
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise InputError(f"VPEVAL_PIECE_SECONDS={text}: expected the seconds that go into a shard at most, such as 30")
    return float(text)


def _name(job: str, content: bytes) -> str:
    return f"{job}-{hashlib.sha256(content).hexdigest()[:32]}{_SUFFIX}"


def _read(path: Path) -> Shard | None:
    """A shard whose content matches its name; None for any other file."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return None
    if _name(path.name.partition("-")[0], content) != path.name:
        return None
    start = content.index(b"\n") + 1
    index, ends, last = json.loads(content[:start]), list[int](), start
    for size in index["sizes"]:
        last += size
        ends.append(last)
    return Shard(path, tuple(index["utts"]), tuple(ends), start)
