"""GPUs of this machine: those that the user may use, and leases, by which the launchers of a machine share them.

The names of GPUs are those of CUDA_VISIBLE_DEVICES (ROCm: HIP_VISIBLE_DEVICES or ROCR_VISIBLE_DEVICES): numbers, UUIDs,
or parts of a GPU (MIG). They are passed on as they are, so that jobs see nothing that was hidden from the user.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import stat
import subprocess
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vpeval.core.errors import InputError

_VARIABLES = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
_NOTHING = ("", "-1", "NoDevFiles", "none")
_ABOVE = "VPEVAL_GPU_LEASE"
"""The lease files of the launchers above this process."""

_LIST_SECONDS = 30
_DEVICES = Path("/dev")
_AMD_NODES = Path("/sys/class/kfd/kfd/topology/nodes")


@dataclass(frozen=True)
class Gpus:
    """The GPUs that the user may use: their names in `variable`, and what each is called on the whole machine."""

    variable: str = _VARIABLES[0]
    names: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()


def visible() -> Gpus:
    """The GPUs of this machine less those that the user's variables hide; none where there is no driver."""
    nvidia = _nvidia()
    present, kind = (nvidia, "nvidia") if nvidia else (_amd(), "amd")
    # ROCm reads its own variables first, and then also CUDA's.
    order = _VARIABLES if kind == "nvidia" or not present else (_VARIABLES[1], _VARIABLES[0], _VARIABLES[2])
    variable = next((name for name in order if name in os.environ), "")
    if not variable:
        names = [names[0] for names in present]
        return Gpus(order[0], tuple(names), tuple(f"{kind} {names[-1]}" for names in present))
    names = []
    for name in (word.strip() for word in os.environ[variable].split(",")):
        # What follows an invalid name does not count for CUDA either.
        if name in _NOTHING or (name.isdecimal() and present and int(name) >= len(present)):
            break
        names.append(name)
    names = list(dict.fromkeys(names))
    whole = {one: names[-1] for names in present for one in names}
    return Gpus(variable, tuple(names), tuple(f"{kind} {whole.get(name, name)}" for name in names))


def _nvidia() -> list[tuple[str, ...]]:
    """The names of every GPU of NVIDIA's, the one to use first and the one by which it is leased last.

    Parts of GPUs (MIG) stand in the place of their GPU: a process can use one of them, and only by its UUID.
    """
    try:
        listing = subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, check=False, timeout=_LIST_SECONDS
        )
    except FileNotFoundError:  # some containers have the driver without its tools
        return [(str(n), str(n)) for n, _ in enumerate(_DEVICES.glob("nvidia[0-9]*"))]
    except subprocess.TimeoutExpired:
        raise InputError(
            f"nvidia-smi gave no answer in {_LIST_SECONDS} s, so a GPU or its driver hangs; repair it, or compute on "
            "the CPU: export CUDA_VISIBLE_DEVICES="
        ) from None
    if listing.returncode:
        return []
    found: list[tuple[str, ...]] = []
    parts: dict[str, list[str]] = {}
    for line in listing.stdout.splitlines():
        uuid = re.search(r"UUID: ([^)\s]+)", line)
        if gpu := re.match(r"GPU (\d+):", line):
            found.append((gpu[1], uuid[1] if uuid else gpu[1]))
        elif uuid and found and line.strip().startswith("MIG"):
            parts.setdefault(found[-1][-1], []).append(uuid[1])
    if not parts:
        return found
    return [(name, name) for _, uuid in found for name in parts.get(uuid, [uuid])]


def _amd() -> list[tuple[str, ...]]:
    """The same for AMD's; the kernel lists CPUs as well, which have no SIMD units."""
    nodes = sorted(_AMD_NODES.glob("*/properties"), key=lambda path: int(path.parent.name))
    gpus = [path for path in nodes if re.search(r"^simd_count [1-9]", path.read_text(), re.MULTILINE)]
    return [(str(n), str(n)) for n, _ in enumerate(gpus)]


