"""Who lives and who dies with whom."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor


def dying_with_me() -> Callable[[], None]:
    """For ``preexec_fn`` and the like: a function with which a child of this process dies when this process does."""
    return partial(die_with_parent, os.getpid())


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process when process `parent`, which started it, dies, even by kill -9 (Linux only)."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGTERM)
        if os.getppid() != parent:  # it died before it was asked about
            os._exit(128 + signal.SIGTERM)


def pool(workers: int | None = None, method: str = "fork") -> ProcessPoolExecutor:
    """Processes that share work and do not outlive this one; `method` is how they are started."""
    import multiprocessing
    from concurrent.futures import ProcessPoolExecutor

    context = multiprocessing.get_context(method)
    return ProcessPoolExecutor(workers, context, initializer=die_with_parent, initargs=(os.getpid(),))


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


def cpu_ticks(group: int) -> int:
    """CPU time that the living processes of a group have used, in ticks of the clock; 0 where there is no /proc."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError):  # gone in the meantime
            fields = entry.read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) if int(fields[2]) == group else 0
    return total
