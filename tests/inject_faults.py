#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Kill every stage, fill its disk, close its output, start it twice, set back its clock; nothing may change.

Usage: tests/inject_faults.py [--minutes 60] [--each 3] [--seed 0] <clone>
 e.g.: git clone . /tmp/clone && tests/inject_faults.py --minutes 60 /tmp/clone

<clone> is a copy of the toolkit that nobody else uses; the recipe of tests/e2e/tiny is put there and run once without a
fault, stage by stage. Then what a stage has made is removed, the stage is run with a fault at a random moment and once
more without one, and all files that runs make are compared byte by byte, but for the times that a report shows. The time is counted from the end of the first
run; the faults go on until it is over and every stage has had each of them at least --each times. A line tells of every
fault; a table of stages and faults follows. Exit code 1 when anything went wrong.
"""

from __future__ import annotations

import hashlib
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from vpeval.cli import script
from vpeval.core import models
from vpeval.core.errors import InputError
from vpeval.jobs.progress import USAGE

ROOT = Path(__file__).resolve().parents[1]
HOOK = "tests/e2e/learning_hook"
TINY = ("./run.sh", "--recipe", "tiny", "--corpus", "egs/mini/corpus", "--anonymizer", HOOK, "--nj", "2")
STAGES = 13
KILL, FULL, MUTE, TWICE, CLOCK = FAULTS = ("kill", "full disk", "closed output", "second run", "clock set back")
_GRACE_SECONDS = 10.0
_MISSES = 10
_TIMES = re.compile(rb'<tr><th scope="row">\d+ \w+</th>(<td[^>]*>((\d+:)+\d\d|\d+\.\d s|\d+ MB)</td>)+</tr>\n?')
"""What a report shows of the time and memory that stages took; the first report has no row of its own stage yet."""
_ON_SMALL_DISK = """
set -e
room=$1 size=$2 places=$3
shift 3
mkdir "$room/disk" "$room/after"
mount -t tmpfs -o size="$size"k tmpfs "$room/disk"
mkdir "$room/disk/tmp"
for place in $places; do
  mkdir -p "$place"
  cp -a "$place" "$room/disk/"
  mount --bind "$room/disk/$place" "$place"
done
set +e; TMPDIR=$room/disk/tmp "$@"; code=$?; set -e
for place in $places; do cp -a "$place" "$room/after/"; done
exit $code
"""
_CLOCK = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>

static int back(time_t now) {
  const char *from = getenv("CLOCK_SET_BACK_AT");
  return from && now >= atoll(from) ? 3600 : 0;
}

int clock_gettime(clockid_t clock, struct timespec *found) {
  static int (*real)(clockid_t, struct timespec *);
  if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
  int failed = real(clock, found);
  if (!failed && clock == CLOCK_REALTIME) found->tv_sec -= back(found->tv_sec);
  return failed;
}

int gettimeofday(struct timeval *found, void *zone) {
  struct timespec now;
  int failed = clock_gettime(CLOCK_REALTIME, &now);
  found->tv_sec = now.tv_sec;
  found->tv_usec = now.tv_nsec / 1000;
  return failed;
}

time_t time(time_t *found) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (found) *found = now.tv_sec;
  return now.tv_sec;
}
"""


