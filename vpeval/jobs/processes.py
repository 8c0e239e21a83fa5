"""Who lives and who dies with whom."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress
from pathlib import Path


def die_with_parent() -> None:
    """For ``preexec_fn``: have the kernel end this child when its parent dies, even by kill -9 (Linux only)."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGTERM)


def alive(pid: int) -> bool:
    """Whether a process runs."""
    with suppress(OSError):  # no such process, or no /proc on this system
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        return state != "Z"  # dead, and nobody has noticed
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
