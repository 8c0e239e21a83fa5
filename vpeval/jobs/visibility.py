"""Files that other machines have written, and that this one may not see yet.

NFS keeps what it knows about a directory for up to a minute. Whether something is missing is therefore decided only
after a wait, where the disk is shared, and by what is in the directory and not by what a job has returned.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from vpeval.core.errors import InputError

_SHARED_SECONDS = 60.0
_SHARED = {"nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "afs", "glusterfs", "orangefs", "panfs"}


def wait_for(missing: Callable[[], list[str]], folder: Path) -> list[str]:
    """What is `missing` in a folder for good."""
    deadline = time.monotonic() + patience(folder)
    while lacking := missing():
        if time.monotonic() >= deadline:
            return lacking
        refresh(folder)
        time.sleep(0.2)
    return []


def refresh(folder: Path) -> None:
    """Have the system look at a directory anew, which it does once it has been changed from here."""
    probe = folder / f".probe.{os.getpid()}"
    probe.touch()
    probe.unlink()


def patience(folder: Path) -> float:
    """Seconds that a file in a folder may take to appear: VPEVAL_VISIBLE_SECONDS, or a minute on a shared disk."""
    text = os.environ.get("VPEVAL_VISIBLE_SECONDS", "")
    if not text:
        return _SHARED_SECONDS if is_shared(folder) else 0.0
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise InputError(f"VPEVAL_VISIBLE_SECONDS={text}: expected a number of seconds, such as 60")
    return float(text)


def is_shared(folder: Path, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """Whether a folder is on a file system that other machines see as well."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return False
    place, best, kind = folder.resolve(), Path("/"), ""
    for line in lines:
        before, _, after = line.partition(" - ")
        point = Path(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), before.split()[4]))
        if place.is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, after.split()[0]
    return kind in _SHARED or kind.startswith("fuse.")
