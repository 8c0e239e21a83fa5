"""Has anything changed? A fingerprint of inputs and options, kept beside the outputs it led to.

A step compares the fingerprint of what it is about to do with the one in the stamp beside its outputs: equal, and the
outputs untouched, means that there is nothing to do. Small files count by content, audio and other
large files by size and time of change, so that checking hundreds of hours of speech takes seconds.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from vpeval.audio.io import is_pipe
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.tables import read_table

STAMP = ".stamp.json"
_LARGE = 4 << 20
_AUDIO = {".wav", ".flac", ".ogg", ".opus", ".mp3"}


def fingerprint(inputs: Iterable[str | os.PathLike[str]], options: Mapping[str, object]) -> str:
    """SHA-256 over files, directories (all files in them, and the audio that their wav.scp names) and options."""
    digest = hashlib.sha256(json.dumps({key: str(value) for key, value in options.items()}, sort_keys=True).encode())
    for entry in inputs:
        path = Path(entry)
        if not path.exists():
            raise InputError("is missing, and a later step needs it; run the stage that makes it", path)
        digest.update(f"\0{path.name}\0".encode())
        for file in _files(path):
            digest.update(f"{file.relative_to(path) if file != path else ''}\0{_identity(file)}\0".encode())
        if (path / "wav.scp").is_file():
            for utt, audio in sorted(read_table(path / "wav.scp").items()):
                if not is_pipe(audio) and Path(audio).exists():
                    digest.update(f"{utt}\0{_identity(Path(audio))}\0".encode())
    return digest.hexdigest()


def is_current(stamp: Path, wanted: str, outputs: Sequence[Path]) -> bool:
    """Whether `outputs` were made under fingerprint `wanted` and have not been touched since."""
    try:
        found = json.loads(stamp.read_text())
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return False
    return bool(found == {"made_from": wanted, "files": _listing(outputs)})


def write_stamp(stamp: Path, made_from: str, outputs: Sequence[Path]) -> None:
    """Note that `outputs` are finished."""
    if missing := next((path for path in outputs if not path.exists()), None):
        raise InputError("should have been made and is not there", missing)
    write_text(stamp, json.dumps({"made_from": made_from, "files": _listing(outputs)}, indent=0) + "\n")


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
        return
    for root, folders, names in os.walk(path):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "__pycache__", "split")) and f != "log")
        yield from (Path(root) / name for name in sorted(names) if not name.startswith("."))


def _identity(file: Path) -> str:
    status = file.stat()
    if status.st_size > _LARGE or file.suffix in _AUDIO:
        return f"{status.st_size} {status.st_mtime_ns}"
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _listing(outputs: Sequence[Path]) -> dict[str, list[int]]:
    listing = {}
    for number, output in enumerate(outputs):
        for file in _files(output) if output.exists() else ():
            # Relative to the output, which may be stamped under a temporary name and then renamed.
            name = f"{number}/{file.relative_to(output)}"
            listing[name] = [file.stat().st_size, file.stat().st_mtime_ns]
    return listing
