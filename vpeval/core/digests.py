"""SHA-256 of files, read once for as long as a process sees them unchanged."""

from __future__ import annotations

import hashlib
import os
from functools import cache


def hash_of(file: str | os.PathLike[str], status: os.stat_result, again: bool = False) -> str:
    """The hash of a file in the state `status`: steps that share an input ask for it again and again.

    `again`: it is read whatever was seen before.
    """
    name = os.fspath(file)
    return _read(name) if again else _known(name, status.st_size, status.st_mtime_ns, status.st_ino)


@cache
def _known(name: str, size: int, time: int, inode: int) -> str:
    return _read(name)


def _read(name: str) -> str:
    with open(name, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