@dataclass
class Injector:
    """Faults in stages that run in `folder`, each by its command; `places` are the directories that runs write."""

    folder: Path
    commands: Mapping[int, Sequence[str]]
    places: Sequence[str]
    seed: int = 0
    wrong: list[str] = field(default_factory=list)
    counts: Counter[tuple[int, str]] = field(default_factory=Counter)
    missed: Counter[tuple[int, str]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Learn what every stage makes, and how long it takes."""
        self._random = random.Random(self.seed)
        self._made: dict[int, set[str]] = {}
        self._seconds: dict[int, float] = {}
        self._needed: dict[int, int] = {}
        before = self._digests()
        for stage, command in self.commands.items():
            begun = time.monotonic()
            done = self._run(command)
            self._seconds[stage] = time.monotonic() - begun
            if done.returncode:
                raise InputError(f"stage {stage} fails without any fault:\n{done.stdout[-2000:]}", self.folder)
            after = self._digests()
            changed = {name for name, digest in after.items() if before.get(name) != digest}
            self._made[stage] = {name for name in changed if Path(name).name != USAGE}
            self._needed[stage] = sum(_kilobytes(self.folder / name) for name in self._made[stage])
            before = after
        self.reference = {name: digest for name, digest in before.items() if _is_compared(name)}

    def go_on(self, until: float, each: int) -> Iterator[str]:
        """Inject faults until the clock (`time.monotonic`) and the counts say that it is enough; a line for each."""
        kinds = [(stage, kind) for stage in self.commands for kind in FAULTS]
        while time.monotonic() < until or min(self.counts[one] for one in kinds) < each:
            least = min(self.counts[one] for one in kinds)
            stage, kind = self._random.choice([one for one in kinds if self.counts[one] == least])
            before = len(self.wrong)
            yield f"stage {stage}, {kind}: {self.inject(stage, kind)}"
            yield from (f"WRONG: {one}" for one in self.wrong[before:])
            if self.missed[stage, kind] >= _MISSES * (self.counts[stage, kind] + 1):
                raise InputError(f"stage {stage}: of {kind} nothing is ever noticed", self.folder)

    def inject(self, stage: int, kind: str) -> str:
        """One fault in a stage that has everything to do, then the stage again; what was done, in a few words."""
        self._forget(stage)
        fault = {KILL: self._kill, FULL: self._fill, MUTE: self._mute, TWICE: self._collide, CLOCK: self._set_back}
        hit, said = fault[kind](stage)
        if left := self._left_behind():
            self._complain(stage, kind, said, f"processes run on: {left}")
        done = self._run(self.commands[stage])
        if done.returncode:
            self._complain(stage, kind, said, f"the next run fails: {done.stdout[-500:]}")
        found = {name: digest for name, digest in self._digests().items() if _is_compared(name)}
        if found != self.reference:
            names = [name for name in sorted({*found, *self.reference}) if found.get(name) != self.reference.get(name)]
            self._complain(stage, kind, said, f"other bytes in {names[:5]}")
        (self.counts if hit else self.missed)[stage, kind] += 1
        return said if hit else f"{said}; too late, not counted"

    def table(self) -> str:
        """How many faults each stage had."""
        rows = [["stage", *FAULTS]]
        rows += [[str(stage), *(str(self.counts[stage, kind]) for kind in FAULTS)] for stage in self.commands]
        rows += [["all", *(str(sum(self.counts[stage, kind] for stage in self.commands)) for kind in FAULTS)]]
        rows.insert(1, ["---:"] * len(rows[0]))
        return "\n".join(f"| {' | '.join(row)} |" for row in rows)

    def _complain(self, stage: int, kind: str, said: str, what: str) -> None:
        self.wrong.append(f"stage {stage}, {kind}, {said}: {what}")

    def _kill(self, stage: int) -> tuple[bool, str]:
        after = self._random.uniform(0, self._seconds[stage])
        child = self._start(self.commands[stage])
        try:
            child.communicate(timeout=after)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGKILL)
        child.communicate()
        return child.returncode == -signal.SIGKILL, f"kill -9 after {after:.1f} s"

    def _fill(self, stage: int) -> tuple[bool, str]:
        places = sorted({name.partition("/")[0] for name in self._made[stage]})
        used = sum(map(_kilobytes, (file for place in places for file in _files(self.folder / place))))
        free = int(self._random.uniform(0, 1) * self._needed[stage])
        said = f"{free} of {self._needed[stage]} kB"
        with tempfile.TemporaryDirectory() as room:
            words = ("unshare", "--map-root-user", "--mount", "bash", "-c", _ON_SMALL_DISK, "x")
            done = self._run((*words, room, str(used + free + 4), " ".join(places), *self.commands[stage]))
            after = Path(room) / "after"
            if any(not (after / place).is_dir() for place in places):
                raise InputError(f"no small file system can be mounted here: {done.stdout[-300:]}")
            for place in places:
                shutil.rmtree(self.folder / place, ignore_errors=True)
                shutil.move(after / place, self.folder / place)
        if "Traceback" in done.stdout:
            self._complain(stage, FULL, said, f"a traceback: {done.stdout[-2000:]}")
        if done.returncode and "No space left on device" not in done.stdout:
            self._complain(stage, FULL, said, f"the message does not say so: {done.stdout[-500:]}")
        return done.returncode != 0, f"{said}, exit code {done.returncode}"

    def _mute(self, stage: int) -> tuple[bool, str]:
        redirection = self._random.choice((">/dev/full", ">&-", "2>&-"))
        done = self._run(("bash", "-c", f'"$@" {redirection}', "x", *self.commands[stage]))
        if done.returncode == 0 and not redirection.startswith("2"):  # a stage without messages does not miss stderr
            self._complain(stage, MUTE, redirection, "exit code 0")
        return True, redirection

    def _collide(self, stage: int) -> tuple[bool, str]:
        pair = [self._start(self.commands[stage]) for _ in range(2)]
        said = [child.communicate()[0] for child in pair]
        codes = sorted(child.returncode for child in pair)
        refused = sum("is working on this" in text for text in said)
        if codes not in ([0, 0], [0, 1]) or (codes == [0, 1]) != (refused == 1):
            self._complain(stage, TWICE, f"exit codes {codes}", f"{said[0][-300:]} {said[1][-300:]}")
        return True, f"exit codes {codes}"

    def _set_back(self, stage: int) -> tuple[bool, str]:
        after = self._random.uniform(0, self._seconds[stage])
        with tempfile.TemporaryDirectory() as room:
            library = Path(room) / "clock.so"
            compiler = ("cc", "-shared", "-fPIC", "-x", "c", "-o", str(library), "-", "-ldl")
            if subprocess.run(compiler, input=_CLOCK, text=True, capture_output=True, check=False).returncode:
                raise InputError("no C compiler (cc), with which the clock of a run is set back")
            more = {"LD_PRELOAD": str(library), "CLOCK_SET_BACK_AT": str(int(time.time() + after))}
            done = self._run(self.commands[stage], **more)
        if done.returncode:
            self._complain(stage, CLOCK, f"after {after:.1f} s", f"the run fails: {done.stdout[-500:]}")
        return True, f"by an hour after {after:.1f} s"

    def _start(self, command: Sequence[str], **more: str) -> subprocess.Popen[str]:
        ours = ("VPEVAL_READY", "VPEVAL_RUN_PID", "PYTHONPATH")
        environment = {name: value for name, value in os.environ.items() if name not in ours}
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env={**environment, **more},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )

    def _run(self, command: Sequence[str], **more: str) -> subprocess.CompletedProcess[str]:
        child = self._start(command, **more)
        said = child.communicate()[0]
        return subprocess.CompletedProcess(child.args, child.returncode, said)

    def _digests(self) -> dict[str, str]:
        """SHA-256 of all files that runs have written."""
        found = {}
        for file in (file for place in self.places for file in _files(self.folder / place)):
            with open(file, "rb") as content:
                name = str(file.relative_to(self.folder))
                if file.name == "report.html":
                    found[name] = hashlib.sha256(_TIMES.sub(b"", content.read())).hexdigest()
                else:
                    found[name] = hashlib.file_digest(content, "sha256").hexdigest()
        return found

    def _forget(self, stage: int) -> None:
        """Remove what a stage has made, and the directories that hold nothing but hidden files without it."""
        roots = {self.folder / place for place in self.places}
        for name in sorted(self._made[stage]):
            (self.folder / name).unlink(missing_ok=True)
            for parent in (self.folder / name).parents:
                if parent in roots or any(not path.name.startswith(".") for path in parent.glob("*")):
                    break
                shutil.rmtree(parent, ignore_errors=True)

    def _left_behind(self) -> list[str]:
        """Processes that still work in the folder after what they may take to end."""
        deadline = time.monotonic() + _GRACE_SECONDS
        while (left := list(_working_in(self.folder))) and time.monotonic() < deadline:
            time.sleep(0.1)
        return left


def _files(place: Path) -> list[Path]:
    return [path for path in place.rglob("*") if path.is_file()]


def _kilobytes(file: Path) -> int:
    """What a file takes on a disk, in blocks of four."""
    return 4 * -(-file.stat().st_size // 4096)


def _is_compared(name: str) -> bool:
    """Whether a file must be the same after every fault; logs, times and what is hidden need not."""
    *folders, file = name.split("/")
    return "log" not in folders and file != USAGE and not any(part.startswith(".") for part in (*folders, file))


def _working_in(folder: Path) -> Iterator[str]:
    for place in Path("/proc").glob("[0-9]*"):
        try:
            if (place / "cwd").resolve().is_relative_to(folder.resolve()) and place.name != str(os.getpid()):
                yield (place / "cmdline").read_text().replace("\0", " ")[:100]
        except OSError:  # ended in the meantime, or somebody else's
            continue


def lend_models(clone: Path, store: Path) -> None:
    """Have a clone fetch its models from a store on this machine, so that stage 1 has work to do without a network."""
    conf = clone / "conf/models.yaml"
    known = yaml.safe_load(conf.read_text(encoding="utf-8"))
    for name, entry in known.items():
        if (store / name).is_dir():
            entry["sources"].insert(0, {"url": f"file://{(store / name).resolve()}"})
    conf.write_text(yaml.safe_dump(known), encoding="utf-8")


def main() -> int:
    """Inject faults until the time is over."""
    parser = script.Parser(__doc__)
    parser.add_argument("--minutes", type=script.natural, default=60, help="how long at least (60)")
    parser.add_argument("--each", type=script.natural, default=3, help="faults of each kind in each stage at least (3)")
    parser.add_argument("--seed", type=script.natural, default=0, help="seed of what happens when (0)")
    parser.add_argument("clone", type=Path)
    args = parser.parse_args()
    if args.clone.resolve() == ROOT or not (args.clone / "run.sh").is_file():
        raise InputError("is not a copy of the toolkit to play with; make one", args.clone)
    shutil.copytree(ROOT / "tests/e2e/tiny", args.clone / "egs/tiny", dirs_exist_ok=True)
    lend_models(args.clone, models.store())
    os.environ |= {"VPEVAL_MODELS": "", "VPEVAL_PYTHON": os.environ.get("VPEVAL_PYTHON") or sys.executable}
    commands = {stage: (*TINY, "--stage", str(stage), "--stop-stage", str(stage)) for stage in range(STAGES)}
    injector = Injector(args.clone, commands, ("data", "exp", "models"), args.seed)
    begun = time.monotonic()
    with suppress(KeyboardInterrupt):  # whoever has seen enough gets the table as well
        for line in injector.go_on(begun + 60 * args.minutes, args.each):
            print(line, flush=True)
    total, minutes = injector.counts.total(), (time.monotonic() - begun) / 60
    print(injector.table())
    print(f"{total} faults in {minutes:.0f} minutes after the first run: {len(injector.wrong)} went wrong")
    return 1 if injector.wrong else 0


if __name__ == "__main__":
    script.main(main)
