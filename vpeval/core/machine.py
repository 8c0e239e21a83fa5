"""What this machine has: cores, memory, disk, GPUs."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Machine:
    """What a run can use; memory and disk are what is free now, in bytes, or 0 where the system does not tell."""

    python: str
    cores: int
    memory: int
    disk: int
    gpus: int


def look(folder: Path) -> Machine:
    """This machine, with the disk that `folder` is on."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    version = ".".join(map(str, sys.version_info[:3]))
    return Machine(version, cores, memory()[1], shutil.disk_usage(folder).free, count_gpus())


def memory() -> tuple[int, int]:
    """Bytes that this process could have in all and that are free now; 0 where the system does not tell."""
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


def count_gpus() -> int:
    """GPUs that the driver shows."""
    try:
        listing = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        return 0
    return listing.stdout.count("GPU ") if listing.returncode == 0 else 0
