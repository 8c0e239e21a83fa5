#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Inject faults into a real Slurm while a batch runs there, and see what becomes of it.

Usage: tests/inject_cluster_faults.py [<fault> ...]
 e.g.: tests/inject_cluster_faults.py "node killed" "hook fails on one node"

Starts three nodes on the loopback interface for every fault (tests/install_slurm.sh installs Slurm), and prints a line of
the table in docs/cluster.md: how long it took the launcher to notice, in polls, whether the batch ended by itself or by
the same command again, and whether its results have the bytes of an undisturbed run on one machine. Exit code 1 if one
is wrong.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.cluster.cluster import PRIVATE_MOUNTS, Cluster, missing_programs, wait_until
from tests.cluster.conftest import POLL_SECONDS, ROOT, Launcher
from tests.cluster.place import Place
from vpeval.cli import script
from vpeval.core.errors import InputError

BEGUN = "slurm/.set.work/out/wav/*/s*.wav"


@dataclass
class Batch:
    """Anonymisation of some speakers on a cluster, while something happens to it."""

    place: Place
    said: list[tuple[float, str]] = field(default_factory=list)
    struck: float = 0.0
    ended_by: str = "by itself"
    child: subprocess.Popen[str] | None = None

    @property
    def cluster(self) -> Cluster:
        return self.place.launcher.cluster

    def mark(self, name: str) -> Path:
        """A file by which the hook knows what to do."""
        path = self.place.work_dir / name
        path.touch()
        return path

    def start(self) -> None:
        """Start the step; what it says is noted with the time."""
        self.child = child = self.place.start(self.place.anonymise("slurm"))

        def listen() -> None:
            assert child.stdout
            for line in child.stdout:
                self.said.append((time.monotonic(), line))

        self._listener = threading.Thread(target=listen, daemon=True)
        self._listener.start()

    def start_and_wait(self, files: int = 6) -> None:
        """Start the step, and wait until jobs have made so many files, one each."""
        self.start()
        wait_until(lambda: len(list(self.place.work_dir.glob(BEGUN))) >= files, self.explain)

    def strike(self) -> None:
        """Now the fault happens."""
        self.struck = time.monotonic()

    def tasks(self) -> list[str]:
        return [line.split()[0] for line in sorted(self.cluster.jobs())]

    def wait_for_words(self, pattern: str) -> None:
        wait_until(lambda: any(re.search(pattern, line) for _, line in self.said), self.explain)

    def finish(self) -> None:
        """Let the jobs go on, and wait; what does not end well by itself is called again."""
        self.place.go()
        assert self.child
        if self.child.wait(timeout=180):
            self._listener.join()
            self.ended_by = "by the same command"
            self.start()
            code = self.child.wait(timeout=180)
            self._listener.join()
            assert code == 0, self.explain()
        self._listener.join()

    def check(self) -> None:
        """The bytes of an undisturbed run, and nothing left."""
        place = self.place
        local = subprocess.run(place.anonymise("local"), cwd=ROOT, env=place.launcher.environment, capture_output=True)
        assert local.returncode == 0, local.stderr.decode()
        place.assert_same("utt2dur", "wav.scp", *place.waves)
        wait_until(lambda: self.cluster.jobs() == [], self.explain, 30)
        assert set(place.launcher.left()) == {".set.lock"}, place.launcher.left()

    def polls(self, pattern: str) -> str:
        """After how many polls the launcher said what happened."""
        if not pattern:
            return "–"
        found = [when for when, line in self.said if when >= self.struck and re.search(pattern, line)]
        assert found, self.explain()
        return f"{(found[0] - self.struck) / POLL_SECONDS:.0f}"

    def explain(self) -> str:
        logs = "".join(path.read_text(errors="replace")[-300:] for path in self.place.work_dir.glob("log/*.log"))
        return "".join(line for _, line in self.said) + self.cluster.run("squeue", "-t", "all", check=False) + logs


@dataclass(frozen=True)
class Fault:
    """A fault: what to do while a batch runs, and what the launcher says of it."""

    what: str
    inject: Callable[[Batch], None]
    words: str = ""
    options: str = ""
    settings: tuple[tuple[str, object], ...] = ()
    short: bool = False  # part of every test run


def kill_node(batch: Batch) -> None:
    batch.start_and_wait()
    batch.strike()
    batch.place.kill_a_busy_node()


def kill_slurmd(batch: Batch) -> None:
    batch.start_and_wait()
    node = batch.cluster.node_of(batch.tasks()[0])
    batch.strike()
    batch.cluster.kill_slurmd(node)
    batch.wait_for_words("was lost with its node")  # before its tasks, which nobody sees, go on to their end


def drain(batch: Batch) -> None:
    batch.start_and_wait()
    batch.strike()
    batch.cluster.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=test")


def cancel_one(batch: Batch) -> None:
    batch.start_and_wait()
    batch.strike()
    batch.cluster.run("scancel", batch.tasks()[0])


def cancel_all(batch: Batch) -> None:
    batch.start_and_wait()
    batch.strike()
    batch.cluster.run("scancel", *{task.split("_")[0] for task in batch.tasks()})
    assert batch.child
    batch.child.wait(timeout=60)


