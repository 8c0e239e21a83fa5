#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Kill runs, fill their disk, close their terminal and start them twice; the results must stay the same.

Usage: tests/inject_faults.py [--minutes 60] [--faults N] [--seed 0] <clone>
 e.g.: git clone . /tmp/clone && tests/inject_faults.py --minutes 60 /tmp/clone

<clone> is a copy of the toolkit that nobody else uses; the recipe of tests/e2e/tiny is put there and run once without a
fault. Then a fault at a random moment is followed by a run to the end, whose results are compared byte by byte, until
the time is over. A line tells of every fault, and the last one of all. Exit code 1 when anything went wrong.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError

ROOT = Path(__file__).resolve().parents[1]
TINY = ("./run.sh", "--recipe", "tiny", "--corpus", "egs/mini/corpus", "--nj", "2")
_GRACE_SECONDS = 10.0
_ON_SMALL_DISK = """
set -e
mkdir -p exp; cp -a exp "$1/before"
mount -t tmpfs -o size="$2"k tmpfs exp
cp -a "$1/before/." exp/
shift 2; set +e; "$@"; code=$?; set -e
rm -rf "$ROOM/before"; cp -a exp "$ROOM/after"
exit $code
"""


@dataclass
class Injector:
    """Faults in runs of `command` in `folder`; `made` are what a run starts from nothing, `results` what is compared."""

    folder: Path
    command: Sequence[str]
    made: Sequence[str]
    results: Sequence[str]
    seed: int = 0
    wrong: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Learn what the results are, and how long a run takes."""
        self._random = random.Random(self.seed)
        begun = time.monotonic()
        done = self._run()
        self._seconds = time.monotonic() - begun
        if done.returncode:
            raise InputError(f"the run fails without any fault:\n{done.stdout[-2000:]}", self.folder)
        self._reference = self._contents()
        self._kilobytes = self._used()

    def inject(self) -> str:
        """One fault, then a run to the end; what was done, in a few words."""
        faults: dict[str, Callable[[], str]] = {
            "kill": self._kill,
            "full disk": self._fill,
            "unwritable output": self._mute,
            "concurrent run": self._collide,
        }
        kind = self._random.choices(list(faults), (6, 2, 1, 1))[0]
        if self._random.random() < 0.5:
            self._forget()
        said = faults[kind]()
        self.counts[kind] += 1
        if left := self._left_behind():
            self.wrong.append(f"{kind}, {said}: processes run on: {left}")
        done = self._run()
        if done.returncode:
            self.wrong.append(f"{kind}, {said}: the next run fails: {done.stdout[-500:]}")
        elif self._contents() != self._reference:
            self.wrong.append(f"{kind}, {said}: other results")
        return f"{kind}, {said}"

    def summary(self) -> str:
        """The last line."""
        kinds = ", ".join(f"{count} × {kind}" for kind, count in sorted(self.counts.items())) or "none"
        return f"{self.counts.total()} faults ({kinds}): {len(self.wrong)} went wrong"

    def _kill(self) -> str:
        after = self._random.uniform(0, self._seconds)
        child = self._start()
        try:
            child.wait(after)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        child.wait()
        return f"kill -9 after {after:.1f} s"

    def _fill(self) -> str:
        self._forget()
        used = self._used()
        kilobytes = used + int(self._random.uniform(0.05, 1.0) * (self._kilobytes - used)) + 64
        with tempfile.TemporaryDirectory() as work_dir:
            words = [
                "unshare",
                "--map-root-user",
                "--mount",
                "bash",
                "-c",
                _ON_SMALL_DISK,
                "x",
                work_dir,
                str(kilobytes),
            ]
            done = self._run(*words, *self.command, ROOM=work_dir)
            after = Path(work_dir) / "after"
            if not after.is_dir():
                raise InputError(f"no small file system can be mounted here: {done.stdout[-300:]}")
            shutil.rmtree(self.folder / "exp")
            shutil.copytree(after, self.folder / "exp", symlinks=True)
        if "Traceback" in done.stdout:
            self.wrong.append(f"full disk of {kilobytes} kB: a traceback")
        return f"{kilobytes} kB, exit code {done.returncode}"

    def _mute(self) -> str:
        redirection = self._random.choice((">/dev/full", ">&-", "2>&-"))
        done = self._run("bash", "-c", f'"$@" {redirection}', "x", *self.command)
        if done.returncode == 0:
            self.wrong.append(f"output {redirection}: exit code 0")
        return redirection

    def _collide(self) -> str:
        pair = [self._start() for _ in range(2)]
        said = [child.communicate()[0] for child in pair]
        codes = sorted(child.returncode for child in pair)
        refused = sum("is working on this" in text for text in said)
        if codes not in ([0, 0], [0, 1]) or (codes == [0, 1]) != (refused == 1):
            self.wrong.append(f"two runs at once ended with {codes}: {said[0][-300:]} {said[1][-300:]}")
        return f"exit codes {codes}"

    def _start(self, *command: str, **more: str) -> subprocess.Popen[str]:
        ours = ("VPEVAL_READY", "VPEVAL_RUN_PID", "PYTHONPATH")
        environment = {name: value for name, value in os.environ.items() if name not in ours}
        return subprocess.Popen(
            command or self.command,
            cwd=self.folder,
            env={**environment, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def _run(self, *command: str, **more: str) -> subprocess.CompletedProcess[str]:
        child = self._start(*command, **more)
        said = child.communicate()[0]
        return subprocess.CompletedProcess(child.args, child.returncode, said)

    def _contents(self) -> dict[str, bytes]:
        found = sorted(path for pattern in self.results for path in self.folder.glob(pattern))
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in found}

    def _forget(self) -> None:
        """Have the next run start from nothing."""
        for name in self.made:
            shutil.rmtree(self.folder / name, ignore_errors=True)

    def _used(self) -> int:
        """Kilobytes that exp/ takes, in blocks of four."""
        files = [path for path in (self.folder / "exp").rglob("*") if path.is_file()]
        return sum(4 * -(-path.stat().st_size // 4096) for path in files)

    def _left_behind(self) -> list[str]:
        """Processes that still work in the folder after what they may take to end."""
        deadline = time.monotonic() + _GRACE_SECONDS
        while (left := list(_working_in(self.folder))) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left


def _working_in(folder: Path) -> Iterator[str]:
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (place / "cwd").resolve().is_relative_to(folder.resolve()) and place.name != str(os.getpid()):
                yield (place / "cmdline").read_text().replace("\0", " ")[:100]
        except OSError:  # ended in the meantime, or somebody else's
            continue


def main() -> int:
    """Inject faults until the time is over."""
    parser = script.Parser(__doc__)
    parser.add_argument("--minutes", type=script.positive, default=60, help="how long (60)")
    parser.add_argument("--faults", type=script.natural, default=0, help="at most so many; 0: as many as fit (0)")
    parser.add_argument("--seed", type=script.natural, default=0, help="seed of what happens when (0)")
    parser.add_argument("clone", type=Path)
    args = parser.parse_args()
    if args.clone.resolve() == ROOT or not (args.clone / "run.sh").is_file():
        raise InputError("is not a copy of the toolkit to play with; make one", args.clone)
    shutil.copytree(ROOT / "tests/e2e/tiny", args.clone / "egs/tiny", dirs_exist_ok=True)
    until = time.monotonic() + 60 * args.minutes
    results = ("exp/tiny/runs/mcadams/results.jsonl", "exp/tiny/runs/mcadams/results.txt")
    injector = Injector(args.clone, TINY, ("data", "exp"), results, args.seed)
    while time.monotonic() < until and not 0 < args.faults <= injector.counts.total():
        print(injector.inject(), flush=True)
    print(*injector.wrong, injector.summary(), sep="\n")
    return 1 if injector.wrong else 0


if __name__ == "__main__":
    script.main(main)
