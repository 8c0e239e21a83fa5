"""Locks between processes: one at a time works on an output."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shlex
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from vpeval.core.errors import InputError
from vpeval.core.processes import alive

log = logging.getLogger(__name__)
_GRACE_SECONDS = 10.0


@contextmanager
def locked(path: Path, what: str, who: str = "", wait: bool = True) -> Iterator[None]:
    """Have one process at a time work on `what`: the others wait for the lock file `path`, or are refused.

    The lock ends with the process and its children, however they end; the file stays and names the holder: `who`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "a+", encoding="utf-8", errors="replace") as file:
        try:
            if not _try_lock(file):
                holder = _holder(file)
                if wait:
                    log.info("%s is being made by %s; waiting for it", what, holder)
                    fcntl.flock(file, fcntl.LOCK_EX)
                elif not _wait_for_children(file):
                    raise InputError(f"{holder} is working on this; wait for it to end, or end it first", what)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                raise
            raise InputError(
                "this file system has no locks, without which two processes could write here at once; use another, or "
                "ask for it to be mounted with locks (NFS: not 'nolock')",
                path,
            ) from None
        _refuse_foreign(file, path)
        file.truncate(0)
        file.write(f"{os.getpid()} {socket.gethostname()} {who or shlex.join(sys.argv)}\n")
        file.flush()
        yield


def _refuse_foreign(file: TextIO, path: Path) -> None:
    file.seek(0)
    first = file.readline()
    if first and not first.partition(" ")[0].isdecimal():
        raise InputError("is no lock of this toolkit, and its name is needed for one; move it away", path)


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


def _wait_for_children(file: TextIO) -> bool:
    """Wait for the lock of a process that has died: what it started ends a moment later. False if it lives."""
    deadline = time.monotonic() + _GRACE_SECONDS
    while time.monotonic() < deadline:
        file.seek(0)
        pid, _, rest = file.readline().partition(" ")
        if rest.startswith(f"{socket.gethostname()} ") and pid.isdecimal() and alive(int(pid)):
            return False
        if _try_lock(file):
            return True
        time.sleep(0.05)
    return False
