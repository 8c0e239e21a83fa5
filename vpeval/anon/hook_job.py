"""One job of anonymisation: run the hook on the splits of the job, collect what it wrote, and check it.

A hook writes ``<utt>.wav`` into an output directory of its own, so that a job that runs twice does no harm. The files
move to the directories of their speakers when the hook has ended. On a cluster the hook writes to the scratch disk of
its node (VPEVAL_SCRATCH), which is lost with the node: there, a file moves as soon as it is complete and has stopped
growing. A hook that writes no file for some time is ended.
"""

from __future__ import annotations

import errno
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import NoReturn

from vpeval.anon.anonymised_set import check_output, is_whole_wave, wave_of
from vpeval.anon.hook_files import OPENED, note_opened, open_files
from vpeval.anon.hook_input import WholeSet, environment, hook_data
from vpeval.anon.hook_program import split_options
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path
from vpeval.core.processes import parent_death_hook
from vpeval.data.directory import DataDir, read_utt2spk
from vpeval.data.layout import first_few
from vpeval.jobs import worker
from vpeval.jobs.shards import SHARDS, ShardWriter

WHOLE = "set"
"""In the work directory: the whole set as hooks get it."""
COPIES = "audio"
"""In the work directory: copies of the audio, which hooks may change."""
ABOUT = "about.json"
"""In the work directory: name and role of the set."""
OUTPUTS = "hook"
"""In the work directory: the output directories of hooks that run, or were killed."""
LISTS = "opened"
"""In the work directory: lists of the files that hooks had open."""
_SCRATCH = "VPEVAL_SCRATCH"
_POLL_SECONDS = 0.2
_POLL_SHARE = 50.0  # counting files, and looking at open ones, take at most one part in so many of the time each


def run_job(hook: str, options: str, prepared: str, timeout: str, job: str, *works: str) -> int:
    """Run the hook on one set after the other and check what it wrote; the exit code of the job.

    `options` begins with ``--options=``; `timeout` is in seconds, 0 waits for ever.
    """
    parts = worker.job_parts(job, works)
    progress = _Progress(len(parts))
    for work in dict.fromkeys(part.work for part in parts):
        own = [part for part in parts if part.work == work]
        missing = {part.utt: part.spk for part in own if not wave_of(work / "out", part.spk, part.utt).is_file()}
        progress.done += len(own) - len(missing)
        if missing:
            about = json.loads((work / ABOUT).read_text(encoding="utf-8"))
            variables = environment(Path(prepared), WholeSet((work / WHOLE).resolve(), **about))
            (work / LISTS).mkdir(exist_ok=True)
            opened = (work / LISTS / job).resolve()
            variables[OPENED] = str(opened)
            with _hook_directories(work, job, missing) as (data, output):
                words = split_options(options.removeprefix("--options="))
                command = [hook, *words, str(data.resolve()), str(output.path.resolve())]
                succeeded = _run_hook(command, variables, output, int(timeout), progress, opened)
                unexpected = output.collect_all(only_complete=not succeeded)
                if _has_unexpected(unexpected, work, output.path) or not succeeded:
                    return 1
        _check(work, job, own)
    return 0


class HookOutput:
    """The directory into which a hook writes the utterances of `speaker_of`; they belong into directory `out`."""

    def __init__(self, path: Path, out: Path, speaker_of: Mapping[str, str]) -> None:
        self.path, self._out, self._speaker_of = path, out, speaker_of
        self._sizes: dict[str, int] = {}
        self._collected = 0
        path.mkdir(parents=True, exist_ok=True)

    def count(self) -> int:
        """How many files were written so far; costs one listing of a directory."""
        with os.scandir(self.path) as entries:
            return self._collected + sum(entry.name.endswith(".wav") and entry.name[0] != "." for entry in entries)

    def collect_finished(self) -> None:
        """Move the files that are complete and have not grown since the last call."""
        for file in sorted(self.path.glob("*.wav")):
            if file.stem in self._speaker_of and is_regular_file(file):
                size = file.stat().st_size
                if self._sizes.get(file.name) == size and is_whole_wave(file):
                    self._collect(file)
                self._sizes[file.name] = size

    def collect_all(self, only_complete: bool) -> list[str]:
        """Move the files of all utterances, or the complete ones; return the names of all other files."""
        unexpected = []
        for file in sorted(self.path.iterdir()):
            if file.suffix != ".wav" or file.stem not in self._speaker_of or not is_regular_file(file):
                unexpected += [file.name] if file.name[0] != "." else []  # hidden: left by a write that was killed
            elif not only_complete or is_whole_wave(file):
                self._collect(file)
        return unexpected

    def _collect(self, file: Path) -> None:
        self._collected += 1
        place = wave_of(self._out, self._speaker_of[file.stem], file.stem)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            if file.stat().st_nlink > 1:
                raise OSError(errno.EXDEV, "shares its content with another file, which is not ours")
            file.replace(place)
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise
            with atomic_path(place) as temporary:
                shutil.copyfile(file, temporary)
            file.unlink()


