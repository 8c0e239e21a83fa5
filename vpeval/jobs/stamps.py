"""Has anything changed? What outputs were made from, kept beside them.

A step compares the fingerprint of what it is about to do with the one in the stamp beside its outputs: equal, and the
outputs untouched, means that there is nothing to do. A fingerprint is made of options, of inputs and of code, which is
the import closure of the step's entry points. Small files count by content, audio and other large files by size and
time of change, so that checking hundreds of hours of speech takes seconds.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.publish import STAMP as STAMP
from vpeval.core.tables import read_table
from vpeval.data.layout import is_pipe
from vpeval.jobs.closure import ROOT, closure

_LARGE = 4 << 20
_AUDIO = {".wav", ".flac", ".ogg", ".opus", ".mp3"}
_VERSION = 2


@dataclass(frozen=True)
class Fingerprint:
    """What a step depends on: values of options, and a digest of every input and of every file of code."""

    options: Mapping[str, str]
    inputs: Mapping[str, str]
    code: Mapping[str, str]

    @property
    def digest(self) -> str:
        """All of it in one SHA-256."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def changes(self, before: Mapping[str, Mapping[str, str]]) -> list[str]:
        """What is different from the fingerprint in an older stamp, in words."""
        found = []
        for kind, noun in (("options", "option"), ("inputs", "input"), ("code", "module")):
            new, old = getattr(self, kind), before.get(kind, {})
            found += [f"{noun} {name}" for name in sorted({*new, *old}) if new.get(name) != old.get(name)]
        return found


def fingerprint(
    inputs: Iterable[str | os.PathLike[str]], options: Mapping[str, object], code: Iterable[str] = ()
) -> Fingerprint:
    """The fingerprint over files, directories (all files in them, and the audio that their wav.scp names) and options.

    `code` are entry points, as `closure` takes them.
    """
    files = sorted({file for entry in code for file in closure(entry)})
    return Fingerprint(
        {name: str(value) for name, value in options.items()},
        {str(path): _digest(Path(path)) for path in inputs},
        {str(file.relative_to(ROOT)): _identity(file) for file in files},
    )


def is_current(stamp: Path, wanted: Fingerprint, outputs: Sequence[Path]) -> bool:
    """Whether `outputs` were made under fingerprint `wanted` and have not been touched since."""
    found = read_stamp(stamp)
    return found == _content(wanted, outputs) if found else False


def write_stamp(stamp: Path, made_from: Fingerprint, outputs: Sequence[Path]) -> None:
    """Note that `outputs` are finished."""
    if missing := next((path for path in outputs if not path.exists()), None):
        raise InputError("should have been made and is not there", missing)
    write_text(stamp, json.dumps(_content(made_from, outputs), indent=0) + "\n")


def read_stamp(stamp: Path) -> dict[str, dict[str, str]]:
    """What a stamp says; nothing where there is none that can be read."""
    try:
        found = json.loads(stamp.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return {}
    return found if isinstance(found, dict) and found.get("version") == _VERSION else {}


def why(stamp: Path, wanted: Fingerprint, outputs: Sequence[Path]) -> str:
    """Why a step has to be done (again), in a few words; empty where it has not."""
    found = read_stamp(stamp)
    if not found:
        return "not made yet"
    if changed := wanted.changes(found):
        return "changed: " + ", ".join(changed[:3]) + (" …" if len(changed) > 3 else "")
    return "" if found == _content(wanted, outputs) else "its files were touched"


def _content(made_from: Fingerprint, outputs: Sequence[Path]) -> dict[str, object]:
    return {"version": _VERSION, **asdict(made_from), "files": _listing(outputs)}


def _digest(path: Path) -> str:
    """Of a file or directory."""
    if not path.exists():
        raise InputError("is missing, and a later step needs it; run the stage that makes it", path)
    digest = hashlib.sha256()
    for file in _files(path):
        digest.update(f"{file.relative_to(path) if file != path else ''}\0{_identity(file)}\0".encode())
    if (path / "wav.scp").is_file():
        for utt, audio in sorted(read_table(path / "wav.scp").items()):
            if not is_pipe(audio) and Path(audio).exists():
                digest.update(f"{utt}\0{_identity(Path(audio))}\0".encode())
    return digest.hexdigest()


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
    return _hash(file, status.st_size, status.st_mtime_ns, status.st_ino)


@cache
def _hash(file: Path, size: int, time: int, inode: int) -> str:
    """The hash of a file in a certain state: steps that share an input ask for it again and again."""
    return hashlib.sha256(file.read_bytes()).hexdigest()


def _listing(outputs: Sequence[Path]) -> dict[str, list[int]]:
    listing = {}
    for number, output in enumerate(outputs):
        for file in _files(output) if output.exists() else ():
            # Relative to the output, which may be stamped under a temporary name and then renamed.
            name = f"{number}/{file.relative_to(output)}"
            listing[name] = [file.stat().st_size, file.stat().st_mtime_ns]
    return listing
