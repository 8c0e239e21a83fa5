"""Checks on what a hook wrote, before anything is published.

What breaks the contract (format, length, silence) is an error that names the file. What is allowed but worth knowing
(an output identical to its input, clipping, a much changed duration) is counted and reported.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vpeval.audio.io import RATE, probe, read_audio
from vpeval.audio.riff import read_wave_header
from vpeval.core.errors import InputError

_SILENT = 10 ** (-70 / 20)
_CLIPPED_SHARE = 0.001
_DRIFT = 0.5


@dataclass(frozen=True)
class Finding:
    """What is worth knowing about one anonymised utterance."""

    utt: str
    seconds: float
    identical: bool
    clipped: bool
    drifted: bool
    sha256: str = ""
    """Of the file."""


def check_output(utt: str, source: str, output: Path) -> Finding:
    """Compare an anonymised file with its source; a broken contract is an InputError."""
    info = probe(str(output))
    if (info.rate, info.channels, info.subtype) != (RATE, 1, "PCM_16"):
        kind = f"{info.rate} Hz, {info.channels} channels, {info.subtype}"
        raise InputError(f"the hook must write 16 kHz, mono, 16-bit PCM; this is {kind}", output)
    before, after = read_audio(source), read_audio(str(output))
    loud = np.abs(before).max() > _SILENT
    if loud and np.abs(after).max() <= _SILENT:
        raise InputError("is silent although its source is not; fix the anonymiser", output)
    length = len(after) / len(before)
    if length < 0.1 or length > 10:
        raise InputError(
            f"lasts {len(after) / RATE:.2f} s, the source {len(before) / RATE:.2f} s; fix the anonymiser", output
        )
    return Finding(
        utt,
        len(after) / RATE,
        identical=len(after) == len(before) and bool(np.abs(after - before).max() < 2 / 32768),
        clipped=bool(np.mean(np.abs(after) >= 32767 / 32768) > _CLIPPED_SHARE),
        drifted=abs(length - 1) > _DRIFT,
        sha256=hashlib.sha256(output.read_bytes()).hexdigest(),
    )


def is_whole_wave(path: Path) -> bool:
    """Whether a WAV file was written to its end: its header agrees with its size.

    Programs write the sizes either first or last; a file whose writer was killed fails in both cases.
    """
    with open(path, "rb") as file:
        wave = read_wave_header(file)
    if wave is None or wave.is_cut or wave.declared != path.stat().st_size:
        return False
    try:
        probe(str(path))
    except InputError:
        return False
    return True
