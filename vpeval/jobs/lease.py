"""A claim on something that one process at a time may do, which works on file systems without locks, such as NFS.

The claim is a file that only one process can create; it says who holds it, and its holder touches it now and then. A
holder on this machine that is dead, or one elsewhere that has not touched the file for as long as caches may hide it,
has lost it.
"""

from __future__ import annotations

import json
import os
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.processes import alive

_BEAT_SECONDS = 10.0
_SILENCE_SECONDS = 90.0  # beats and the longest that NFS keeps the time of change of a file


class Lease:
    """The claim of this process on the file `path`; `what` is how a message calls what it is about."""

    def __init__(self, path: Path, what: str, silence_seconds: float = _SILENCE_SECONDS) -> None:
        self._path, self._what, self._silence = path, what, silence_seconds
        self._me = {"host": socket.gethostname(), "pid": os.getpid(), "born": _birth(os.getpid())}
        self._beaten = 0.0

    def take(self, note: Callable[[str], None]) -> None:
        """Have the claim, or raise an InputError that names who has it; takes a while if that is hard to tell."""
        self._path.parent.mkdir(parents=True, exist_ok=True)
        while not self._create():
            text = self._read()
            if text is None:
                continue
            held = _parse(text) or {"host": "a machine that crashed", "pid": 0}
            holder = f"process {held.get('pid')} on {held.get('host')}"
            if self._lives(held, holder, note):
                raise InputError(f"{holder} is working on this; wait for it, or end it there first", self._what)
            self._put_away(text)

    def beat(self) -> None:
        """Show that we live."""
        if time.monotonic() - self._beaten > _BEAT_SECONDS:
            self._beaten = time.monotonic()
            if _parse(self._read() or "") != self._me:
                raise InputError("another process has taken this over; it goes on there", self._what)
            os.utime(self._path)

    def give_up(self) -> None:
        """Let others have it."""
        if _parse(self._read() or "") == self._me:
            self._path.unlink(missing_ok=True)

    def _create(self) -> bool:
        try:
            handle = os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o644)
        except FileExistsError:
            return False
        with os.fdopen(handle, "w") as file:
            file.write(json.dumps(self._me))
        self._beaten = time.monotonic()
        return True

    def _read(self) -> str | None:
        """What the claim says; None if there is none."""
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

    def _put_away(self, judged: str) -> None:
        """Remove a claim that was judged to be lost, unless another process has taken it in the meantime.

        Of several that do so at once, one finds the file to rename, and the others create it anew like the first.
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
        note(f"{self._what}: {holder} was working on this; seeing for {self._silence:.0f} s whether it lives")
        until, seen = time.monotonic() + self._silence, self._touched()
        while time.monotonic() < until:
            if self._touched() != seen:
                return True
            time.sleep(min(1.0, self._silence / 10))
        return False

    def _touched(self) -> int:
        try:
            return self._path.stat().st_mtime_ns
        except FileNotFoundError:
            return 0


def _birth(pid: int) -> str:
    """When a process was started, so that a number that is used again is not taken for the same process."""
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
