"""Processes that end with their parent, and what this machine has: cores, memory, disk, GPUs."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from vpeval.core import gpus

if TYPE_CHECKING:
    from concurrent.futures import ProcessPoolExecutor


def parent_death_hook() -> Callable[[], None]:
    """A function, for ``preexec_fn``, with which a child process ends when this one does."""
    return partial(die_with_parent, os.getpid())


def die_with_parent(parent: int) -> None:
    """Have the kernel end this process when process `parent`, which started it, dies, even by kill -9 (Linux only)."""
    if sys.platform == "linux":
        set_parent_death_signal = 1
        ctypes.CDLL(None, use_errno=True).prctl(set_parent_death_signal, signal.SIGTERM)
        if os.getppid() != parent:  # it died before the signal was set
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


@dataclass(frozen=True)
class Machine:
    """What a run can use; memory and disk are what is free now, in bytes, or 0 where that is unknown."""

    python: str
    cores: int
    memory: int
    disk: int
    gpus: int


def inspect_machine(directory: Path) -> Machine:
    """This machine, with the disk that `directory` is on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    version = ".".join(map(str, sys.version_info[:3]))
    return Machine(version, cores, memory()[1], shutil.disk_usage(directory).free, len(gpus.visible().names))


def memory() -> tuple[int, int]:
    """Bytes that this process could have in all and that are free now; 0 where that is unknown."""
    sizes = {"MemTotal": 0, "MemAvailable": 0}
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            name, _, value = line.partition(":")
            if name in sizes:
                sizes[name] = 1024 * int(value.split()[0])
    total, free = sizes["MemTotal"], sizes["MemAvailable"]
    with suppress(OSError, ValueError):  # a container may have less than the machine
        limit = int(Path("/sys/fs/cgroup/memory.max").read_text())
        used = int(Path("/sys/fs/cgroup/memory.current").read_text())
        total, free = min(total, limit), min(free, limit - used)
    return total, free
