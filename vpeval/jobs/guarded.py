"""Programs that do not outlive this process, nor what they started: the other end of `vpeval.jobs.guard`."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike

from vpeval.core.processes import dying_with_me
from vpeval.jobs import guard


class Guard:
    """Watches over process groups, and ends them when this process ends, however it does."""

    def __init__(self) -> None:
        # A session of its own, so that what ends this process does not end the guard as well.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", guard.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def add(self, child: subprocess.Popen[bytes]) -> None:
        """Watch over a child that leads a process group."""
        self._tell(f"+{child.pid}\n")

    def remove(self, child: subprocess.Popen[bytes]) -> None:
        """It has ended."""
        self._tell(f"-{child.pid}\n")

    def end(self, children: Iterable[subprocess.Popen[bytes]]) -> None:
        """End all that is still watched; `children` are reaped, as a group lasts until its leader is."""
        assert self._process.stdin
        self._process.stdin.close()
        while self._process.poll() is None:
            for child in children:
                child.poll()
            time.sleep(0.01)

    def _tell(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line.encode())
        self._process.stdin.flush()


def run(command: Sequence[str | PathLike[str]], environment: Mapping[str, str] | None = None) -> int:
    """Run a program to its end and return its exit code; it and all that it started end with this process."""
    watch = Guard()
    child = subprocess.Popen(command, env=environment, process_group=0, preexec_fn=dying_with_me())
    watch.add(child)
    try:
        return child.wait()
    finally:
        watch.end([child])
