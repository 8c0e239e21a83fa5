"""Files that are either whole or absent: write under a temporary name, then rename."""

from __future__ import annotations

import errno
import fcntl
import logging
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vpeval.core.errors import InputError

log = logging.getLogger(__name__)


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
def locked(path: Path, what: str) -> Iterator[None]:
    """Make `what` in one process at a time: the others wait for the lock file `path`.

    The lock goes with the process, however it ends; the file stays.
    """
    with open(path, "w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            log.info("%s is being made by another process; waiting for it", what)
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError as error:
            if error.errno not in (errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS, errno.EINVAL):
                raise
            raise InputError(
                "this file system has no locks, without which two processes could write here at once; use another, or "
                "ask for it to be mounted with locks (NFS: not 'nolock')",
                path,
            ) from None
        yield
