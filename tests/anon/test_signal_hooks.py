"""The vocoder and the systems built on it and on short-time spectra, on signals whose answers are known."""

from dataclasses import replace

import numpy as np
import pytest

from tests.anon.transcription import stretched_by_scipy
from vpeval.anon import formant_f0, vocoder
from vpeval.anon.vocoder import Speech
from vpeval.audio import vtln
from vpeval.audio.io import RATE

SECONDS = 0.6
F0 = 150.0


def vowel(f0: float = F0, formants: tuple[float, ...] = (700.0, 1800.0)) -> np.ndarray:
    """Harmonics under two resonances of 150 Hz width."""
    time = np.arange(int(SECONDS * RATE)) / RATE
    wave = np.zeros_like(time)
    for harmonic in np.arange(f0, 7000, f0):
        gain = sum(1 / (1 + ((harmonic - formant) / 150) ** 2) for formant in formants)
        wave += gain * np.cos(2 * np.pi * harmonic * time)
    return 0.3 * wave / np.abs(wave).max()


def peak_frequency(log_power: np.ndarray, low: float, high: float) -> float:
    frequency = np.arange(vocoder.BINS) * RATE / vocoder.FFT
    band = (frequency >= low) & (frequency <= high)
    return float(frequency[band][log_power[band].argmax()])


