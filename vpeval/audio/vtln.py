"""Vocal tract length change: the spectral envelope is stretched along frequency, the fine structure stays.

Every frame of the short-time spectrum is multiplied by (warped envelope / envelope); the envelope is the liftered
cepstrum. Pitch, timing and phase are those of the source, which makes this the cheapest of the shipped systems.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import signal

from vpeval.audio.io import RATE

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
    padded = np.pad(np.asarray(wave, np.float64), _FFT)
    _, _, spectrum = signal.stft(padded, RATE, nperseg=_FFT, noverlap=_FFT - _SHIFT)
    envelope = _envelope(np.log(np.abs(spectrum) + _FLOOR))
    low = np.minimum(source.astype(np.int64), BINS - 2)
    part = (source - low)[:, None]
    warped = envelope[low] * (1 - part) + envelope[low + 1] * part
    _, output = signal.istft(spectrum * np.exp(warped - envelope), RATE, nperseg=_FFT, noverlap=_FFT - _SHIFT)
    return output[_FFT : _FFT + len(wave)]


def _envelope(log_amplitude: NDArray[np.float64]) -> NDArray[np.float64]:
    cepstrum = np.fft.irfft(log_amplitude, axis=0)
    cepstrum[_QUEFRENCIES : len(cepstrum) - _QUEFRENCIES + 1] = 0
    return np.fft.rfft(cepstrum, axis=0).real
