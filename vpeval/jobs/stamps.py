"""Has anything changed? What outputs were made from, kept beside them.

A step compares the fingerprint of what it is about to do with the one in the stamp beside its outputs: equal, and the
outputs untouched, means that there is nothing to do. A fingerprint is made of options, of inputs and of code, which is
the import closure of the step's entry points. Small files count by content, large files by size and time of change,
and the audio of a set by one digest (`vpeval.jobs.sound`), so that asking about a million utterances takes a moment.
Where nothing is to be believed (VPEVAL_VERIFY), outputs are compared with their digests, too.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.publish import STAMP as STAMP
from vpeval.jobs import sound
from vpeval.jobs.closure import ROOT, closure

_LARGE = 4 << 20
_AUDIO = {".wav", ".flac", ".ogg", ".opus", ".mp3"}
_VERSION = 3


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
    return bool(found) and not wanted.changes(found) and _is_untouched(found, outputs)


def write_stamp(stamp: Path, made_from: Fingerprint, outputs: Sequence[Path]) -> None:
    """Note that `outputs` are finished."""
    if missing := next((path for path in outputs if not path.exists()), None):
        raise InputError("should have been made and is not there", missing)
    content = {"version": _VERSION, **asdict(made_from), "files": _listing(outputs, {}), "audio": _audio(outputs, {})}
    write_text(stamp, json.dumps(content, indent=0) + "\n")


def read_stamp(stamp: Path) -> dict[str, Any]:
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
    return "" if _is_untouched(found, outputs) else "its files were touched"


def _is_untouched(found: Mapping[str, Any], outputs: Sequence[Path]) -> bool:
    """Whether outputs are as a stamp says."""
    believed: Mapping[str, Any] = {} if sound.is_verifying() else found
    files, audio = _listing(outputs, believed.get("files")), _audio(outputs, believed.get("audio"))
    return bool(found.get("files") == files and found.get("audio") == audio)


def _digest(path: Path) -> str:
    """Of a file or directory."""
    if not path.exists():
        raise InputError("is missing, and a later step needs it; run the stage that makes it", path)
    digest = hashlib.sha256()
    for file in _files(path):
        digest.update(f"{file.relative_to(path) if file != path else ''}\0{_identity(file)}\0".encode())
    if (path / "wav.scp").is_file():
        digest.update(sound.named_audio(path).encode())
    return digest.hexdigest()


def _files(path: Path) -> Iterator[Path]:
    """The files of an input or output that count one by one, which those in the folder of a set's audio do not."""
    if path.is_file():
        yield path
        return
    for root, folders, names in os.walk(path):
        folders[:] = sorted(f for f in folders if not f.startswith((".", "__pycache__", "split")) and f != "log")
        if Path(root) == path and _has_audio(path):
            folders.remove(sound.FOLDER)
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


def _listing(outputs: Sequence[Path], believed: object) -> dict[str, list[object]]:
    """Size, time of change and SHA-256 of every file; the last as `believed` where the others are the same."""
    listing: dict[str, list[object]] = {}
    for number, output in enumerate(outputs):
        for file in _files(output) if output.exists() else ():
            # Relative to the output, which may be stamped under a temporary name and then renamed.
            name = f"{number}/{file.relative_to(output)}"
            status = file.stat()
            seen = [status.st_size, status.st_mtime_ns]
            before = believed.get(name) if isinstance(believed, dict) else None
            if isinstance(before, list) and before[:2] == seen:
                listing[name] = before
            else:
                listing[name] = [*seen, _hash_of(file)]
    return listing


def _audio(outputs: Sequence[Path], believed: object) -> dict[str, dict[str, Any]]:
    """The audio of those outputs that are sets."""
    before = believed if isinstance(believed, dict) else {}
    sets = {str(number): output for number, output in enumerate(outputs) if _has_audio(output)}
    return {number: sound.published_audio(output, before.get(number)) for number, output in sets.items()}


def _has_audio(path: Path) -> bool:
    return (path / "wav.scp").is_file() and (path / sound.FOLDER).is_dir()


def _hash_of(file: Path) -> str:
    with open(file, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
