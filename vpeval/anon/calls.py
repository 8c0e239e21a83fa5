"""Supervised calls of a hook or of its preparation: what they wrote, when, and whether they had to be ended.

A program that loads or compiles a large model may write nothing for minutes. It is therefore ended only when it shows
no activity for the time limit (no file, no output, no CPU time of it and of its children), or when it is still running
after `PATIENCE` times the limit.
"""

from __future__ import annotations

import logging
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from vpeval.anon.driver import hash_file
from vpeval.anon.hook_input import WholeSet, copy_audio, environment, hook_data
from vpeval.anon.hook_job import is_regular_file
from vpeval.anon.hook_program import prepared_dir, split_options
from vpeval.core import seeds
from vpeval.core.places import ROOT
from vpeval.core.processes import cpu_ticks, parent_death_hook
from vpeval.data.directory import DataDir
from vpeval.data.layout import first_few

log = logging.getLogger(__name__)
MOST_BYTES = 200 << 20
PATIENCE = 10
_LARGEST_FILE = 1 << 30
_POLL_SECONDS = 0.05
_REPORT_SECONDS = 10.0


@dataclass(frozen=True)
class Ended:
    """How a program ended: the problem, if there was one, and the seconds until its end."""

    problem: str
    seconds: float


@dataclass(frozen=True)
class Call:
    """One call of the hook: how it ended, what it printed and wrote, and when (seconds after its start)."""

    data: DataDir
    out: Path
    problem: str
    written: dict[str, Path]
    unexpected: list[str]
    seconds: float
    finished: dict[str, float]


