"""Opening every entry of a wav.scp to see whether it is audio."""

from __future__ import annotations

import os
from collections.abc import Mapping, MutableMapping

from vpeval.audio.io import RATE, AudioInfo, is_pipe, probe, read_audio
from vpeval.core import processes
from vpeval.core.errors import InputError

_CHUNK = 64
"""Entries for a process at a time; for fewer than two of these, starting processes takes longer than the work."""


Inspected = AudioInfo | InputError
"""What a header says, or why it is no audio."""


def inspect_audio(
    entries: Mapping[str, str], known: MutableMapping[str, Inspected] | None = None
) -> dict[str, Inspected]:
    """Inspect every entry; pipes are run. What is `known` is not opened again, and added to."""
    known = {} if known is None else known
    places = list(dict.fromkeys(entry for entry in entries.values() if entry not in known))
    if len(places) < 2 * _CHUNK or os.cpu_count() == 1:
        known.update(zip(places, map(_inspect, places), strict=True))
    else:
        # Not threads: they would spend their time waiting for each other, as most of it is Python.
        with processes.pool() as workers:
            known.update(zip(places, workers.map(_inspect, places, chunksize=_CHUNK), strict=True))
    return {utt: known[entry] for utt, entry in entries.items()}


def _inspect(entry: str) -> Inspected:
    try:
        info = probe(entry)
        whole = (entry.lower().endswith(".wav") or is_pipe(entry)) and info.subtype not in ("FLOAT", "DOUBLE")
        if not whole and (info.rate, info.channels) == (RATE, 1):
            # The header of a compressed file promises samples that a cut-off file does not hold.
            read_audio(entry)
    except InputError as error:
        return error
    return info
