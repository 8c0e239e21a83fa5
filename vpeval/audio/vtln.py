"""Vocal tract length change: the spectral envelope is stretched along frequency, the fine structure stays.

Every frame of the short-time spectrum is multiplied by (warped envelope / envelope); the envelope is the liftered
cepstrum. Pitch, timing and phase are those of the source, which makes this the cheapest of the shipped systems.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

_FFT = 512
_SHIFT = 128
BINS = _FFT // 2 + 1
_QUEFRENCIES = 40  # 2.5 ms: below the shortest pitch period
_FLOOR = 1e-5
_KNEE = 0.8  # up to this share of the band the warp is linear; beyond, it runs to the band's end


def warp_map(factor: float, bins: int) -> NDArray[np.float64]:
    """Where each bin's envelope comes from: piecewise linear, formants move up by `factor`, both ends stay."""
    top = bins - 1
    knee = _KNEE * top * min(1.0, factor)
    return np.interp(np.arange(bins), [0, knee, top], [0, knee / factor, top])


def stretch_envelope(wave: NDArray[np.floating], factor: float) -> NDArray[np.float64]:
    """Move the formants of 16 kHz speech by `factor`; the output has the length of the input."""
    return warp_envelope(wave, warp_map(factor, BINS))


def warp_envelope(wave: NDArray[np.floating], source: NDArray[np.float64]) -> NDArray[np.float64]:
    """16 kHz speech whose envelope at every bin is the one that was at ``source[bin]``, of `BINS` up to 8 kHz."""
    # So much silence on both sides that every sample is in as many frames as any other.
    count = (len(wave) + 2 * _MARGIN - _FFT) // _SHIFT + 1
    padded = np.zeros(max(len(wave) + 2 * _MARGIN, _FFT + _SHIFT * count))
    padded[_MARGIN : _MARGIN + len(wave)] = wave
    frames = np.lib.stride_tricks.sliding_window_view(padded, _FFT)[::_SHIFT]
    spectrum = np.fft.rfft(frames * (_WINDOW / _WINDOW.sum()))
    cepstra = np.log(np.abs(spectrum) + _FLOOR) @ _LIFTER
    spectrum *= np.exp(cepstra @ (_rows_between(_COSINES, source) - _COSINES).T)
    changed = np.fft.irfft(spectrum)
    changed *= _WINDOW * (_WINDOW.sum() / _OVERLAP)
    output = np.zeros((len(changed) + _FFT // _SHIFT - 1, _SHIFT))
    for part, first in enumerate(range(0, _FFT, _SHIFT)):
        output[part : part + len(changed)] += changed[:, first : first + _SHIFT]
    return output.ravel()[_MARGIN : _MARGIN + len(wave)]


def _rows_between(rows: NDArray[np.float64], place: NDArray[np.float64]) -> NDArray[np.float64]:
    """Linear interpolation between rows."""
    low = np.minimum(place.astype(np.int64), len(rows) - 2)
    part = (place - low)[:, None]
    return rows[low] * (1 - part) + rows[low + 1] * part


_WINDOW = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(_FFT) / _FFT)
_OVERLAP = float(np.square(_WINDOW).sum() / _SHIFT)
"""Sum of the squares of all windows over a sample."""
_MARGIN = _FFT + _FFT // 2
_COSINES = np.cos(2 * np.pi / _FFT * np.outer(np.arange(BINS), np.arange(_QUEFRENCIES)))
_COSINES[:, 1:] *= 2  # for the quefrencies of the other half
_LIFTER = np.cos(2 * np.pi / _FFT * np.outer(np.arange(BINS), np.arange(_QUEFRENCIES))) * 2 / _FFT
"""The first quefrencies of the cepstrum of a log amplitude, without a Fourier transform for those that are left out."""
_LIFTER[[0, -1]] /= 2
