"""Files that are either whole or absent: write under a temporary name, then rename."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shlex
import shutil
import socket
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from vpeval.core.errors import InputError
from vpeval.core.processes import alive

log = logging.getLogger(__name__)
_LAST_MOMENTS = 10.0  # seconds


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


@contextmanager
def locked(path: Path, what: str, who: str = "", wait: bool = True) -> Iterator[None]:
    """Have one process at a time work on `what`: the others wait for the lock file `path`, or are refused.

    The lock goes with the process and its children, however they end; the file stays and says whose it was: `who`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+", encoding="utf-8", errors="replace") as file:
        try:
            if not _try_lock(file):
                holder = _holder(file)
                if wait:
                    log.info("%s is being made by %s; waiting for it", what, holder)
                    fcntl.flock(file, fcntl.LOCK_EX)
                elif not _outlive(file):
                    raise InputError(f"{holder} is working on this; wait for it to end, or end it first", what)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                raise
            raise InputError(
                "this file system has no locks, without which two processes could write here at once; use another, or "
                "ask for it to be mounted with locks (NFS: not 'nolock')",
                path,
            ) from None
        file.truncate(0)
        file.write(f"{os.getpid()} {socket.gethostname()} {who or shlex.join(sys.argv)}\n")
        file.flush()
        yield


def _try_lock(file: TextIO) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(file: TextIO) -> str:
    """Who has a lock, in words."""
    file.seek(0)
    pid, _, rest = file.readline().strip().partition(" ")
    host, _, command = rest.partition(" ")
    return f"process {pid} on {host} ({command})" if command else "another process"


def _outlive(file: TextIO) -> bool:
    """Wait for the lock of a process that has died: what it started ends a moment later. False if it lives."""
    deadline = time.monotonic() + _LAST_MOMENTS
    while time.monotonic() < deadline:
        file.seek(0)
        pid, _, rest = file.readline().partition(" ")
        if rest.startswith(f"{socket.gethostname()} ") and pid.isdecimal() and alive(int(pid)):
            return False
        if _try_lock(file):
            return True
        time.sleep(0.05)
    return False
