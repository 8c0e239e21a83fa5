"""Files on a disk that several machines share, such as NFS: claims that need no locks, and files that appear late.

A claim (`Lease`) is a file that only one process can create; it names its holder, who touches it regularly. A holder on
this machine that is dead, or one elsewhere that has not touched the file for as long as caches may hide it, has lost
the claim.

NFS caches the content of a directory for up to a minute. Whether something is missing is therefore decided only after
a wait, and by what is in the directory and not by what a job has returned.
"""

from __future__ import annotations

import json
import os
import re
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.processes import alive

_BEAT_SECONDS = 10.0
_SILENCE_SECONDS = 90.0  # beats and the longest that NFS keeps the time of change of a file
_SHARED_SECONDS = 60.0
_SHARED = {"nfs", "nfs4", "lustre", "gpfs", "beegfs", "ceph", "cifs", "smb3", "afs", "glusterfs", "orangefs", "panfs"}


class Lease:
    """The claim of this process on the file `path`; `what` names in messages what it is about."""

    def __init__(
        self,
        path: Path,
        what: str,
        silence_seconds: float = _SILENCE_SECONDS,
        wait: Callable[[float], object] = time.sleep,
    ) -> None:
        self._path, self._what, self._silence, self._wait = path, what, silence_seconds, wait
        self._me = {"host": socket.gethostname(), "pid": os.getpid(), "born": _birth(os.getpid())}
        self._last_beat = 0.0

    def acquire(self, note: Callable[[str], None]) -> None:
        """Get the claim, or raise an InputError that names its holder; may wait to see whether that lives."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        while not self._create():
            text = self._read()
            if text is None:
                continue
            held = _parse(text) or {"host": "a machine that crashed", "pid": 0}
            holder = f"process {held.get('pid')} on {held.get('host')}"
            if self._lives(held, holder, note):
                raise InputError(f"{holder} is working on this; wait for it, or end it there first", self._what)
            self._remove_lost(text)

    def beat(self) -> None:
        """Touch the file, if that is due."""
        if time.monotonic() - self._last_beat > _BEAT_SECONDS:
            self._last_beat = time.monotonic()
            if _parse(self._read() or "") != self._me:
                raise InputError("another process has taken this over; it goes on there", self._what)
            os.utime(self._path)

    def release(self) -> None:
        """Give up the claim."""
        if _parse(self._read() or "") == self._me:
            self._path.unlink(missing_ok=True)

    def _create(self) -> bool:
        try:
            handle = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return False
        with os.fdopen(handle, "w") as file:
            file.write(json.dumps(self._me))
        self._last_beat = time.monotonic()
        return True

    def _read(self) -> str | None:
        """The content of the claim; None if there is none."""
        text = ""
        for _ in range(50):
            try:
                text = self._path.read_text(errors="replace")
            except FileNotFoundError:
                return None
            if _parse(text):
                break
            time.sleep(0.02)  # it is being written
        return text

    def _remove_lost(self, judged: str) -> None:
        """Remove a claim that was judged to be lost, unless another process has got it in the meantime.

        Of several processes that do so at once, only one can rename the file.
        """
        aside = self._path.with_name(f"{self._path.name}.{self._me['host']}.{self._me['pid']}")
        try:
            self._path.rename(aside)
        except FileNotFoundError:
            return
        if aside.read_text(errors="replace") != judged:
            with suppress(FileExistsError):  # then its holder finds at its next beat that it has lost the claim
                os.link(aside, self._path)
        aside.unlink()

    def _lives(self, held: dict[str, object], holder: str, note: Callable[[str], None]) -> bool:
        if held.get("host") == self._me["host"]:
            pid = held.get("pid")
            return isinstance(pid, int) and pid > 0 and alive(pid) and _birth(pid) == held.get("born")
        note(f"{self._what}: {holder} was working on this; checking for {self._silence:.0f} s whether it lives")
        until, seen = time.monotonic() + self._silence, self._touched()
        while time.monotonic() < until:
            if self._touched() != seen:
                return True
            self._wait(min(1.0, self._silence / 10))
        return False

    def _touched(self) -> int:
        try:
            return self._path.stat().st_mtime_ns
        except FileNotFoundError:
            return 0


def _birth(pid: int) -> str:
    """When a process was started; distinguishes processes that got the same number one after the other."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _parse(text: str) -> dict[str, object]:
    try:
        held = json.loads(text)
    except ValueError:
        return {}
    return held if isinstance(held, dict) else {}


def wait_for(missing: Callable[[], list[str]], directory: Path) -> list[str]:
    """What is still `missing` in a directory after a wait for other machines."""
    deadline = time.monotonic() + patience(directory)
    while lacking := missing():
        if time.monotonic() >= deadline:
            return lacking
        refresh(directory)
        time.sleep(0.2)
    return []


def refresh(directory: Path) -> None:
    """Make the system read a directory again, which it does after a change from this machine."""
    probe = directory / f".probe.{os.getpid()}"
    probe.touch()
    probe.unlink()


def patience(directory: Path) -> float:
    """Seconds that a file in a directory may take to appear: VPEVAL_VISIBLE_SECONDS, or a minute on a shared disk."""
    text = os.environ.get("VPEVAL_VISIBLE_SECONDS", "")
    if not text:
        return _SHARED_SECONDS if is_shared(directory) else 0.0
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", text):
        raise InputError(f"VPEVAL_VISIBLE_SECONDS={text}: expected a number of seconds, such as 60")
    return float(text)


def is_shared(directory: Path, mounts: Path = Path("/proc/self/mountinfo")) -> bool:
    """Whether a directory is on a file system that other machines see as well."""
    try:
        lines = mounts.read_text().splitlines()
    except OSError:
        return False
    place, best, kind = directory.resolve(), Path("/"), ""
    for line in lines:
        before, _, after = line.partition(" - ")
        point = Path(re.sub(r"\\(\d{3})", lambda octal: chr(int(octal[1], 8)), before.split()[4]))
        if place.is_relative_to(point) and len(point.parts) >= len(best.parts):
            best, kind = point, after.split()[0]
    return kind in _SHARED or kind.startswith("fuse.")
