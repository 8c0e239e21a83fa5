"""F0 tracks of many utterances: computed in parallel, and kept in one file where they are needed again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike

import numpy as np

from vpeval.audio.f0 import track_f0
from vpeval.audio.io import RATE, read_audio
from vpeval.core import processes
from vpeval.core.arrays import Floats, read_arrays
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path

_CHUNK = 32
"""Utterances for a process at a time."""


@dataclass(frozen=True)
class Tracked:
    """The F0 of an utterance every 10 ms, 0 where unvoiced, and its length in seconds."""

    f0: Floats
    seconds: float


def track_all(entries: Mapping[str, str], nj: int = 1) -> dict[str, Tracked]:
    """Compute the F0 of the utterances of a wav.scp, in `nj` processes."""
    if nj == 1:
        return dict(zip(entries, map(_track, entries.values()), strict=True))
    with processes.pool(nj) as workers:
        return dict(zip(entries, workers.map(_track, entries.values(), chunksize=_CHUNK), strict=True))


def write_tracks(path: str | PathLike[str], tracks: Mapping[str, Tracked]) -> None:
    """Write the tracks as npz, atomically."""
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez(
            file,
            utts=np.array(list(tracks), dtype=str),
            lengths=np.array([len(one.f0) for one in tracks.values()]),
            seconds=np.array([one.seconds for one in tracks.values()]),
            f0=np.concatenate([np.zeros(0), *(one.f0 for one in tracks.values())]),
        )


def read_tracks(path: str | PathLike[str]) -> dict[str, Tracked]:
    """Read what `write_tracks` wrote."""
    again = "remove it and run the stage that makes it"
    stored = read_arrays(path, "F0 tracks", again, {"utts": 1, "lengths": 1, "seconds": 1, "f0": 1})
    utts, seconds, lengths = (stored[name].tolist() for name in ("utts", "seconds", "lengths"))
    if not len(utts) == len(seconds) == len(lengths) or sum(lengths) != len(stored["f0"]):
        raise InputError(f"holds no F0 tracks (its parts do not fit together); {again}", path)
    parts = np.split(stored["f0"], np.cumsum(lengths, dtype=np.int64)[:-1])
    return {utt: Tracked(f0, length) for utt, f0, length in zip(utts, parts, seconds, strict=True)}


def _track(entry: str) -> Tracked:
    wave = read_audio(entry)
    return Tracked(track_f0(wave), len(wave) / RATE)
