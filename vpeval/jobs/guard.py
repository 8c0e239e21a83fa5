"""A process that outlives the launcher for a moment, to end the jobs of a launcher that was killed.

`vpeval.jobs.launch` starts it as a script with a pipe to its input: a line ``+123`` says that process group 123 runs,
``-123`` that it has ended. When the input ends, the launcher has gone, even by kill -9, or wants its jobs ended: the
groups that still run are told to stop, and two seconds later made to.
"""

import os
import signal
import sys
import time
from collections.abc import Callable, Iterable

PATIENCE_SECONDS = 2.0


def main() -> None:
    """Wait for the end of the input, then end the groups."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line.startswith("+") else groups.discard)(int(line[1:]))
    end(groups)


def end(groups: Iterable[int], reap: Callable[[], object] = lambda: None) -> None:
    """Ask process groups to stop, and kill those that do not; `reap` is for who is the parent of one."""
    alive = [group for group in groups if _send(group, signal.SIGTERM)]
    deadline = time.monotonic() + PATIENCE_SECONDS
    while alive and time.monotonic() < deadline:
        time.sleep(0.02)
        reap()
        alive = [group for group in alive if _send(group, 0)]
    for group in alive:
        _send(group, signal.SIGKILL)


def _send(group: int, number: int) -> bool:
    """Send a signal (0: none) to a group; False when nobody is left in it."""
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


if __name__ == "__main__":
    main()