def spectrum(wave: np.ndarray) -> np.ndarray:
    middle = wave[len(wave) // 2 - 2048 : len(wave) // 2 + 2048]
    return np.abs(np.fft.rfft(middle * np.hanning(4096))) ** 2


def first_formant(power: np.ndarray, f0: float) -> float:
    """The strongest harmonic up to 1200 Hz."""
    numbers = np.arange(1, int(1200 / f0) + 1)
    return float(f0 * numbers[power[np.rint(f0 * numbers * 4096 / RATE).astype(int)].argmax()])


def steady(f0: float) -> Speech:
    frames = int(SECONDS * 100)
    wave = vowel()
    pitch = np.full(frames, f0)
    return Speech(pitch, vocoder.envelope(wave, np.full(frames, F0)), np.zeros((frames, 4)))


def test_the_envelope_has_the_formants_and_no_harmonics() -> None:
    middle = vocoder.envelope(vowel(), np.full(60, F0))[30]
    assert abs(peak_frequency(middle, 300, 1200) - 700) < 60
    assert abs(peak_frequency(middle, 1300, 2500) - 1800) < 60
    frequency = np.arange(vocoder.BINS) * RATE / vocoder.FFT
    ups_and_downs = np.count_nonzero(np.diff(np.sign(np.diff(middle[(frequency > 200) & (frequency < 3000)]))))
    assert ups_and_downs <= 5


@pytest.mark.parametrize("f0", [100.0, 150.0, 260.0])
def test_synthesis_has_the_pitch_and_the_formants_asked_for(f0: float) -> None:
    wave = vocoder.synthesize(steady(f0), int(SECONDS * RATE), np.random.default_rng(0))
    power = spectrum(wave)
    harmonics = np.rint(f0 * np.arange(1, 8) * 4096 / RATE).astype(int)
    between = np.rint(f0 * (np.arange(1, 8) + 0.5) * 4096 / RATE).astype(int)
    assert power[harmonics].min() > 30 * power[between].max()
    assert abs(first_formant(power, f0) - 700) < f0


def test_copying_keeps_the_power() -> None:
    wave = vowel()
    frames = int(SECONDS * 100)
    pitch = np.full(frames, F0)
    speech = Speech(pitch, vocoder.envelope(wave, pitch), vocoder.noisiness(wave, pitch))
    copy = vocoder.synthesize(speech, len(wave), np.random.default_rng(0))
    middle = slice(2000, -2000)
    assert 0.5 < np.mean(copy[middle] ** 2) / np.mean(wave[middle] ** 2) < 2


def test_a_vowel_is_hardly_noisy_and_noise_is_and_unvoiced_is_all_noise() -> None:
    pitch = np.full(60, F0)
    noise = np.random.default_rng(0).uniform(-0.5, 0.5, int(SECONDS * RATE))
    assert np.median(vocoder.noisiness(vowel(), pitch), axis=0)[0] < 0.05
    assert np.median(vocoder.noisiness(noise, pitch)) > 0.4
    assert (vocoder.noisiness(noise, np.zeros(60)) == 1).all()


@pytest.mark.parametrize("wave", [np.zeros(3000), np.ones(1), np.full(500, 0.5)], ids=["silence", "one sample", "dc"])
def test_the_vocoder_survives_what_is_not_speech(wave: np.ndarray) -> None:
    frames = 1 + len(wave) // vocoder.HOP
    for f0 in (0.0, 200.0):
        pitch = np.full(frames, f0)
        speech = Speech(pitch, vocoder.envelope(wave, pitch), vocoder.noisiness(wave, pitch))
        out = vocoder.synthesize(speech, len(wave), np.random.default_rng(0))
        assert out.shape == wave.shape
        assert np.isfinite(out).all()


def test_a_change_moves_formants_pitch_and_tempo_by_its_factors() -> None:
    change = formant_f0.Change(formants=1.2, f0=1.5, f0_range=0.5, rate=1.25)
    speech = steady(F0)
    wavy = replace(speech, f0=F0 * np.exp(0.2 * np.sin(np.arange(len(speech.f0)) / 3)))
    changed = change.apply(wavy)
    assert abs(len(changed.f0) - len(wavy.f0) / 1.25) <= 1
    before, after = np.log(wavy.f0), np.log(changed.f0)
    assert after.mean() - before.mean() == pytest.approx(np.log(1.5), abs=0.02)
    assert after.std() / before.std() == pytest.approx(0.5, abs=0.05)
    assert peak_frequency(changed.envelope[20], 400, 1400) == pytest.approx(840, abs=70)


def test_no_change_leaves_the_parameters_as_they_are() -> None:
    speech = steady(F0)
    same = formant_f0.Change().apply(speech)
    np.testing.assert_allclose(same.f0, speech.f0)
    np.testing.assert_allclose(same.envelope, speech.envelope, atol=1e-9)


def test_drawn_changes_are_never_small() -> None:
    drawn = [formant_f0.draw_change(np.random.default_rng(seed)) for seed in range(50)]
    assert min(abs(np.log(change.formants)) for change in drawn) >= np.log(1.08) - 1e-9
    assert min(abs(np.log(change.f0)) for change in drawn) >= np.log(1.15) - 1e-9
    assert {change.f0 > 1 for change in drawn} == {True, False}


@pytest.mark.parametrize("factor", [0.85, 1.2])
def test_vtln_moves_the_formant_and_keeps_pitch_and_length(factor: float) -> None:
    wave = vowel()
    moved = vtln.stretch_envelope(wave, factor)
    assert moved.shape == wave.shape
    power = spectrum(moved)
    harmonics = np.rint(F0 * np.arange(1, 12) * 4096 / RATE).astype(int)
    between = np.rint(F0 * (np.arange(1, 12) + 0.5) * 4096 / RATE).astype(int)
    assert power[harmonics].min() > 10 * power[between].max()
    assert first_formant(power, F0) == pytest.approx(700 * factor, abs=F0)


def test_vtln_by_1_gives_the_input_back() -> None:
    np.testing.assert_allclose(vtln.stretch_envelope(vowel(), 1.0), vowel(), atol=1e-9)


@pytest.mark.parametrize("factor", [0.5, 0.9, 1.0, 1.3, 2.0])
def test_the_warp_is_monotone_and_maps_the_band_onto_itself(factor: float) -> None:
    places = vtln.warp_map(factor, 257)
    assert places[0] == 0
    assert places[-1] == 256
    assert (np.diff(places) > 0).all()


@pytest.mark.parametrize("samples", [1, 127, 128, 511, 513, 6400, 16001])
@pytest.mark.parametrize("factor", [0.85, 1.2])
def test_the_vocal_tract_is_changed_as_a_library_transform_would(samples, factor):
    wave = 0.3 * np.random.default_rng(samples).standard_normal(samples).astype(np.float32)
    wave[samples // 2 :] *= 1e-4
    np.testing.assert_allclose(vtln.stretch_envelope(wave, factor), stretched_by_scipy(wave, factor), atol=1e-12)
    assert not vtln.stretch_envelope(0 * wave, factor).any()
