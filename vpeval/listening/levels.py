"""One level for all recordings of a test, so that loudness neither tells systems apart nor tires listeners.

The level of speech is that of its active part: frames of 20 ms, without those below -70 dB and then without those
10 dB below the mean of the rest (two-stage gating as in ITU-R BS.1770, without its frequency weighting). All recordings
get the same level, -26 dB relative to full scale as is usual in listening tests (ITU-T P.800), or the highest lower one
at which none of them clips.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from vpeval.audio.io import RATE, read_audio
from vpeval.core.errors import InputError

LEVEL = -26.0
LOWEST = -46.0
_FRAME = RATE // 50
_PEAK = 0.99


@dataclass(frozen=True)
class Loudness:
    """Active level and peak of a recording in dB relative to full scale, and its length."""

    level: float
    peak: float
    seconds: float


def loudness(wave: np.ndarray) -> Loudness | None:
    """How loud a recording is; None where nothing is to be heard."""
    power = np.square(wave.astype(np.float64))
    frames = power[: len(power) // _FRAME * _FRAME].reshape(-1, _FRAME).mean(axis=1) if len(power) >= _FRAME else power
    audible = frames[frames > 1e-7]
    if not len(audible):
        return None
    active = audible[audible >= audible.mean() / 10]
    return Loudness(10 * float(np.log10(active.mean())), 20 * float(np.log10(np.abs(wave).max())), len(wave) / RATE)


def measure(entries: Mapping[str, str]) -> dict[str, Loudness]:
    """The loudness of every entry of a wav.scp; silence is an InputError."""

    def one(item: tuple[str, str]) -> Loudness:
        name, entry = item
        found = loudness(read_audio(entry))
        if found is None:
            raise InputError(f"'{name}' is silent; nobody can judge it. Make it again or leave it out", entry)
        return found

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(entries, pool.map(one, entries.items()), strict=True))


def common_level(loudnesses: Mapping[str, Loudness]) -> float:
    """The level to which all can be brought; a recording that would drag all others down is an InputError."""
    room = 20 * np.log10(_PEAK)
    name, worst = min(loudnesses.items(), key=lambda item: (item[1].level - item[1].peak, item[0]))
    level = min(LEVEL, float(room + worst.level - worst.peak))
    if level < LOWEST:
        raise InputError(
            f"'{name}' has a peak {worst.peak - worst.level:.0f} dB above its speech (a click?), so that all "
            "recordings would have to be made very quiet; repair it or leave its utterance out"
        )
    return level


def adjusted(wave: np.ndarray, loud: Loudness, level: float) -> np.ndarray:
    """The recording at the common level."""
    return wave * 10 ** ((level - loud.level) / 20)
