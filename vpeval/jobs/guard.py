"""Programs that do not outlive this process, nor what they started.

A `Guard` runs this module as a script, with a pipe to its input: a line ``+123`` says that process group 123 runs,
``-123`` that it has ended. When the input ends, the launcher has gone, even by kill -9, or wants its jobs ended: the
guard asks the groups that still run to stop, and kills them two seconds later.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

PATIENCE_SECONDS = 2.0


class Guard:
    """Watches process groups, and ends them when this process ends for any reason."""

    def __init__(self, files: Collection[int] = ()) -> None:
        """`files` stay open as long as the guard works, and with them the locks that this process has on them."""
        # A session of its own, so that what ends this process does not end the guard as well.
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", __file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            pass_fds=tuple(files),
        )

    def add(self, child: subprocess.Popen[bytes]) -> None:
        """Watch a child that leads a process group."""
        self._send(f"+{child.pid}\n")

    def remove(self, child: subprocess.Popen[bytes]) -> None:
        """Forget a child that has ended."""
        self._send(f"-{child.pid}\n")

    def end(self, children: Iterable[subprocess.Popen[bytes]]) -> None:
        """End all that is still watched; `children` are reaped, as a group lasts until its leader is."""
        assert self._process.stdin
        self._process.stdin.close()
        while self._process.poll() is None:
            for child in children:
                child.poll()
            time.sleep(0.01)

    def _send(self, line: str) -> None:
        assert self._process.stdin
        self._process.stdin.write(line.encode())
        self._process.stdin.flush()


def run(command: Sequence[str | os.PathLike[str]], environment: Mapping[str, str] | None = None) -> int:
    """Run a program to its end and return its exit code; it and all that it started end with this process."""
    from vpeval.core.processes import parent_death_hook  # the script has no access to the library

    watch = Guard()
    child = subprocess.Popen(command, env=environment, process_group=0, preexec_fn=parent_death_hook())
    watch.add(child)
    try:
        return child.wait()
    finally:
        watch.end([child])


def end_groups(groups: Iterable[int], reap: Callable[[], object] = lambda: None) -> None:
    """Ask process groups to stop, and kill those that do not; `reap` is for the parent of a group."""
    alive = [group for group in groups if _signal(group, signal.SIGTERM)]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while alive and time.monotonic() < deadline:
        time.sleep(0.02)
        reap()
        alive = [group for group in alive if _signal(group, 0)]
    for group in alive:
        _signal(group, signal.SIGKILL)


def _signal(group: int, number: int) -> bool:
    """Send a signal (0: none) to a group; False when no process is left in it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def main() -> None:
    """The guard: wait for the end of the input, then end the groups."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line.startswith("+") else groups.discard)(int(line[1:]))
    end_groups(groups)


if __name__ == "__main__":
    main()
