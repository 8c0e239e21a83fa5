"""F0 by autocorrelation (Boersma, IFA Proceedings 17, 1993), the tracker of the VoicePrivacy challenge, in numpy.

A frame's candidates are the peaks of its autocorrelation, divided by that of the window, and "unvoiced", which is the
stronger the quieter the frame. A path through the candidates of all frames is chosen that pays for jumps in frequency
and for changes of voicing. Settings and names are those of the paper; 75 to 500 Hz every 10 ms, as in the challenge.
"""

from __future__ import annotations

import numpy as np

from vpeval.audio.io import RATE
from vpeval.core.arrays import Floats, Floats32

FLOOR = 75.0
CEILING = 500.0
STEP = 0.01
_PERIODS = 3
_CANDIDATES = 15
_SILENCE_THRESHOLD = 0.03
_VOICING_THRESHOLD = 0.45
_OCTAVE_COST = 0.01
_OCTAVE_JUMP_COST = 0.35
_VOICED_UNVOICED_COST = 0.14

_PERIOD = int(RATE / FLOOR)
_WINDOW = int(_PERIODS * RATE / FLOOR) // 2 * 2
_HANNING = np.hanning(_WINDOW + 2)[1:-1]
_FFT = 1 << int(np.ceil(np.log2(1.5 * _WINDOW)))
_FINE = 4
"""Lags are looked at in quarters of a sample: the spectrum is padded, which is interpolation by sinc functions."""


def track_f0(wave: Floats32) -> Floats:
    """F0 in Hz every 10 ms of 16 kHz audio, 0 where unvoiced; empty for less than three periods of 75 Hz."""
    frames, intensity = _cut(wave.astype(np.float64))
    if not len(frames):
        return np.zeros(0)
    frequency, strength = _candidates(_autocorrelation(frames))
    quiet = np.maximum(0, 2 - intensity * (1 + _VOICING_THRESHOLD) / _SILENCE_THRESHOLD)
    frequency = np.concatenate([np.zeros((len(frames), 1)), frequency], axis=1)
    strength = np.concatenate([(_VOICING_THRESHOLD + quiet)[:, None], strength], axis=1)
    return _best_path(frequency, strength)


def _cut(wave: Floats) -> tuple[Floats, Floats]:
    """Windowed frames without their local mean, and how loud the middle of each is compared with the loudest sample."""
    peak = np.abs(wave - wave.mean()).max() if len(wave) else 0.0
    count = int((len(wave) - _WINDOW) / (STEP * RATE)) + 1
    if len(wave) < _WINDOW or not peak:
        return np.zeros((0, _WINDOW)), np.zeros(0)
    # The frames stand symmetrically in the wave, as in Praat.
    first = (len(wave) - (count - 1) * STEP * RATE - _WINDOW) / 2
    starts = np.round(first + np.arange(count) * STEP * RATE).astype(int).clip(0, len(wave) - _WINDOW)
    sums = np.concatenate([[0.0], np.cumsum(wave)])
    middle = starts + _WINDOW // 2
    left, right = np.maximum(middle - _PERIOD, 0), np.minimum(middle + _PERIOD, len(wave))
    mean = (sums[right] - sums[left]) / (right - left)
    frames = np.lib.stride_tricks.sliding_window_view(wave, _WINDOW)[starts] - mean[:, None]
    frames *= _HANNING
    half = slice((_WINDOW - _PERIOD) // 2, (_WINDOW + _PERIOD) // 2)
    return frames, np.minimum(1.0, np.abs(frames[:, half]).max(axis=1) / peak)


def _autocorrelation(frames: Floats) -> Floats:
    """Normalised autocorrelation at lags of 0, ¼, ½ … samples, free of the shape of the window."""
    both = [np.fft.irfft(np.abs(np.fft.rfft(x, _FFT)) ** 2, _FINE * _FFT) for x in (frames, _HANNING[None])]
    signal, shape = (part[:, : _FINE * (_PERIOD + 3) + 1] for part in both)
    loudness = np.maximum(signal[:, :1], np.finfo(float).tiny)
    normalised: Floats = signal / loudness / (shape / shape[:, :1])
    return normalised


def _candidates(r: Floats) -> tuple[Floats, Floats]:
    """Frequencies and strengths of the strongest peaks of every frame; strength −∞ where there are fewer."""
    whole = r[:, ::_FINE]
    inner = whole[:, 1:-1]
    is_peak = (inner > whole[:, :-2]) & (inner >= whole[:, 2:]) & (inner > 0.5 * _VOICING_THRESHOLD)
    is_peak[:, 0] = False
    lags = np.arange(1, whole.shape[1] - 1)
    merit = np.where(is_peak, inner - _OCTAVE_COST * np.log2(FLOOR * lags / RATE), -np.inf)
    best = np.argpartition(-merit, _CANDIDATES - 1, axis=1)[:, : _CANDIDATES - 1]
    row = np.arange(len(r))[:, None]
    around = _FINE * lags[best][..., None] + np.arange(-_FINE, _FINE + 1)
    top = np.take_along_axis(around, r[row[..., None], around].argmax(axis=2)[..., None], axis=2)[..., 0]
    top = top.clip(1, r.shape[1] - 2)
    before, at, after = r[row, top - 1], r[row, top], r[row, top + 1]
    slope, bend = (after - before) / 2, 2 * at - before - after
    found = np.take_along_axis(is_peak, best, axis=1)
    shift = np.divide(slope, bend, out=np.zeros_like(bend), where=found & (bend > 0))
    height = at + slope * shift - bend * shift**2 / 2
    height = np.where(height > 1, 1 / np.maximum(height, 1), height)
    frequency = RATE * _FINE / np.maximum(top + shift, 1)
    found &= frequency < CEILING
    return np.where(found, frequency, 0.0), np.where(found, height, -np.inf)


def _best_path(frequency: Floats, strength: Floats) -> Floats:
    """Viterbi search for the sequence of candidates with the greatest strength after all costs."""
    voiced = frequency > 0
    octave = np.log2(np.where(voiced, frequency, 1.0))
    local = np.where(voiced, strength - _OCTAVE_COST * (np.log2(CEILING) - octave), strength)
    total = local[0]
    back = np.zeros(frequency.shape, int)
    rows = np.arange(frequency.shape[1])
    for t in range(1, len(frequency)):
        jump = _OCTAVE_JUMP_COST * np.abs(octave[t - 1][:, None] - octave[t])
        cost = np.where(
            voiced[t - 1][:, None] & voiced[t],
            jump,
            _VOICED_UNVOICED_COST * (voiced[t - 1][:, None] != voiced[t]),
        )
        arriving = total[:, None] - cost
        back[t] = arriving.argmax(axis=0)
        total = arriving[back[t], rows] + local[t]
    path = np.empty(len(frequency), int)
    path[-1] = total.argmax()
    for t in range(len(path) - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    chosen: Floats = frequency[np.arange(len(path)), path]
    return chosen