class Leases:
    """The GPUs that the jobs of one launcher have, told to the other launchers of this machine, of whatever user.

    Every launcher has a file with its leases in a directory of the machine, and holds a lock on it: without the lock
    the launcher is dead, and its leases count no more. A job has a whole GPU or one of `share` equal parts of it; with
    a share of 0 it may be there beside any others, and only counts where jobs are spread evenly.
    """

    def __init__(self, gpus: Gpus) -> None:
        self.gpus = gpus
        self._directory = Path(os.environ.get("VPEVAL_GPU_LEASES") or "/tmp/vpeval-gpus")
        self._own: dict[int, tuple[tuple[str, ...], int]] = {}
        self._path = self._directory / f"{os.getpid()}-{secrets.token_hex(4)}.lease"

    @cached_property
    def file(self) -> int:
        """The open file of this launcher; whoever has it open keeps the leases, even when the launcher has died."""
        try:
            with suppress(FileExistsError):
                self._directory.mkdir()
                self._directory.chmod(0o1777)  # for all users, each of whom removes own files only
            if not stat.S_ISDIR(self._directory.lstat().st_mode):
                raise NotADirectoryError(0, "is no directory")
            file = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644)
            os.fchmod(file, 0o644)
        except OSError as error:
            raise InputError(
                f"GPUs are shared with other launchers by files here, which failed ({error.strerror}); name a "
                "directory of this machine that all its users may write: export VPEVAL_GPU_LEASES=<directory>",
                self._directory,
            ) from None
        fcntl.flock(file, fcntl.LOCK_EX)
        return file

    def take(self, job: int, count: int, share: int, avoid: Collection[str] = ()) -> tuple[str, ...]:
        """The names of `count` GPUs for a job, the least used ones; none if so many are not free now.

        Those that the job shall `avoid` are not taken, unless there are no others.
        """
        if len(set(self.gpus.names) - set(avoid)) < count:
            avoid = ()
        file, part = self.file, 1 / share if share else 0.0
        with self._alone():
            held = [(key, its) for _, key, its in self._others()]
            held += [(key, its) for keys, its in self._own.values() for key in keys]
            load = {key: sum(1 / its for own, its in held if own == key and its) for key in self.gpus.keys}
            jobs = Counter(key for key, _ in held)
            order = sorted(range(len(load)), key=lambda n: (load[self.gpus.keys[n]], jobs[self.gpus.keys[n]], n))
            order = [n for n in order if self.gpus.names[n] not in avoid]
            free = [n for n in order if not share or load[self.gpus.keys[n]] + part < 1 + 1e-6]
            if len(free) < count:
                return ()
            chosen = sorted(free[:count])
            self._own[job] = (tuple(self.gpus.keys[n] for n in chosen), share)
            self._write(file)
        return tuple(self.gpus.names[n] for n in chosen)

    def variables(self, names: tuple[str, ...]) -> dict[str, str]:
        """The environment of a job with these GPUs; a launcher that it starts may use them, too."""
        above = os.environ.get(_ABOVE)
        return {self.gpus.variable: ",".join(names), _ABOVE: f"{above}:{self._path}" if above else str(self._path)}

    def give_back(self, job: int) -> None:
        """The job has ended."""
        if self._own.pop(job, None):
            with self._alone():
                self._write(self.file)

    def close(self) -> None:
        """End all leases."""
        if "file" in self.__dict__:
            self._path.unlink(missing_ok=True)
            os.close(self.__dict__.pop("file"))
        self._own.clear()

    def holders(self) -> list[str]:
        """The processes that have a lease of these GPUs, other than this one."""
        return sorted({path.name.partition("-")[0] for path, key, _ in self._others() if key in self.gpus.keys})

    @contextmanager
    def _alone(self) -> Iterator[None]:
        directory = os.open(self._directory, os.O_RDONLY)
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
            yield
        finally:
            os.close(directory)

    def _others(self) -> list[tuple[Path, str, int]]:
        """File, GPU and share of all leases of launchers that live; those of the dead are removed where possible."""
        found = []
        own = {self._path, *map(Path, os.environ.get(_ABOVE, "").split(":"))}
        for path in sorted(set(self._directory.glob("*.lease")) - own):
            try:
                file = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
            except OSError:  # it has just ended
                continue
            with os.fdopen(file, errors="replace") as lines:
                try:
                    fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except BlockingIOError:
                    for line in lines:
                        part, _, key = line.rstrip("\n").partition(" ")
                        if part.isdecimal():
                            found.append((path, key, int(part)))
                else:
                    with suppress(PermissionError, FileNotFoundError):
                        path.unlink()
        return found

    def _write(self, file: int) -> None:
        text = "".join(f"{share} {key}\n" for keys, share in self._own.values() for key in keys)
        os.ftruncate(file, 0)
        os.pwrite(file, text.encode(), 0)
