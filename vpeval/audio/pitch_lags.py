"""Pitch periods as whole numbers of samples: pYIN (Mauch & Dixon, ICASSP 2014) on a grid of integer lags.

As librosa has it, but for the grid: librosa looks for F0 in tenths of a semitone, and similarity rank disclosure counts
whole lags. Every 10 ms the difference function of YIN (de Cheveigné & Kawahara, 2002) has troughs at the lags where the
speech repeats itself; how probable each is follows from a hundred thresholds; then a path is chosen through lags and
voicing.

Speech is compared with itself at 16 kHz. The grid is that of lags at 8 kHz, ⌊8000 / F0⌋ for F0 from 450 to 65 Hz: 107
of them, from 17 to 123 samples.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy.special import betainc

from vpeval.audio.io import RATE
from vpeval.core.arrays import AnyFloats, Counts, Floats

F0_MIN, F0_MAX = 65.0, 450.0
LAG_RATE = 8000
LAGS = np.arange(int(LAG_RATE / F0_MAX), int(LAG_RATE / F0_MIN) + 1)

_FINE = RATE // LAG_RATE
_FIRST, _LAST = int(_FINE * LAGS[0]), int(_FINE * LAGS[-1]) + _FINE - 1
TRACK_RATE = 100
"""Frames in a second."""

_HOP = RATE // TRACK_RATE
_FRAME = 1024
_FFT = 1280
_BLOCK = 1024

_THRESHOLDS = np.linspace(0, 1, 101)
_PRIOR = np.diff(betainc(2, 18, _THRESHOLDS))
_DECAY = 2.0  # of the probability of the second, third … trough below a threshold
_NO_TROUGH = 0.01
_SWITCH = 0.01  # between voiced and unvoiced
_BINS = 336  # of pYIN, tenths of a semitone: unvoiced speech is spread over so many, as voicing is decided by that
_REACH = 2.0  # semitones in 10 ms
_TINY = np.finfo(np.float64).tiny


def track_lags(wave: AnyFloats) -> Counts:
    """The pitch period every 10 ms of 16 kHz audio, in samples at 8 kHz; 0 where unvoiced."""
    samples = np.pad(np.asarray(wave, np.float64), _FRAME // 2)
    frames = np.lib.stride_tricks.sliding_window_view(samples, _FRAME)[::_HOP]
    probable = [_probabilities(frames[start : start + _BLOCK]) for start in range(0, len(frames), _BLOCK)]
    return _best_path(np.concatenate(probable))


def _differences(frames: Floats) -> Floats:
    """YIN's cumulative mean normalised difference, from a lag below the first to one above the last."""
    lags = np.arange(1, _LAST + 2)
    # A frame and itself at each lag, where they overlap.
    alike = np.fft.irfft(np.abs(np.fft.rfft(frames, _FFT)) ** 2, _FFT)
    without = np.cumsum(frames[:, : len(lags)] ** 2, axis=1) + np.cumsum(frames[:, : -len(lags) - 1 : -1] ** 2, axis=1)
    difference = np.maximum(2 * (alike[:, :1] - alike[:, lags]) - without, 0)
    mean = np.cumsum(difference, axis=1) / lags
    return (difference / np.maximum(mean, _TINY))[:, _FIRST - 2 :]


def _probabilities(frames: Floats) -> Floats:
    """How probable each lag of the grid is (frames × lags); what is left to one is the probability of no voice."""
    d = _differences(frames)
    inner = d[:, 1:-1]
    is_trough = (inner < d[:, :-2]) & (inner <= d[:, 2:])
    frame, lag = np.nonzero(is_trough)
    result = np.zeros((len(frames), len(LAGS)))
    if not len(frame):
        return result
    heights = inner[frame, lag]
    below = heights[:, None] < _THRESHOLDS[1:]
    starts = np.flatnonzero(np.diff(frame, prepend=-1))
    sizes = np.diff(starts, append=len(frame))
    running = np.cumsum(below, axis=0, dtype=np.int32)
    before = np.repeat(running[starts] - below[starts], sizes, axis=0)
    count = np.repeat(np.add.reduceat(below, starts, axis=0, dtype=np.int32), sizes, axis=0)
    chance = _truncated(int(count.max()))[np.maximum(running - 1 - before, 0), count]
    # Where no trough is below a threshold, the lowest of all has a small chance.
    lowest = np.flatnonzero(heights == np.repeat(np.minimum.reduceat(heights, starts), sizes))
    probable = np.where(below, chance, 0) @ _PRIOR
    probable[lowest] += _NO_TROUGH * (~below[lowest] @ _PRIOR)
    np.add.at(result, (frame, lag // _FINE), probable)
    return result


def _truncated(most: int) -> Floats:
    """The probability of the k-th of n troughs, [k, n]: an exponential that falls and ends with the last."""
    k, n = np.arange(most + 1)[:, None], np.maximum(np.arange(most + 1), 1)
    return np.asarray((1 - np.exp(-_DECAY)) * np.exp(-_DECAY * k) / (1 - np.exp(-_DECAY * n)))


@cache
def _transitions() -> tuple[Counts, Floats]:
    """For every lag those that it may follow, and the logarithms of the probabilities of doing so."""
    semitones = 12 * np.abs(np.log2(LAGS[:, None] / LAGS))
    weight = np.maximum(0, 1 - semitones / _REACH)
    weight /= weight.sum(axis=1, keepdims=True)
    width = int((weight > 0).sum(axis=0).max())
    first = np.minimum((weight > 0).argmax(axis=0), len(LAGS) - width)
    before = first[:, None] + np.arange(width)
    chance = weight[before, np.arange(len(LAGS))[:, None]]
    return before, np.log(chance, where=chance > 0, out=np.full(chance.shape, -np.inf))


def _best_path(voiced: Floats) -> Counts:
    """Viterbi search over lags, voiced (row 0) and unvoiced (row 1)."""
    before, chance = _transitions()
    n, rows = len(LAGS), np.arange(len(LAGS))
    silent = np.log(np.maximum(1 - voiced.sum(axis=1), 0) / _BINS + _TINY)
    local = np.stack([np.log(voiced + _TINY), np.broadcast_to(silent[:, None], voiced.shape)], axis=1)
    stay, switch = np.log(1 - _SWITCH), np.log(_SWITCH)
    total = local[0]
    origin = np.zeros(local.shape, np.int64)
    for t in range(1, len(voiced)):
        arriving = total[:, before] + chance
        best = arriving.argmax(axis=2)
        come = arriving[[[0], [1]], rows, best]
        other = come[::-1] + switch
        come += stay
        changed = other > come
        # A state is numbered by its lag, with n added where unvoiced.
        states = before[rows, best]
        states[1] += n
        origin[t] = np.where(changed, states[::-1], states)
        total = np.where(changed, other, come) + local[t]
    path = np.empty(len(voiced), np.int64)
    path[-1] = total.argmax()
    flat = origin.reshape(len(voiced), 2 * n)
    for t in range(len(path) - 1, 0, -1):
        path[t - 1] = flat[t, path[t]]
    return np.where(path < n, LAGS[path % n], 0)
