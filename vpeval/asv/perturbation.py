"""Voices made unlike themselves: what an encoder is trained on so that timbre does not help it.

After NANSY (Choi et al., NeurIPS 2021), in three steps with numbers drawn anew each time: an equaliser of a few bands;
a change of pitch, which multiplies the mean and the range of F0 alike, so that intonation in semitones stays; and a
warp of the spectral envelope, which moves all formants together and, more or less, each on its own. Rhythm, rate and
intonation remain.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import signal

from vpeval.audio.io import RATE
from vpeval.audio.vtln import BINS, warp_envelope
from vpeval.core.arrays import AnyFloats, Floats, Floats32
from vpeval.core.config import check_section
from vpeval.core.errors import InputError

_BANDS = np.geomspace(60, RATE / 2, 10)
_FORMANTS = np.array([300.0, 900.0, 2000.0, 3500.0, 6000.0])
_LEAST = 1e-6  # of a bin between formants that would meet
_FFT = 1024
_SHIFT = 256


@dataclass(frozen=True)
class Perturbation:
    """The greatest factors, up and down, and the greatest gain of a band in dB.

    `formants` applies to all formants alike, `bend` to each of them in addition.
    """

    formants: float
    bend: float
    f0: float
    equaliser: float

    @classmethod
    def read(cls, section: object, path: Path) -> Perturbation:
        """That of a training profile."""
        found = cls(**check_section(section, "perturb", path, formants=float, bend=float, f0=float, equaliser=float))
        if not all(1 <= factor <= 2 for factor in (found.formants, found.bend, found.f0)):
            raise InputError("'perturb': formants, bend and f0 are factors from 1 (none) to 2", path)
        if not 0 <= found.equaliser <= 40:
            raise InputError("'perturb': the equaliser has from 0 (none) to 40 dB", path)
        return found

    def __call__(self, wave: Floats32, rng: np.random.Generator) -> Floats32:
        """The wave in another voice, as long and as loud as before."""
        gains, (pitch, formants) = rng.uniform(-1, 1, len(_BANDS)), rng.uniform(-1, 1, 2).tolist()
        f0_factor = float(self.f0**pitch)
        bends = rng.uniform(0, 1) * rng.uniform(-1, 1, len(_FORMANTS))
        changed = shift_pitch(equalise(wave, self.equaliser * gains), f0_factor)
        # The change of pitch has moved the formants as well.
        changed = move_formants(changed, self.formants**formants * self.bend**bends / f0_factor)
        before, after = (float(np.mean(np.square(x, dtype=np.float64))) for x in (wave, changed))
        return (np.sqrt(before / max(after, 1e-20)) * changed).astype(np.float32)


def equalise(wave: AnyFloats, gains: Floats) -> Floats:
    """The wave with gains in dB at ten frequencies from 60 Hz to 8 kHz, and between them in proportion."""
    spectrum = np.fft.rfft(wave)
    places = np.log(np.maximum(np.fft.rfftfreq(len(wave), 1 / RATE), _BANDS[0]))
    filtered: Floats = np.fft.irfft(spectrum * 10 ** (np.interp(places, np.log(_BANDS), gains) / 20), len(wave))
    return filtered


def move_formants(wave: AnyFloats, factors: Floats) -> Floats:
    """The wave with its envelope at 300, 900, 2000, 3500 and 6000 Hz moved by factors, and between in proportion."""
    top = BINS - 1
    places = _FORMANTS / (RATE / 2) * top
    moved = np.maximum.accumulate(np.minimum(places * factors, top - 1)) + _LEAST * np.arange(len(places))
    return warp_envelope(wave, np.interp(np.arange(BINS), [0, *moved, top], [0, *places, top]))


def shift_pitch(wave: AnyFloats, factor: float) -> Floats:
    """The wave with all frequencies times `factor`, as long as before: slowed down by a phase vocoder, then resampled.

    The phase vocoder is that of Flanagan & Golden (1966): amplitudes between frames are interpolated, and the phase
    goes on by what it advances from frame to frame.
    """
    _, _, spectrum = signal.stft(np.pad(wave, (0, _FFT)), RATE, nperseg=_FFT, noverlap=_FFT - _SHIFT)
    at = np.arange(0, spectrum.shape[1] - 1, 1 / factor)
    low = at.astype(np.int64)
    part = at - low
    amplitude, phase = np.abs(spectrum), np.angle(spectrum)
    expected = 2 * np.pi * _SHIFT / _FFT * np.arange(len(spectrum))[:, None]
    advance = np.diff(phase, axis=1) - expected
    advance = expected + advance - 2 * np.pi * np.round(advance / (2 * np.pi))
    running = np.cumsum(np.concatenate([phase[:, :1], advance[:, low[:-1]]], axis=1), axis=1)
    between = amplitude[:, low] * (1 - part) + amplitude[:, low + 1] * part
    _, slow = signal.istft(between * np.exp(1j * running), RATE, nperseg=_FFT, noverlap=_FFT - _SHIFT)
    needed = round(len(wave) * factor)
    resampled: Floats = signal.resample(np.pad(slow, (0, max(0, needed - len(slow))))[:needed], len(wave))
    return resampled
