"""Recordings of the checks, made of tones, so that they work in every language.

Attention: "how many tones?" A listener who does not listen guesses one of ten.

Headphones: "which of three tones is the quietest?" One is 6 dB weaker; another is in opposite phase left and right,
which cancels in the air between loudspeakers but not over headphones (Woods et al., Headphone screening to facilitate
web-based auditory experiments, 2017).
"""

from __future__ import annotations

import numpy as np

from vpeval.audio.io import RATE

_EDGE = RATE // 50


def tones(count: int, level: float) -> np.ndarray:
    """`count` short tones with pauses, mono."""
    beep, pause = _tone(0.18, 520.0, level), np.zeros(int(0.27 * RATE))
    return np.concatenate([pause, *(part for _ in range(count) for part in (beep, pause))])


def quietest(place: int, level: float) -> np.ndarray:
    """Three tones, the one at `place` (1 to 3) quieter, its successor (in a circle) in opposite phase; stereo."""
    pause = np.zeros((int(0.4 * RATE), 2))
    parts = [pause]
    for i in range(1, 4):
        tone = _tone(0.8, 200.0, level - 6 if i == place else level)
        other = -tone if i == place % 3 + 1 else tone
        parts += [np.stack([tone, other], axis=1), pause]
    return np.concatenate(parts)


def _tone(seconds: float, frequency: float, level: float) -> np.ndarray:
    time = np.arange(int(seconds * RATE)) / RATE
    wave = np.sqrt(2) * 10 ** (level / 20) * np.sin(2 * np.pi * frequency * time)
    ramp = np.sin(np.linspace(0, np.pi / 2, _EDGE)) ** 2
    wave[:_EDGE] *= ramp
    wave[-_EDGE:] *= ramp[::-1]
    return wave
