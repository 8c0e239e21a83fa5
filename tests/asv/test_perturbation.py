"""Perturbed voices: what must change does, and what must stay does."""

import numpy as np
import pytest

from vpeval.asv.perturbation import Perturbation, equalise, move_formants, shift_pitch
from vpeval.audio.f0 import track_f0
from vpeval.audio.io import RATE

STRONG = Perturbation(formants=1.3, bend=1.25, f0=1.6, equaliser=10.0)
TIME = np.arange(2 * RATE) / RATE


def melody(f0):
    """A buzz of a contour, with a pause in the middle."""
    phase = 2 * np.pi * np.cumsum(f0) / RATE
    wave = 0.1 * sum(np.sin(k * phase) / k for k in range(1, 15))
    return (wave * (np.abs(TIME - 1) > 0.2)).astype(np.float32)


def centroid(wave):
    power = np.abs(np.fft.rfft(wave)) ** 2
    return float((power * np.fft.rfftfreq(len(wave), 1 / RATE)).sum() / power.sum())


@pytest.mark.parametrize("factor", [0.65, 1.0, 1.4])
def test_a_change_of_pitch_multiplies_the_whole_contour_and_keeps_the_time(factor):
    f0 = 170 * 2 ** (0.25 * np.sin(2 * np.pi * TIME))
    before = track_f0(melody(f0))
    after = track_f0(shift_pitch(melody(f0), factor).astype(np.float32))
    assert len(after) == len(before)
    both = (before > 0) & (after > 0)
    ratio = after[both] / before[both]
    assert both.sum() > 0.9 * (before > 0).sum()
    assert np.median(ratio) == pytest.approx(factor, rel=0.01)
    # Mean and range are kept in relation: in semitones the contour is the same.
    assert np.std(np.log2(after[both])) == pytest.approx(np.std(np.log2(before[both])), rel=0.15)
    assert ((before > 0) == (after > 0)).mean() > 0.9


def test_no_gain_and_no_shift_leave_the_wave_as_it_is():
    wave = melody(np.full(2 * RATE, 150.0))
    assert equalise(wave, np.zeros(10)) == pytest.approx(wave, abs=1e-6)
    assert shift_pitch(wave, 1.0) == pytest.approx(wave, abs=1e-4)


def test_an_equaliser_raises_the_bands_it_is_told_to():
    noise = np.random.default_rng(0).normal(0, 0.1, RATE)
    raised = equalise(noise, np.where(np.arange(10) == 9, 20.0, 0.0))
    high, low = (np.abs(np.fft.rfft(raised) / np.fft.rfft(noise))[i] for i in (7990, 100))
    assert 20 * np.log10([high, low]) == pytest.approx([20, 0], abs=0.2)


def test_a_voice_is_another_one_each_time_as_long_and_as_loud():
    wave = melody(np.full(2 * RATE, 150.0))
    perturbed = [STRONG(wave, np.random.default_rng(seed)) for seed in range(6)]
    pitches = [np.median(track[track > 0]) for track in map(track_f0, perturbed)]
    assert len(set(np.round(pitches))) == 6 and max(pitches) / min(pitches) > 1.3
    assert all(150 / 1.62 < pitch < 150 * 1.62 for pitch in pitches)
    assert len({round(centroid(one)) for one in perturbed}) == 6
    for one in perturbed:
        assert one.shape == wave.shape and one.dtype == np.float32
        assert np.sqrt(np.mean(one**2)) == pytest.approx(np.sqrt(np.mean(wave**2)), rel=1e-3)


def test_silence_stays_silence():
    assert not STRONG(np.zeros(RATE, np.float32), np.random.default_rng(0)).any()


def peaks(wave):
    """The frequencies of the loudest bin around 500 Hz, 1.5 and 3 kHz."""
    power = np.abs(np.fft.rfft(wave * np.hanning(len(wave)))) ** 2
    smooth = np.convolve(power, np.hanning(400), "same")
    return [
        low + int(smooth[2 * low : 2 * high].argmax()) / 2 for low, high in ((250, 900), (1000, 2100), (2300, 4200))
    ]


def test_formants_move_by_the_factors_around_them():
    noise = np.random.default_rng(0).normal(0, 1, 2 * RATE)
    frequency = np.fft.rfftfreq(len(noise), 1 / RATE)
    shape = 0.01 + sum(np.exp(-(((frequency - at) / 120) ** 2)) for at in (500, 1500, 3000))
    vowel = np.fft.irfft(np.fft.rfft(noise) * shape)
    assert move_formants(vowel, np.ones(5)) == pytest.approx(vowel, abs=1e-6)
    for factors in (np.full(5, 1.2), np.full(5, 1 / 1.2), np.array([1.3, 1.2, 1.0, 0.9, 0.9])):
        at = np.array([500.0, 1500.0, 3000.0])
        expected = np.interp(at, [300, 900, 2000, 3500, 6000], np.array([300, 900, 2000, 3500, 6000]) * factors)
        assert peaks(move_formants(vowel, factors)) == pytest.approx(expected.tolist(), rel=0.04)


def test_formants_that_would_pass_each_other_meet():
    wave = melody(np.full(2 * RATE, 150.0))
    moved = move_formants(wave, np.array([2.0, 2.0, 0.4, 2.0, 2.0]))
    assert moved.shape == wave.shape and np.isfinite(moved).all()