@dataclass(frozen=True)
class Subject:
    """The hook under test with its options and limits; `prepared` is where it finds what it learnt."""

    hook: Path
    options: str = ""
    level: seeds.Level = "spk"
    seed: int = 0
    time_limit: float = 60.0
    work: Path = field(default_factory=Path)
    prepared: Path | None = None

    def call(self, name: str, data: DataDir, whole: DataDir, reverse: bool = False, role: str = "trial") -> Call:
        """Run the hook on `data`, a part of `whole`, which is there for a role."""
        work_dir = self.work / name
        split, out = work_dir / "data", work_dir / "wav"
        copies = self._copied(whole, work_dir)
        hook_data(data, work_dir / "audio").write(split)
        if reverse:
            _reverse_lines(split)
        out.mkdir()
        command = [str(self.hook.resolve()), *split_options(self.options), str(split), str(out)]
        begun = time.time()
        ended = self._run(command, work_dir, out, WholeSet(work_dir / "set", whole.name, role))
        changed = [path.stem for path, digest in _digests(copies).items() if copies[path] != digest]
        damage = f"changed its input ({first_few(changed)}), which it must only read" if changed else ""
        known = {f"{utt}.wav": utt for utt in data.utts}
        files = sorted(path for path in out.iterdir() if not path.name.startswith("."))
        written = {known[path.name]: path for path in files if path.name in known and is_regular_file(path)}
        unexpected = [path.name for path in files if path.name not in known or not is_regular_file(path)]
        finished = {utt: path.stat().st_mtime - begun for utt, path in written.items()}
        return Call(data, out, ended.problem or damage, written, unexpected, ended.seconds, finished)

    def prepare(self, program: Path, learn: DataDir) -> Ended:
        """Run the preparation of the hook; `learn` is what it trains on, and its pool."""
        work_dir = self.work / "prepare"
        sets = [work_dir / side for side in ("train", "pool")]
        for place in sets:
            if not place.exists():
                self._copied(learn, work_dir)
                hook_data(learn, work_dir / "audio").write(place)
        options = [*split_options(self.options), "--nj", "1", "--seed", str(self.seed)]
        return self._run([str(program.resolve()), *options, *map(str, sets)], work_dir, self._prepared, None)

    def _copied(self, data: DataDir, work_dir: Path) -> dict[Path, str]:
        """Write `data` with copies of its audio to ``<work_dir>/set``; digests of the copies."""
        copied = hook_data(data, work_dir / "audio")
        copied.write(work_dir / "set")
        places = {utt: Path(copy) for utt, copy in copied.wav.items()}
        copy_audio(data.wav, places)
        return _digests(places.values())

    @property
    def _prepared(self) -> Path:
        return self.prepared or prepared_dir(self.hook, self.seed)

    def _run(self, command: list[str], work_dir: Path, out: Path, whole: WholeSet | None) -> Ended:
        variables = environment(self._prepared, whole)
        start = time.monotonic()
        with open(work_dir / "log", "wb") as output:
            try:
                child = subprocess.Popen(
                    command, env=variables, stdout=output, stderr=output, stdin=subprocess.DEVNULL,
                    process_group=0, preexec_fn=partial(_limit, parent_death_hook()), cwd=ROOT,
                )  # fmt: skip
            except OSError as error:
                return Ended(f"cannot be started ({error.strerror}); is its first line (#!) right?", 0.0)
        with _ended_with(child):
            problem = self._watch(child, work_dir / "log", out, start)
        seconds = time.monotonic() - start
        return Ended(problem + _last_lines(work_dir / "log") if problem else "", seconds)

    def _watch(self, child: subprocess.Popen[bytes], output: Path, out: Path, start: float) -> str:
        seen, ticks, active, polled, reported = (0, 0), 0, start, start, start
        while child.poll() is None:
            time.sleep(_POLL_SECONDS)
            now = time.monotonic()
            size = _size(out)
            if size > MOST_BYTES:
                return f"wrote more than {MOST_BYTES >> 20} MB and was ended; it would fill the disk"
            if (signs := (size, output.stat().st_size)) != seen:
                seen, active = signs, now
            if now - polled > self.time_limit / 8:  # listing all processes takes a moment
                if (used := cpu_ticks(child.pid)) != ticks:
                    ticks, active = used, now
                polled = now
            if now - active > self.time_limit:
                return (
                    f"wrote nothing and used no CPU time for {self.time_limit:g} s and was ended; does it hang, or "
                    "wait for an input or a network?"
                )
            if now - start > PATIENCE * self.time_limit:
                return (
                    f"was still working after {PATIENCE * self.time_limit:g} s and was ended; if it is that slow, "
                    "allow for more time"
                )
            if now - reported > _REPORT_SECONDS:
                reported = now
                log.info("  %.0f s, %s", now - start, "files are being written" if size else "no file yet; it works")
        if child.returncode == -signal.SIGXFSZ:
            return f"wrote a file of more than {_LARGEST_FILE >> 30} GB; it would fill the disk"
        if child.returncode:
            code = child.returncode
            return f"ended with {f'exit code {code}' if code > 0 else f'signal {-code}'}"
        return ""


def _reverse_lines(directory: Path) -> None:
    for name in ("wav.scp", "utt2spk", "utt2seed", "text", "utt2dur"):
        path = directory / name
        if path.exists():
            path.write_text("".join(reversed(path.read_text().splitlines(keepends=True))))


def _digests(paths: Iterable[Path]) -> dict[Path, str]:
    """SHA-256 of files; empty for a missing one."""
    return {path: hash_file(path) if path.is_file() else "" for path in paths}


def _limit(die_with_me: Callable[[], None]) -> None:
    die_with_me()
    resource.setrlimit(resource.RLIMIT_FSIZE, (_LARGEST_FILE, _LARGEST_FILE))


@contextmanager
def _ended_with(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Leave nothing of the hook behind: it and what it started are its process group."""
    try:
        yield
    finally:
        with suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        child.wait()


def _size(directory: Path) -> int:
    total = 0
    for root, _, names in os.walk(directory):
        for name in names:
            try:
                total += os.lstat(os.path.join(root, name)).st_size  # noqa: PTH118
            except FileNotFoundError:  # renamed in the meantime
                continue
    return total


def _last_lines(output: Path, count: int = 5) -> str:
    lines = output.read_text(errors="replace").splitlines()[-count:]
    return "".join(f"\n    | {line[:200]}" for line in lines)
