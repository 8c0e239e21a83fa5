"""Pitch correlation of original and anonymised speech (VoicePrivacy 2022 evaluation plan, secondary utility metric).

The shorter F0 track is stretched to the length of the longer one, the anonymised track is moved (in a circle) by the
lag at which the cross-correlation peaks, and Pearson's coefficient is taken. The challenge's own estimate is over all
frames, with F0 = 0 where unvoiced, so that it rewards mostly the same voicing; tracks without variation count as 0.
The voiced-only estimate is over the frames that are voiced in both, on the same alignment; it does not exist where
there are fewer than `FEWEST` such frames or one of the tracks is flat there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vpeval.audio.f0 import CEILING, FLOOR
from vpeval.core.arrays import Floats

FEWEST = 10

Track = Floats


@dataclass(frozen=True)
class PitchCorrelation:
    """Correlations of one utterance: over all frames as in the challenge, and over voiced frames if there are any."""

    vpc: float
    voiced: float | None
    lag: int


def correlate_pitch(original: Track, anonymised: Track) -> PitchCorrelation:
    """Compare two F0 tracks in Hz, 0 where unvoiced.

    >>> track = np.array([0, 0, 100, 110, 120, 0, 200, 190, 0, 0.0])
    >>> correlate_pitch(track, np.roll(track, 2)).lag
    -2
    """
    from scipy.signal import correlate  # costs half a second, which a scorer of other measures should not pay

    length = max(len(original), len(anonymised))
    if not len(original) or not len(anonymised):
        return PitchCorrelation(0.0, None, 0)
    a, b = _stretch(original, length), _stretch(anonymised, length)
    lag = int(np.argmax(correlate(a, b))) - length + 1
    b = np.roll(b, lag)
    both = (a > 0) & (b > 0)
    voiced = _pearson(a[both], b[both]) if both.sum() >= FEWEST else None
    return PitchCorrelation(_pearson(a, b) or 0.0, voiced, lag)


def _stretch(track: Track, length: int) -> Track:
    """Linear interpolation to `length` frames; what lies between voiced and unvoiced may leave the range of F0."""
    if len(track) < length:
        track = np.interp(np.linspace(0, len(track) - 1, length), np.arange(len(track)), track)
    return np.where((track < FLOOR) | (track > CEILING), 0.0, track)


def _pearson(a: Track, b: Track) -> float | None:
    if np.ptp(a) == 0 or np.ptp(b) == 0:
        return None
    a, b = a - a.mean(), b - b.mean()
    return float((a * b).sum() / np.sqrt((a * a).sum() * (b * b).sum()))
