#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Run a command, or an array of commands, on this machine or on a cluster.

Usage: utils/run.py [--backend local|slurm] [--conf conf/slurm.conf] [--dry-run] [--mem 4G] [--num-threads n]
         [--gpu n|auto] [--jobs-per-gpu n] [--max-jobs-run n] [--time hours:minutes:seconds] [--num-nodes n] [JOB=1:N]
         <log> <command ...>
 e.g.: utils/run.py JOB=1:4 exp/log/hello.JOB.log echo this is job JOB

Prints the progress of jobs that write lines like "progress: 12/50" into their logs; --dry-run prints what would be run.
Exit code 1 when a job failed. See docs/cluster.md for clusters.
"""

import sys
import time
from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.jobs import launch
from vpeval.jobs.backends.base import make_backend
from vpeval.jobs.progress import Progress

ROOT = Path(__file__).resolve().parents[1]


class ProgressLine:
    """Progress of all jobs on one line: redrawn on a terminal, now and then in a log."""

    def __init__(self, label: str) -> None:
        self.label, self.start, self.shown = label, time.time(), 0.0
        self.first: Progress | None = None
        self.terminal = sys.stderr.isatty()

    def __call__(self, progress: Progress) -> None:
        """Show the counts unless they were shown a moment ago."""
        now = time.time()
        self.first = self.first or progress
        if now - self.shown < (0.5 if self.terminal else 20) or (not self.terminal and now - self.start < 20):
            return
        self.shown = now
        text = f"  {self.label}: {describe(progress, self.first, now - self.start)}"
        sys.stderr.write(f"\r{text:<118}" if self.terminal else text + "\n")
        sys.stderr.flush()

    def note(self, sentence: str) -> None:
        """Print a message for the user."""
        self.clear()
        print(f"run.py: {sentence}", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line from a terminal."""
        if self.terminal and self.shown:
            print(f"\r{'':<118}\r", end="", file=sys.stderr, flush=True)


def describe(progress: Progress, first: Progress, seconds: float) -> str:
    """Done and total, rate, time left, jobs by state; `first` is the progress `seconds` ago."""
    if progress.total:
        done, total, before = progress.done, progress.total, first.done
        about = "+" if progress.pending else ""  # the work of jobs that have not begun is not known
    else:
        done, total, before, about = progress.ended, progress.jobs, first.ended, ""
    text = f"{done}/{total}{about}"
    if done > before and seconds:
        text += f", {(done - before) / seconds:.3g}/s"
    if progress.share > first.share:
        left = seconds / (progress.share - first.share) * (1 - progress.share)
        text += f", about {left:.0f} s left"
    states = {"pending": progress.pending, "running": progress.running, "failed": progress.failed}
    return text + f" ({', '.join(f'{count} {state}' for state, count in states.items())})"


def main() -> int:
    """Run the jobs and describe those that failed."""
    words = sys.argv[1:]
    if "--help" in words[:1]:
        print(__doc__.strip())
        return 0
    own = {"--backend": "local", "--conf": str(ROOT / "conf/slurm.conf")}
    dry_run = False
    while words and words[0] in (*own, "--dry-run"):
        if words[0] == "--dry-run":
            dry_run = True
        elif len(words) < 2:
            raise InputError(f"{words[0]} needs a value")
        else:
            own[words[0]] = words.pop(1)
        del words[0]
    array = launch.parse(words)
    line = ProgressLine(Path(array.log).name.split(".")[0])
    backend = make_backend(own["--backend"], array, Path(own["--conf"]), line.note)
    if dry_run:
        print(backend.describe())
        return 0
    try:
        failures = launch.run(array, backend, line, line.note)
    except launch.Interrupted as stop:
        line.clear()
        print(f"run.py: {stop}" + ("; the jobs were stopped, too" if stop.jobs_ended else ""), file=sys.stderr)
        return 128 + stop.number
    finally:
        line.clear()
    for failure in failures[:3]:
        print(f"run.py: {failure.describe()}", file=sys.stderr)
    if failures:
        logs = array.log.replace(array.name, "*") if array.name else array.log
        places = {failure.place for failure in failures}
        where = f", all on {places.pop()}" if len(failures) > 1 and len(places) == 1 and places != {""} else ""
        print(f"run.py: {len(failures)} / {len(array.jobs)} failed{where}, log is in {logs}", file=sys.stderr)
    return 1 if failures else 0


if __name__ == "__main__":
    script.main(main)