def restart_controller(batch: Batch) -> None:
    batch.start_and_wait()
    batch.strike()
    batch.cluster.stop_controller(signal.SIGTERM)
    batch.wait_for_words("does not answer")
    batch.cluster.start_controller()


def forget_jobs(batch: Batch) -> None:
    batch.start_and_wait()
    batch.strike()
    batch.cluster.forget_jobs()
    batch.wait_for_words("is not known to Slurm any more")  # before what the nodes have not ended goes on to its end


def hang(batch: Batch) -> None:
    marker = batch.mark("hang.s1-0")
    batch.place.go()
    batch.start()
    batch.strike()
    batch.wait_for_words("hung on")
    marker.unlink()


def run_out_of_memory(batch: Batch) -> None:
    batch.mark("hungry.s1-0")
    batch.place.go()
    batch.start()
    batch.strike()


def make_read_only(batch: Batch) -> None:
    batch.cluster.kill_slurmd("n2")
    batch.cluster.start_node("n2", read_only=batch.place.work_dir)
    wait_until(lambda: batch.cluster.states().get("n2") == "idle", batch.explain)
    batch.place.go()
    batch.start()
    batch.strike()


def break_node(batch: Batch) -> None:
    batch.mark("broken.n2")
    batch.place.go()
    batch.start()
    batch.strike()


def run_twice(batch: Batch) -> None:
    batch.start_and_wait()
    (control,) = batch.place.work_dir.glob("log/.*.slurm")
    count = len((control / "1.jobs").read_text().split())
    words = ["--array", f"1-{count}", "--mem=300", "-o", str(control / "out/1.%a"), str(control / "task.sh"), "1"]
    batch.strike()
    batch.cluster.run("sbatch", "--job-name=again", *words)


def kill_launcher(batch: Batch) -> None:
    batch.start_and_wait()
    assert batch.child
    batch.strike()
    os.killpg(batch.child.pid, signal.SIGKILL)
    batch.child.wait()


FAULTS = (
    Fault("node killed", kill_node, "was lost with its node"),
    Fault("slurmd killed, its tasks go on", kill_slurmd, "was lost with its node"),
    Fault("node drained", drain),
    Fault("one task cancelled", cancel_one, "was cancelled", short=True),
    Fault("all tasks cancelled", cancel_all, "was cancelled, and no other is left"),
    Fault("controller restarted", restart_controller, "does not answer"),
    Fault("controller restarted without its state", forget_jobs, "is not known to Slurm any more", short=True),
    Fault("task hangs", hang, "hung on", settings=(("hang_seconds", 4),)),
    Fault("task out of memory", run_out_of_memory, "needed more than its memory", " --mem 250M", short=True),
    Fault("node cannot write the shared disk", make_read_only, "ended on n2 without a status"),
    Fault("hook fails on one node", break_node, "n2 gets no more jobs", short=True),
    Fault("tasks run twice at once", run_twice, short=True),
    Fault("launcher killed", kill_launcher, "resuming the jobs of a launcher that died", short=True),
)


def can_mount() -> bool:
    """Whether a process may have mounts of its own."""
    return subprocess.run([*PRIVATE_MOUNTS, "true"], capture_output=True, check=False).returncode == 0


def run(fault: Fault, cluster: Cluster, work_dir: Path) -> str:
    """Inject a fault and check the results; the line of the table."""
    launcher = Launcher(cluster, work_dir)
    launcher.settings |= dict(fault.settings)
    batch = Batch(Place(launcher, utts=6, nj=12, options=fault.options or " --mem 300M"))
    fault.inject(batch)
    batch.finish()
    batch.check()
    return f"| {fault.what} | {batch.polls(fault.words)} | {batch.ended_by} |"


@contextmanager
def fresh_cluster() -> Iterator[tuple[Cluster, Path]]:
    """Three nodes and an empty directory."""
    with tempfile.TemporaryDirectory(prefix="vp-slurm-") as place:
        work_dir = Path(place, "work")
        work_dir.mkdir()
        cluster = Cluster(Path(place, "0"), cpus=4)
        try:
            yield cluster.start(), work_dir
        finally:
            cluster.stop()


def main() -> int:
    if missing := missing_programs():
        raise InputError(f"there is no {', '.join(missing)}; tests/install_slurm.sh installs it")
    names = [fault.what for fault in FAULTS]
    if unknown := [name for name in sys.argv[1:] if name not in names]:
        raise InputError(f"unknown fault '{unknown[0]}'; there are: {', '.join(names)}")
    print("| fault | noticed after polls | ended |\n|---|---|---|", flush=True)
    wrong = 0
    for fault in FAULTS:
        if sys.argv[1:] and fault.what not in sys.argv[1:]:
            continue
        with fresh_cluster() as (cluster, work_dir):
            try:
                print(run(fault, cluster, work_dir), flush=True)
            except AssertionError as error:
                wrong += 1
                print(f"| {fault.what} | | WRONG |\n{error}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    if "--help" in sys.argv[1:2]:
        print((__doc__ or "").strip())
    else:
        script.main(main)