def is_regular_file(file: Path) -> bool:
    """Whether a file is the hook's own, and no link to another one such as the original."""
    return file.is_file() and not file.is_symlink()


def collect_interrupted(work: Path, out: Path, speaker_of: Mapping[str, str]) -> None:
    """Move the complete files of hooks that were killed to `out`, and remove the rest."""
    for path in sorted((work / OUTPUTS).glob("*/wav")):
        HookOutput(path, out, speaker_of).collect_all(only_complete=True)
    shutil.rmtree(work / OUTPUTS, ignore_errors=True)


@contextmanager
def _hook_directories(work: Path, job: str, missing: dict[str, str]) -> Iterator[tuple[Path, HookOutput]]:
    """The data directory for the hook and its output: on the scratch disk, or where they are found after a kill."""
    scratch = os.environ.get(_SCRATCH)
    (work / OUTPUTS).mkdir(exist_ok=True)
    home = Path(tempfile.mkdtemp(prefix="vpeval-" if scratch else f"{job}-", dir=scratch or work / OUTPUTS))
    split, output, ended = DataDir.load(work / "split" / job), HookOutput(home / "wav", work / "out", missing), False
    try:
        data = hook_data(split.subset(missing), (work / COPIES).resolve())
        yield data.write(home / "data").path, output
        ended = True
    finally:
        if scratch or ended:  # else the next call of the step collects what is complete
            output.collect_all(only_complete=True)
            shutil.rmtree(home)


def _has_unexpected(names: Sequence[str], work: Path, path: Path) -> bool:
    """Whether the hook wrote what it should not have; an utterance of another job is collected as well."""
    whole = read_utt2spk(work / WHOLE / "utt2spk") if names else {}
    unexpected = HookOutput(path, work / "out", whole).collect_all(only_complete=True) if names else []
    if unexpected:
        print(
            f"the hook wrote {first_few(unexpected)}, which is no utterance of the set or a link; it must write "
            "<utt>.wav and nothing else"
        )
    return bool(unexpected)


def _check(work: Path, job: str, parts: Sequence[worker.Part]) -> None:
    """Compare every file with its source; one that breaks the contract ends the job, and will be made again."""
    with ShardWriter(work / SHARDS, job) as writer:
        for part in parts:
            wave = wave_of(work / "out", part.spk, part.utt)
            if wave.is_file():  # the driver lists all that are missing
                try:
                    finding = asdict(check_output(part.utt, part.wav, wave))
                except InputError:
                    wave.unlink()
                    raise
                del finding["utt"]
                writer.add(part.utt, json.dumps(finding).encode())


class _Progress:
    """Reports to the launcher how many utterances of a job are done."""

    def __init__(self, total: int) -> None:
        self.done, self._total = 0, total

    def report(self, written: int) -> None:
        """Report that the running hook has written so many."""
        worker.report(self.done + written, self._total)


def _run_hook(
    command: list[str], variables: dict[str, str], output: HookOutput, timeout: int, progress: _Progress, opened: Path
) -> bool:
    """Run the hook and watch what it writes and has open; whether it ended with exit code 0."""
    child = _start(command, variables)
    seen: set[str] = set()
    written, last, due = -1, time.monotonic(), 0.0
    while True:
        polled = time.monotonic()
        ended = child.poll() is not None
        if _SCRATCH in os.environ and not ended:
            output.collect_finished()
        count = output.count()
        if count != written:
            written, last = count, time.monotonic()
            progress.report(count)
        if ended:
            break
        if timeout and time.monotonic() - last > timeout:
            os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            print(f"the hook {command[0]} has written nothing for {timeout} s (--timeout) and was ended; does it hang?")
            return False
        listed = time.monotonic()
        if listed >= due:
            if new := open_files(child.pid) - seen:
                note_opened(opened, new)
                seen |= new
            due = listed + _POLL_SHARE * (time.monotonic() - listed)
        time.sleep(max(_POLL_SECONDS, _POLL_SHARE * (listed - polled)))
    progress.done += written
    if child.returncode:
        how = f"exit code {child.returncode}" if child.returncode > 0 else f"signal {-child.returncode}"
        print(f"the hook {shlex.join(command)} ended with {how}")
    return child.returncode == 0


def _start(command: list[str], variables: dict[str, str]) -> subprocess.Popen[bytes]:
    """Start the hook in a process group of its own, so that whatever it starts can be ended with it."""
    try:
        child = subprocess.Popen(command, env=variables, process_group=0, preexec_fn=parent_death_hook())
    except OSError as error:
        raise InputError(f"cannot be started ({error.strerror}); is its first line (#!) right?", command[0]) from None

    def stop(number: int, frame: object) -> NoReturn:
        os.killpg(child.pid, signal.SIGKILL)
        sys.exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)
    return child
