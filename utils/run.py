#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Run a command, or an array of commands, on this machine.

Usage: utils/run.py [--mem 4G] [--num-threads n] [--gpu n] [--max-jobs-run n] [JOB=1:N] <log> <command ...>
 e.g.: utils/run.py JOB=1:4 exp/log/hello.JOB.log echo this is job JOB

Prints the progress of jobs that write lines like "progress: 12/50" into their logs. Exit code 1 when a job failed.
"""

import sys
import time
from pathlib import Path

from vpeval.core import script
from vpeval.jobs import launch


class ProgressLine:
    """Progress of all jobs on one line: redrawn on a terminal, now and then in a log."""

    def __init__(self, label: str) -> None:
        self.label, self.start, self.shown = label, time.time(), 0.0
        self.terminal = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Show the counts unless they were shown a moment ago."""
        now = time.time()
        if now - self.shown < (0.5 if self.terminal else 20) or (not self.terminal and now - self.start < 20):
            return
        self.shown = now
        left = (now - self.start) / done * (total - done) if done else 0
        text = f"  {self.label}: {done}/{total}" + (f", about {left:.0f} s left" if left else "")
        sys.stderr.write(f"\r{text:<78}" if self.terminal else text + "\n")
        sys.stderr.flush()

    def clear(self) -> None:
        """Remove the line from a terminal."""
        if self.terminal and self.shown:
            print(f"\r{'':<78}\r", end="", file=sys.stderr, flush=True)


def main() -> int:
    """Run the jobs and describe those that failed."""
    if "--help" in sys.argv[1:2]:
        print(__doc__.strip())
        return 0
    array = launch.parse(sys.argv[1:])
    line = ProgressLine(Path(array.log).name.split(".")[0])
    try:
        failures = launch.run_local(array, line)
    except launch.Interrupted as stop:
        print(f"run.py: {stop}; the jobs were stopped, too", file=sys.stderr)
        return 128 + stop.number
    finally:
        line.clear()
    for failure in failures[:3]:
        print(f"run.py: {failure.describe()}", file=sys.stderr)
    if failures:
        logs = array.log.replace(array.name, "*") if array.name else array.log
        print(f"run.py: {len(failures)} / {array.last - array.first + 1} failed, log is in {logs}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    script.main(main)
