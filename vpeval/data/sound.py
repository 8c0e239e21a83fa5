"""Opening every entry of a wav.scp to see whether it is audio."""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

from vpeval.audio.io import RATE, AudioInfo, is_pipe, probe, read_audio
from vpeval.core.errors import InputError


def inspect_audio(entries: Mapping[str, str]) -> dict[str, AudioInfo | InputError]:
    """What the header of every entry says, or why it is no audio; pipes are run."""
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(entries, pool.map(_inspect, entries.values()), strict=True))


def _inspect(entry: str) -> AudioInfo | InputError:
    try:
        info = probe(entry)
        whole = entry.lower().endswith(".wav") or is_pipe(entry)
        if not whole and (info.rate, info.channels) == (RATE, 1):
            # The header of a compressed file promises samples that a cut-off file does not hold.
            read_audio(entry)
    except InputError as error:
        return error
    return info
