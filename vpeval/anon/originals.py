"""Original audio is nobody's to change: hooks get copies, and afterwards it is as it was.

What the originals of a set were when it was first anonymised is kept beside the set, with a SHA-256 of every file. A
file whose size and times are those that are known has not been written to; any other is read again. Where wav.scp names
another file than then, the set was made anew from another corpus, and that file is the original.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from vpeval.audio.io import read_pipe_as_wave
from vpeval.core.errors import InputError
from vpeval.core.tables import read_table, write_table
from vpeval.data.layout import is_pipe, name_some

_THREADS = 8
_READ_ONLY = 0o444


def register_of(source: Path) -> Path:
    """Where it is kept what the audio of data directory `source` was."""
    return source.with_name(f".{source.name}.originals")


def verify(source: Path, wav: Mapping[str, str]) -> None:
    """Raise an InputError if a file of `wav` is not what it was when the set was first anonymised; note new ones."""
    register = register_of(source)
    known = read_table(register) if register.is_file() else {}
    files = {utt: entry for utt, entry in wav.items() if not is_pipe(entry)}
    with ThreadPoolExecutor(_THREADS) as threads:
        found = dict(threads.map(lambda item: (item[0], _look(item[1], known.get(item[0], ""))), files.items()))
    changed = [utt for utt, now in found.items() if utt in known and _is_changed(known[utt], now)]
    if changed:
        raise InputError(
            f"the audio of {len(changed)} utterances ({name_some(changed)}) is no longer what it was when the set was "
            f"first anonymised; a hook may have written to it. Restore the corpus; if the change is meant, remove "
            f"{register}",
            source,
        )
    if {**known, **found} != known:
        with suppress(PermissionError):  # somebody else's folder: then it is known for the time of this call only
            write_table(register, {**known, **found})


def copy_audio(wav: Mapping[str, str], copies: Mapping[str, Path]) -> None:
    """Copy the audio of every utterance to the place that `copies` names, where it cannot be written to by accident.

    The output of a pipe is written as a WAV file.
    """
    for folder in {copy.parent for copy in copies.values()}:
        folder.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(_THREADS) as threads:
        list(threads.map(lambda utt: _copy(wav[utt], copies[utt]), copies))


def copy_of(folder: Path, spk: str, utt: str, entry: str) -> Path:
    """Where the copy of an entry of wav.scp is in `folder`."""
    return folder / spk / f"{utt}{'.wav' if is_pipe(entry) else Path(entry).suffix}"


def digests(paths: Iterable[Path]) -> dict[Path, str]:
    """SHA-256 of files; empty for one that is not there."""
    return {path: _hash(path) if path.is_file() else "" for path in paths}


def _copy(entry: str, copy: Path) -> None:
    copy.unlink(missing_ok=True)
    if is_pipe(entry):
        copy.write_bytes(read_pipe_as_wave(entry))
    else:
        try:
            shutil.copyfile(entry, copy)
        except FileNotFoundError:
            raise InputError("no such audio file; fix wav.scp or put the file there", entry) from None
    copy.chmod(_READ_ONLY)


def _look(entry: str, known: str) -> str:
    """SHA-256, size, times and path of a file; the first as `known` where the others are."""
    try:
        status = os.stat(entry)  # noqa: PTH116 (for every file of a corpus)
    except OSError:
        raise InputError("no such audio file; fix wav.scp or put the file there", entry) from None
    seen = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} {entry}"
    digest, _, before = known.partition(" ")
    return f"{digest if before == seen else _hash(Path(entry))} {seen}"


def _is_changed(before: str, now: str) -> bool:
    """Whether the same file has another content."""
    (digest, *_, path), (other, *_, same) = before.split(" ", 5), now.split(" ", 5)
    return path == same and digest != other


def _hash(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
