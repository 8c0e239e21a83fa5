"""What a hook gets: a data directory with seeds and copies of the audio, and variables of the environment."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from vpeval.audio.io import audio_status, read_pipe_as_wave
from vpeval.core import seeds
from vpeval.core.files import is_pipe
from vpeval.core.places import ROOT
from vpeval.data.directory import DataDir

SEEDS = "utt2seed"
WHOLE_SET = "VPEVAL_HOOK_SET"
PREPARED = "VPEVAL_HOOK_PREPARED"
TOOLKIT = "VPEVAL_ROOT"
"""Environment variables for hooks: the directories of the whole set, of what a hook learnt, and of the toolkit."""
SET, ROLE = "VPEVAL_HOOK_SET_NAME", "VPEVAL_HOOK_ROLE"
"""Environment variables for hooks: the name of the set and its role (enroll, trial or train)."""
_CHANGED = ("PATH", "PYTHONPATH", "LC_ALL", "PYTHONUTF8")
_OUTSIDE = "VPEVAL_OUTSIDE_"
"""path.sh changes these variables, and keeps their values under names with this prefix."""
_OURS = ("VPEVAL_READY", "VPEVAL_RUN_PID", "VPEVAL_VERIFY")
_THREADS = 8
_READ_ONLY = 0o444


def role_of(data: DataDir) -> str:
    """Enrolment, trial or training: sets of different roles get different pseudo-speakers."""
    return "enroll" if data.enrolls is not None else "trial" if data.trials is not None else "train"


def seeded(source: Path, seed: int, level: seeds.Level) -> DataDir:
    """A data directory with utt2seed, and with absolute paths of the audio."""
    data = DataDir.load(source)
    wav = {utt: entry if is_pipe(entry) else str(Path(entry).resolve()) for utt, entry in data.wav.items()}
    utt2seed = seeds.utt2seed(data.utt2spk, seed, role_of(data), level)
    return data.with_table(SEEDS, utt2seed).with_table("wav.scp", wav)


def hook_data(data: DataDir, copies: Path) -> DataDir:
    """A data directory as hooks see it: with the copies of its audio in directory `copies`."""
    wav = {
        utt: str(copies / data.utt2spk[utt] / f"{utt}{'.wav' if is_pipe(entry) else Path(entry).suffix}")
        for utt, entry in data.wav.items()
    }
    return data.with_table("wav.scp", wav)


def copy_audio(wav: Mapping[str, str], copies: Mapping[str, Path]) -> None:
    """Copy the audio of every utterance to a read-only file; the output of a pipe becomes a WAV file."""
    for directory in {copy.parent for copy in copies.values()}:
        directory.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(_THREADS) as threads:
        list(threads.map(lambda utt: _copy(wav[utt], copies[utt]), copies))


def _copy(entry: str, copy: Path) -> None:
    copy.unlink(missing_ok=True)
    if is_pipe(entry):
        copy.write_bytes(read_pipe_as_wave(entry))
    else:
        audio_status(entry)
        shutil.copyfile(entry, copy)
    copy.chmod(_READ_ONLY)


@dataclass(frozen=True)
class WholeSet:
    """The set that the data of a hook are a part of: its directory, its name and its role."""

    directory: Path
    name: str
    role: str


def environment(prepared: Path, whole: WholeSet | None = None) -> dict[str, str]:
    """The environment of a hook or, without a `whole` set, of its preparation.

    It is that of the person who started the run, without the toolkit's Python and locale; a hook that needs those
    sources path.sh in its first line.
    """
    found = {name: value for name, value in os.environ.items() if not name.startswith((_OUTSIDE, *_OURS))}
    if f"{_OUTSIDE}PATH" in os.environ:
        for name in _CHANGED:
            found.pop(name, None)
            if before := os.environ.get(_OUTSIDE + name):
                found[name] = before
    found |= {TOOLKIT: str(ROOT), PREPARED: str(prepared)}
    return found if whole is None else {**found, WHOLE_SET: str(whole.directory), SET: whole.name, ROLE: whole.role}
