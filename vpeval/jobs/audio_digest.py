"""Digests of the audio of a set, which show whether it has changed, and when to trust a stored one.

Audio counts by content, wherever it is. Reading a million files takes minutes, even their sizes take long on some
disks, and a run asks often. Digests are therefore stored: that of the audio that a wav.scp names in a hidden file next
to it, that of published audio in the stamp. A stored digest is valid while sizes and times of all files are the same:
the time of the content, and that of any change, which no program can set back, where the file system has it. In a set
of more than `MANY` files it is valid while wav.scp and the directories of the audio are the same: until a file appears,
disappears or is replaced. What is overwritten in place goes unnoticed there, and on file systems that have one time
only where that was set back: ``--verify true`` (VPEVAL_VERIFY) reads all files. Next to a wav.scp of somebody else
nothing can be stored: audio elsewhere counts by sizes and times there.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vpeval.core.errors import InputError
from vpeval.core.files import file_sha256, is_pipe, is_verifying, read_table, times_of, write_text
from vpeval.core.publish import INDEX

MANY = 4096
"""In sets of at most so many files, all of them are always checked."""
AUDIO_DIR = "wav"
"""The directory of the audio inside a set."""
_VERSION = 3
_READERS = 4
_AT_A_TIME = 64
"""Files that a reader is given: one by one, handing them out would take longer than checking them."""
_ABSENT = "absent"
_BETWEEN_WORDS = re.compile(r"[\s<>|&;()'\"`=,]+")
_SETTLED_SECONDS = 1.0  # a directory may change again within the resolution of its time


def named_audio(directory: Path) -> str:
    """A digest of the audio that the wav.scp of a data directory names.

    A pipe counts by the files that its command names; one that names none counts by its output.
    """
    scp, index = directory / "wav.scp", directory / INDEX
    status = scp.stat()
    known = [status.st_size, times_of(status), status.st_ino]
    found = {} if is_verifying() else _read(index)
    here = found.get("version") == _VERSION and found.get("cwd") == str(Path.cwd())
    if here and found.get("scp") == known and found.get("folders") and _unchanged(found["folders"]):
        return str(found.get("digest"))
    entries, outputs = _entries(scp)
    files = AudioFiles(tuple(entries), os.access(directory, os.W_OK))
    seen = files.times
    known_before = found.get("times") == seen and found.get("version") == _VERSION
    digest = str(found["digest"]) if known_before else files.digest
    if outputs:
        return hashlib.sha256(json.dumps([digest, outputs]).encode()).hexdigest()
    directories = _times({entry.rpartition("/")[0] or "." for _, entry in entries}) if len(entries) > MANY else {}
    now = time.time_ns()
    if any(abs(now - changed) < _SETTLED_SECONDS * 1e9 for changed in directories.values()):
        directories = {}
    kept = {"version": _VERSION, "scp": known, "cwd": str(Path.cwd()), "folders": directories, "times": seen}
    if kept != {name: found.get(name) for name in kept} or digest != found.get("digest"):
        with suppress(OSError):  # somebody else's directory: then all files are checked each time
            write_text(index, json.dumps({**kept, "digest": digest}))
    return digest


def published_audio(directory: Path, believed: object = None) -> dict[str, Any]:
    """The audio inside a set: number of files, digests of contents, of times, and of directories.

    `believed` is an earlier answer: while times are the same, so are the files, and where there are many files the
    times of their directories are enough.
    """
    home = directory / AUDIO_DIR
    directories = _digest_of_directories(home)
    before: dict[str, Any] = believed if isinstance(believed, dict) else {}
    if before.get("folders") == directories and before.get("files", 0) > MANY:
        return before
    found = [path for path in sorted(home.rglob("*")) if not path.is_dir()]
    files = AudioFiles(tuple((str(path.relative_to(home)), str(path)) for path in found))
    digest = str(before["digest"]) if before.get("times") == files.times else files.digest
    return {"files": len(found), "digest": digest, "times": files.times, "folders": directories}


@dataclass(frozen=True)
class AudioFiles:
    """Files by name and path; the status of each is read once. `reads_all`: those elsewhere count by content, too."""

    places: tuple[tuple[str, str], ...]
    reads_all: bool = True

    @cached_property
    def times(self) -> str:
        """A digest of sizes and times only, which is fast."""
        return self._digest(self._sizes_and_times)

    @cached_property
    def digest(self) -> str:
        """A digest of the contents; absent files count as such."""
        here = f"{Path.cwd()}/"
        paths = dict(enumerate(path for _, path in self.places))
        read = [n for n, path in paths.items() if self.reads_all or not path.startswith("/") or path.startswith(here)]
        identities = list(self._sizes_and_times)
        for place, content in zip(read, _contents([paths[place] for place in read]), strict=True):
            identities[place] = content
        return self._digest(identities)

    @cached_property
    def _sizes_and_times(self) -> list[str]:
        return [_size_and_time(path) for _, path in self.places]

    def _digest(self, identities: Iterable[str]) -> str:
        digest = hashlib.sha256()
        for (name, _), identity in zip(self.places, identities, strict=True):
            digest.update(f"{name}\0{identity}\0".encode())
        return digest.hexdigest()


def _contents(paths: list[str]) -> Iterator[str]:
    """Hashes of files, which are read in parallel."""
    parts = [paths[start : start + _AT_A_TIME] for start in range(0, len(paths), _AT_A_TIME)]
    with ThreadPoolExecutor(_READERS) as readers:
        for hashes in readers.map(_hashes, parts):
            yield from hashes


def _hashes(paths: list[str]) -> list[str]:
    return [_hash(path) for path in paths]


def _hash(path: str) -> str:
    try:
        return file_sha256(path, os.stat(path), again=is_verifying())  # noqa: PTH116 (a million times)
    except (OSError, InputError):
        return _ABSENT  # whoever needs the audio says what is wrong with it


def _size_and_time(path: str) -> str:
    try:
        status = os.stat(path)  # noqa: PTH116 (a million times)
    except OSError:
        return _ABSENT
    return f"{status.st_size} {times_of(status)}"


def _entries(scp: Path) -> tuple[list[tuple[str, str]], dict[str, str]]:
    """Names and paths of the files that a wav.scp uses, and digests of the outputs of pipes that name none."""
    entries, outputs = list[tuple[str, str]](), dict[str, str]()
    for utt, entry in read_table(scp).items():
        if not is_pipe(entry):
            entries.append((utt, entry))
        elif files := _files_named(entry):
            entries += [(f"{utt} {file}", file) for file in files]
        else:
            outputs[utt] = _digest_of_output(entry)
    return sorted(entries), outputs


def _files_named(command: str) -> list[str]:
    """The files that a command names, its programs included where they are named by their path."""
    words = dict.fromkeys(word for word in _BETWEEN_WORDS.split(command) if word)
    return [word for word in words if Path(word).is_file()]


def _digest_of_output(entry: str) -> str:
    from vpeval.audio.io import EndlessPipe, read_pipe_as_wave

    try:
        return hashlib.sha256(read_pipe_as_wave(entry)).hexdigest()
    except EndlessPipe:
        raise  # each of them costs a minute, or the memory of the machine
    except InputError:
        return _ABSENT  # like a file that is not there; whoever needs the audio reports it


def _digest_of_directories(home: Path) -> str:
    times = _times({str(home), *(entry.path for entry in os.scandir(home) if entry.is_dir())})
    names = sorted((os.path.relpath(path, home), time) for path, time in times.items())
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


def _times(directories: Iterable[str]) -> dict[str, int]:
    """When each directory was changed; 0 where there is none."""
    return {directory: _time(directory) for directory in sorted(directories)}


def _time(directory: str) -> int:
    try:
        return Path(directory).stat().st_mtime_ns
    except OSError:
        return 0


def _unchanged(directories: object) -> bool:
    return isinstance(directories, dict) and all(_time(path) == time for path, time in directories.items())


def _read(index: Path) -> dict[str, Any]:
    try:
        found = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
