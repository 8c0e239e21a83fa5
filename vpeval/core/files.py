"""Files: written under a temporary name and renamed, so that they are whole or absent; SHA-256 of their content."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path


@contextmanager
def atomic_path(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary path in the directory of `path` (made if missing); rename it to `path` on success.

    On an exception the temporary file is removed and an existing `path` stays as it was.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f".{target.name}.", suffix=".tmp", dir=target.parent)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)
        temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write `text` as UTF-8 with Unix line ends, atomically."""
    with atomic_path(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def replace_directory(new: Path, target: Path) -> None:
    """Put directory `new` in the place of `target`, which may exist.

    Two renames: a crash between them leaves `target` absent and `new` whole, never a mixture.
    """
    old = target.with_name(f".{target.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    if target.exists():
        target.rename(old)
    new.rename(target)
    shutil.rmtree(old, ignore_errors=True)


def file_sha256(file: str | os.PathLike[str], status: os.stat_result, again: bool = False) -> str:
    """The SHA-256 of a file in the state `status`, remembered for steps that share an input.

    `again`: the file is read whatever is remembered.
    """
    name = os.fspath(file)
    return _read(name) if again else _known(name, status.st_size, status.st_mtime_ns, status.st_ino)


@cache
def _known(name: str, size: int, time: int, inode: int) -> str:
    return _read(name)


def _read(name: str) -> str:
    with open(name, "rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()
