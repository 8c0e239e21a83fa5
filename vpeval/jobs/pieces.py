"""Results of many utterances in few files: a worker collects them and publishes a piece at a time.

A piece is one line of JSON, its index (``utts`` and the ``sizes`` of their results in bytes), and then the results
themselves. It appears under its final name in one rename, ``<job>-<SHA-256 of the file>.piece``, so that one that was
cut off or changed on disk is known by its name and its utterances are done again. Pieces are bounded in bytes and in
the time that went into them: after ``kill -9`` a worker does at most one of them again. Two runs of the same job may
overlap; a result is the same whoever makes it, so that the first one counts.
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

FOLDER = "parts"
_SUFFIX = ".piece"
_BYTES = 16 << 20
_SECONDS = 30.0


@dataclass(frozen=True)
class Piece:
    """A whole piece on disk, and which results are in it."""

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
class Pieces:
    """The pieces in a folder; each is read and checked once, however often one looks for new ones."""

    folder: Path
    job: str = ""
    """Whose: the number of a job, or those of all."""

    damaged: list[Path] = field(default_factory=list)
    _known: dict[str, Piece] = field(default_factory=dict)

    def look(self) -> set[str]:
        """Look for new pieces and remove those that are damaged; return the utterances with a result."""
        for path in sorted(self.folder.glob(f"{self.job or '*'}-*{_SUFFIX}")):
            if path.name not in self._known:
                if piece := _read(path):
                    self._known[path.name] = piece
                else:
                    self.damaged.append(path)
                    path.unlink(missing_ok=True)
        return {utt for piece in self._known.values() for utt in piece.utts}

    @property
    def pieces(self) -> list[Piece]:
        """Those that were there at the last look."""
        return [self._known[name] for name in sorted(self._known)]

    def results(self) -> Iterator[tuple[str, memoryview]]:
        """All results of the pieces that were there at the last look, a piece at a time; of repeated ones the first."""
        seen: set[str] = set()
        for piece in self.pieces:
            for utt, result in piece.results():
                if utt not in seen:
                    seen.add(utt)
                    yield utt, result


class PieceWriter:
    """Collects the results of one job and publishes them piece by piece; used in a `with`, nothing is forgotten."""

    def __init__(self, folder: Path, job: str) -> None:
        self._folder, self._job, self._seconds = folder, job, piece_seconds()
        self._utts: list[str] = []
        self._results: list[bytes] = []
        self._size, self._begun = 0, time.monotonic()

    def __enter__(self) -> PieceWriter:
        return self

    def __exit__(self, *reason: object) -> None:
        self.publish()

    def add(self, utt: str, result: bytes) -> None:
        """Take a result; it is safe on disk when the piece is full or old."""
        self._utts.append(utt)
        self._results.append(result)
        self._size += len(result)
        if self._size >= _BYTES or time.monotonic() - self._begun >= self._seconds:
            self.publish()

    def publish(self) -> None:
        """Put what was collected on disk."""
        if self._utts:
            index = {"utts": self._utts, "sizes": [len(result) for result in self._results]}
            content = json.dumps(index).encode() + b"\n" + b"".join(self._results)
            with atomic_path(self._folder / _name(self._job, content)) as temporary:
                temporary.write_bytes(content)
        self._utts, self._results, self._size, self._begun = [], [], 0, time.monotonic()


def clear_unfinished(folder: Path) -> None:
    """Remove what workers that were killed while they wrote left in a folder."""
    for unfinished in folder.glob(".*.tmp"):
        unfinished.unlink(missing_ok=True)


def piece_seconds() -> float:
    """How much time may go into a piece before it is published: VPEVAL_PIECE_SECONDS, or half a minute."""
    text = os.environ.get("VPEVAL_PIECE_SECONDS", "")
    if not text:
        return _SECONDS
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise InputError(f"VPEVAL_PIECE_SECONDS={text}: expected the seconds that go into a piece at most, such as 30")
    return float(text)


def _name(job: str, content: bytes) -> str:
    return f"{job}-{hashlib.sha256(content).hexdigest()[:32]}{_SUFFIX}"


def _read(path: Path) -> Piece | None:
    """A piece that is as its name says; None for any other file."""
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
    return Piece(path, tuple(index["utts"]), tuple(ends), start)
