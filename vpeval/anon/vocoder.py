"""A source-filter vocoder in the spirit of WORLD (Morise et al., 2016): speech to F0, envelope and noisiness, and back.

Every 10 ms, F0 comes from pYIN; the envelope from a pitch-adaptive window whose power spectrum is smoothed over
frequency and freed of its harmonics by a lifter (CheapTrick, Morise 2015); the noisiness of four bands from how well a
pitch period repeats itself, as in mixed-excitation coding (McCree & Barnwell, 1995). Synthesis adds the minimum-phase
responses to pitch pulses and noise shaped by the same envelope. All frames, and all pulses, are computed together.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from vpeval.audio.f0 import track_pyin
from vpeval.audio.io import RATE
from vpeval.core.arrays import AnyFloats, Counts, Floats

HOP = RATE // 100
FFT = 1024
BINS = FFT // 2 + 1
BAND_EDGES = (0, 1000, 2000, 4000, 8000)
_UNVOICED_F0 = 200.0
_FLOOR = 1e-10
_Q1 = -0.15  # CheapTrick's compensation for the smoothing of spectral peaks
_BLOCK = 256


@dataclass(frozen=True)
class Speech:
    """One row per 10 ms: F0 in Hz (0: unvoiced), log power spectrum, share of noise in each band."""

    f0: Floats
    envelope: Floats
    noise: Floats


def analyze(wave: AnyFloats) -> Speech:
    """The parameters of 16 kHz speech."""
    samples = np.asarray(wave, np.float64)
    f0 = np.nan_to_num(track_pyin(samples.astype(np.float32)))
    return Speech(f0, envelope(samples, f0), noisiness(samples, f0))


def envelope(wave: Floats, f0: Floats) -> Floats:
    """Log power spectrum without harmonics, frames x 513 bins."""
    pitch = np.where(f0 > 0, f0, _UNVOICED_F0)
    half = np.arange(-FFT // 2, FFT // 2)
    padded = np.pad(wave, FFT // 2 + HOP)
    result = np.empty((len(f0), BINS))
    for start in range(0, len(f0), _BLOCK):
        f = pitch[start : start + _BLOCK, None]
        centres = (np.arange(start, start + len(f)) * HOP + FFT // 2 + HOP)[:, None]
        span = np.minimum(3 * RATE / f, FFT - 2)
        window = np.where(np.abs(half) < span / 2, 0.5 + 0.5 * np.cos(2 * np.pi * half / span), 0)
        window /= np.sqrt((window**2).sum(axis=1, keepdims=True))
        places = np.clip(centres + half, 0, len(padded) - 1)
        power = np.abs(np.fft.rfft(padded[places] * window, FFT)) ** 2
        result[start : start + len(f)] = _lifter(np.log(_smooth(power, 2 / 3 * f) + _FLOOR), f)
    return result


def _smooth(power: Floats, width: Floats) -> Floats:
    """Mean over a stretch of `width` Hz around every bin."""
    mirrored = np.concatenate((power[:, BINS // 2 : 0 : -1], power, power[:, -2 : -BINS // 2 - 2 : -1]), axis=1)
    total = np.pad(np.cumsum(mirrored, axis=1), ((0, 0), (1, 0)))
    reach = width / 2 * FFT / RATE
    middle = np.arange(BINS) + BINS // 2 + 0.5

    def sum_below(edge: Floats) -> Floats:
        whole = edge.astype(np.int64)
        low = np.take_along_axis(total, whole, axis=1)
        return low + (edge - whole) * (np.take_along_axis(total, whole + 1, axis=1) - low)

    return (sum_below(middle + reach) - sum_below(middle - reach)) / (2 * reach)


def _lifter(log_power: Floats, f0: Floats) -> Floats:
    quefrency = np.arange(BINS) / RATE
    lifter = np.sinc(f0 * quefrency) * (1 - 2 * _Q1 + 2 * _Q1 * np.cos(2 * np.pi * f0 * quefrency))
    return np.fft.rfft(np.fft.irfft(log_power, FFT) * np.concatenate((lifter, lifter[:, -2:0:-1]), axis=1), FFT).real


def noisiness(wave: Floats, f0: Floats) -> Floats:
    """Share of noise (0 to 1) of every frame in every band: what a pitch period does not repeat; 1 where unvoiced."""
    result = np.ones((len(f0), len(BAND_EDGES) - 1))
    voiced = np.flatnonzero(f0)
    if not len(voiced):
        return result
    lag = np.rint(RATE / f0[voiced]).astype(np.int64)[:, None]
    span = np.arange(-HOP, HOP)
    reach = 2 * HOP + int(lag.max()) + 2
    for band, (low, high) in enumerate(pairwise(BAND_EDGES)):
        filtered = np.pad(_band(wave, low, high), reach)
        here = voiced[:, None] * HOP + reach + span - lag // 2
        now = filtered[np.minimum(here, len(filtered) - 1)]
        best = np.zeros(len(voiced))
        for shift in range(-2, 3):
            then = filtered[np.minimum(here + lag + shift, len(filtered) - 1)]
            product = (now * then).sum(axis=1)
            best = np.maximum(best, product / np.sqrt((now**2).sum(axis=1) * (then**2).sum(axis=1) + _FLOOR))
        # A gliding pitch does not repeat itself either: the square keeps that from being taken for noise.
        result[voiced, band] = np.clip(1 - best, 0, 1) ** 2
    return result


def _band(wave: Floats, low: float, high: float) -> Floats:
    spectrum = np.fft.rfft(wave)
    frequency = np.fft.rfftfreq(len(wave), 1 / RATE)
    spectrum[(frequency < low) | (frequency > high)] = 0
    return np.fft.irfft(spectrum, len(wave))


def synthesize(speech: Speech, length: int, rng: np.random.Generator) -> Floats:
    """`length` samples with the parameters of `speech`."""
    output = np.zeros(length + 2 * FFT)
    _add_noise(output, speech, rng)
    times, periods = _pulses(speech.f0, length)
    for start in range(0, len(times), _BLOCK):
        _add_pulses(output, speech, times[start : start + _BLOCK], periods[start : start + _BLOCK])
    return output[FFT : FFT + length]


def _noise_gain(noise: Floats) -> Floats:
    """Noise share of every bin from that of the bands."""
    centres = [(low + high) / 2 for low, high in pairwise(BAND_EDGES)]
    place = np.interp(np.arange(BINS) * RATE / FFT, centres, np.arange(len(centres)))
    low = place.astype(np.int64)
    high = np.minimum(low + 1, len(centres) - 1)
    return noise[:, low] + (place - low) * (noise[:, high] - noise[:, low])


def _add_noise(output: Floats, speech: Speech, rng: np.random.Generator) -> None:
    window = np.hanning(2 * HOP + 1)[:-1]
    white = rng.standard_normal(len(output) + 2 * HOP)
    frames = np.arange(len(speech.f0))
    places = (frames * HOP)[:, None] + np.arange(2 * HOP)
    gain = np.sqrt(np.exp(speech.envelope) * _noise_gain(speech.noise))
    # Each frame's own stretch of one noise signal: overlapping halves are the same noise, so that powers add up.
    shaped = np.fft.irfft(np.fft.rfft(white[places] * window, FFT) * _minimum_phase(np.log(gain + _FLOOR)), FFT)
    _overlap_add(output, shaped, frames * HOP + FFT - HOP)


def _pulses(f0: Floats, length: int) -> tuple[Floats, Floats]:
    """Times (in samples, fractional) and periods of pitch pulses: where the running phase passes a whole turn."""
    frame = np.arange(length) / HOP
    near = np.minimum(np.rint(frame).astype(np.int64), len(f0) - 1)
    voiced = f0[near] > 0
    known = np.flatnonzero(f0)
    if not len(known):
        return np.empty(0), np.empty(0)
    smooth = np.interp(frame, known, f0[known])
    turns = np.cumsum(smooth / RATE)
    last = np.flatnonzero((np.floor(turns[1:]) > np.floor(turns[:-1])) & voiced[1:])
    times = last + (np.ceil(turns[last]) - turns[last]) / (turns[last + 1] - turns[last])
    return times, RATE / smooth[last]


def _add_pulses(output: Floats, speech: Speech, times: Floats, periods: Floats) -> None:
    frame = np.minimum(times / HOP, len(speech.f0) - 1)
    low = frame.astype(np.int64)
    after = np.minimum(low + 1, len(speech.f0) - 1)
    # An unvoiced neighbour is all noise: do not let it take the voice away from the last pulses.
    high = np.where(speech.f0[after] > 0, after, low)
    low = np.where(speech.f0[low] > 0, low, high)
    part = (frame - np.floor(frame))[:, None]
    log_power = speech.envelope[low] + part * (speech.envelope[high] - speech.envelope[low])
    noise = speech.noise[low] + part * (speech.noise[high] - speech.noise[low])
    gain = np.sqrt(np.exp(log_power) * (1 - _noise_gain(noise)) * periods[:, None])
    fraction = (times - np.floor(times))[:, None]
    delay = np.exp(-2j * np.pi * np.arange(BINS) * fraction / FFT)
    responses = np.fft.irfft(_minimum_phase(np.log(gain + _FLOOR)) * delay, FFT)
    _overlap_add(output, responses, np.floor(times).astype(np.int64) + FFT)


def _minimum_phase(log_gain: Floats) -> NDArray[np.complex128]:
    cepstrum = np.fft.irfft(log_gain, FFT)
    cepstrum[:, 1 : FFT // 2] *= 2
    cepstrum[:, FFT // 2 + 1 :] = 0
    return np.exp(np.fft.rfft(cepstrum, FFT))


def _overlap_add(output: Floats, segments: Floats, starts: Counts) -> None:
    places = starts[:, None] + np.arange(segments.shape[1])
    inside = places < len(output)
    output += np.bincount(places[inside], segments[inside], len(output))
