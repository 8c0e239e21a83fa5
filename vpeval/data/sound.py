"""Opening every entry of a wav.scp to see whether it is audio."""

from __future__ import annotations

import os
from collections.abc import Mapping

from vpeval.audio.io import RATE, AudioInfo, is_pipe, probe, read_audio
from vpeval.core import processes
from vpeval.core.errors import InputError

_CHUNK = 64
"""Entries for a process at a time; for fewer than two of these, starting processes takes longer than the work."""


def inspect_audio(entries: Mapping[str, str]) -> dict[str, AudioInfo | InputError]:
    """What the header of every entry says, or why it is no audio; pipes are run."""
    places = list(entries.values())
    if len(places) < 2 * _CHUNK or os.cpu_count() == 1:
        return dict(zip(entries, map(_inspect, places), strict=True))
    # Not threads: they would spend their time waiting for each other, as most of it is Python.
    with processes.pool() as workers:
        return dict(zip(entries, workers.map(_inspect, places, chunksize=_CHUNK), strict=True))


def _inspect(entry: str) -> AudioInfo | InputError:
    try:
        info = probe(entry)
        whole = (entry.lower().endswith(".wav") or is_pipe(entry)) and info.subtype not in ("FLOAT", "DOUBLE")
        if not whole and (info.rate, info.channels) == (RATE, 1):
            # The header of a compressed file promises samples that a cut-off file does not hold.
            read_audio(entry)
    except InputError as error:
        return error
    return info
