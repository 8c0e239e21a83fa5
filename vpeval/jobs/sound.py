"""Has the audio of a set changed? A digest over the size and the time of change of every file, and when to believe it.

Looking at a million files takes minutes on some disks, and a run asks again and again. What was seen is therefore kept:
of the audio that a wav.scp names, in a hidden file beside it; of audio that was published, in the stamp. It is believed
as long as wav.scp and the folders of the audio are as they were then, that is until a file appears, disappears or is
exchanged. Only a file that is overwritten in place goes unnoticed, in a set of more than `MANY` files:
``--verify true`` (VPEVAL_VERIFY) looks at all of them.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.publish import INDEX
from vpeval.core.tables import read_table
from vpeval.data.layout import is_pipe

MANY = 4096
"""Sets of no more files than that are always looked at in full."""
FOLDER = "wav"
"""Where the audio is that a set brings along."""
_SETTLED_SECONDS = 1.0  # a folder that changed just now may change once more without its time telling


def is_verifying() -> bool:
    """Whether nothing is to be believed: VPEVAL_VERIFY."""
    text = os.environ.get("VPEVAL_VERIFY", "false")
    if text not in ("true", "false"):
        raise InputError(f"VPEVAL_VERIFY={text}: expected true or false")
    return text == "true"


def named_audio(directory: Path) -> str:
    """A digest of the audio that the wav.scp of a data directory names; what a pipe reads does not count."""
    scp, index = directory / "wav.scp", directory / INDEX
    status = scp.stat()
    known = [status.st_size, status.st_mtime_ns, status.st_ino]
    found = {} if is_verifying() else _read(index)
    if found.get("scp") == known and found.get("cwd") == str(Path.cwd()) and _unchanged(found.get("folders")):
        return str(found.get("digest"))
    entries = sorted((utt, entry) for utt, entry in read_table(scp).items() if not is_pipe(entry))
    folders = _times({entry.rpartition("/")[0] or "." for _, entry in entries})
    digest = digest_of(entries)
    if len(entries) > MANY and max(folders.values()) < (time.time() - _SETTLED_SECONDS) * 1e9:
        seen = {"scp": known, "cwd": str(Path.cwd()), "folders": folders, "digest": digest}
        with suppress(OSError):  # somebody else's directory: then all files are looked at each time
            write_text(index, json.dumps(seen))
    return digest


def published_audio(directory: Path, believed: object = None) -> dict[str, Any]:
    """What is in the folder of audio of a set: number of files, digests of the files and of their folders.

    `believed` is what was there at an earlier time: if the folders are as they were then, so are the files.
    """
    home = directory / FOLDER
    folders = _digest_of_folders(home)
    if isinstance(believed, dict) and believed.get("folders") == folders and believed.get("files", 0) > MANY:
        return believed
    files = [(str(path.relative_to(home)), str(path)) for path in sorted(home.rglob("*")) if not path.is_dir()]
    return {"files": len(files), "digest": digest_of(files), "folders": folders}


def digest_of(files: Iterable[tuple[str, str]]) -> str:
    """A digest over (name, path) of files; one that is not there counts as such."""
    digest = hashlib.sha256()
    for name, path in files:
        try:
            status = os.stat(path)  # noqa: PTH116 (a million times)
        except OSError:
            digest.update(f"{name}\0absent\0".encode())
        else:
            digest.update(f"{name}\0{status.st_size} {status.st_mtime_ns}\0".encode())
    return digest.hexdigest()


def _digest_of_folders(home: Path) -> str:
    times = _times({str(home), *(entry.path for entry in os.scandir(home) if entry.is_dir())})
    names = sorted((os.path.relpath(path, home), time) for path, time in times.items())
    return hashlib.sha256(json.dumps(names).encode()).hexdigest()


def _times(folders: Iterable[str]) -> dict[str, int]:
    """When each folder was changed; 0 where there is none."""
    return {folder: _time(folder) for folder in sorted(folders)}


def _time(folder: str) -> int:
    try:
        return Path(folder).stat().st_mtime_ns
    except OSError:
        return 0


def _unchanged(folders: object) -> bool:
    return isinstance(folders, dict) and all(_time(folder) == time for folder, time in folders.items())


def _read(index: Path) -> dict[str, Any]:
    try:
        found = json.loads(index.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
