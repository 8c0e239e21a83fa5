"""F0 by pYIN (Mauch & Dixon, ICASSP 2014), as librosa has it, for vocoders; `pitch_lags` is faster and coarser."""

from __future__ import annotations

import numpy as np

from vpeval.audio.io import RATE
from vpeval.core.arrays import Floats, Floats32
from vpeval.core.errors import InputError

F0_MIN = 65.0
F0_MAX = 450.0
_FRAME = 1024
_HOP = RATE // 100


def track_pyin(wave: Floats32) -> Floats:
    """F0 in Hz every 10 ms of 16 kHz audio; NaN where unvoiced."""
    try:
        from librosa import pyin
    except ImportError:
        raise InputError("F0 tracking needs librosa; install what requirements.txt names") from None
    if len(wave) < _FRAME:
        wave = np.pad(wave, (0, _FRAME - len(wave)))
    f0, _, _ = pyin(wave, fmin=F0_MIN, fmax=F0_MAX, sr=RATE, frame_length=_FRAME, hop_length=_HOP)
    return f0
