"""Resampling on the way in: audio that is not 16 kHz mono is converted once, one utterance at a time.

Converted files are FLAC, losslessly half the size of WAV, under ``<data-root>/local/<corpus>/<speaker>/``. They are
kept as long as their source does not change.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import gcd
from pathlib import Path

import numpy as np
import soundfile as sf
from scipy.signal import resample_poly

from vpeval.audio.io import RATE, probe, read_sound
from vpeval.core import processes
from vpeval.core.files import atomic_path
from vpeval.corpora.utterances import Utterance

_CHUNK = 64


def bring_to_16khz(utterances: Iterable[Utterance], folder: Path) -> list[Utterance]:
    """The utterances with audio at 16 kHz, mono, and with their durations."""
    todo = [(utterance, folder) for utterance in utterances]
    if len(todo) <= _CHUNK:
        return [_bring(*item) for item in todo]
    with processes.pool() as workers:
        return list(workers.map(_bring_star, todo, chunksize=_CHUNK))


def _bring_star(item: tuple[Utterance, Path]) -> Utterance:
    return _bring(*item)


def _bring(utterance: Utterance, folder: Path) -> Utterance:
    source = utterance.path
    info = probe(str(source))
    if (info.rate, info.channels) == (RATE, 1) and source.suffix != ".mp3":
        return replace(utterance, seconds=info.duration)
    target = folder / utterance.spk / f"{utterance.utt}.flac"
    if not target.is_file() or target.stat().st_mtime_ns < source.stat().st_mtime_ns:
        wave = to_16khz(*read_sound(str(source)))
        with atomic_path(target) as temporary:
            sf.write(temporary, wave, RATE, subtype="PCM_16", format="FLAC")
    return replace(utterance, path=target, seconds=sf.info(target).frames / RATE)


def to_16khz(wave: np.ndarray, rate: int) -> np.ndarray:
    """Samples of any rate and number of channels, as mono at 16 kHz; what exceeds ±1 afterwards saturates."""
    if wave.ndim == 2:
        wave = wave.mean(axis=1)
    if rate != RATE:
        common = gcd(rate, RATE)
        wave = resample_poly(wave, RATE // common, rate // common)
    return np.clip(wave, -1, 1)
