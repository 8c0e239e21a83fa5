"""Histograms of pitch lags: their grid, tones of known period, and librosa's pYIN as a second opinion."""

import numpy as np
import pytest

from vpeval.audio.f0 import track_pyin
from vpeval.audio.io import RATE
from vpeval.audio.pitch_lags import LAG_RATE, LAGS, track_lags
from vpeval.core.errors import InputError


def tone(f0, seconds=0.5, harmonics=8):
    """A buzz with falling harmonics; `f0` is a number or a contour."""
    phase = 2 * np.pi * np.cumsum(np.broadcast_to(f0, int(seconds * RATE))) / RATE
    return (0.1 * sum(np.sin(k * phase) / k for k in range(1, harmonics + 1))).astype(np.float32)


def test_the_f0_range_has_the_107_lags_of_the_paper():
    assert (len(LAGS), LAGS[0], LAGS[-1]) == (107, 17, 123)
    assert {int(LAG_RATE / f0) for f0 in np.linspace(65, 450, 20000)} == set(LAGS.tolist())


@pytest.mark.parametrize("f0", [65.5, 70, 100, 125, 163, 237, 320, 400, 449])
def test_a_steady_tone_has_its_lag_in_every_frame(f0):
    lags = track_lags(tone(f0))
    assert len(lags) == 51
    inner = lags[4:-4]
    assert (inner == inner[0]).all()
    assert inner[0] <= LAG_RATE / f0 + 0.25 and inner[0] > LAG_RATE / f0 - 0.75


def test_a_glide_passes_through_all_lags_between_its_ends():
    period = np.linspace(40, 80, RATE)
    lags = track_lags(tone(LAG_RATE / period, 1.0))
    assert set(range(42, 79)) <= set(lags[lags > 0].tolist()) <= set(range(39, 82))
    assert (np.diff(lags[lags > 0]) >= 0).all()


def test_silence_noise_and_tones_out_of_range_are_unvoiced():
    noise = np.random.default_rng(0).normal(0, 0.1, RATE)
    assert not track_lags(np.zeros(RATE, np.float32)).any()
    assert (track_lags(noise) > 0).mean() < 0.05
    for length in (0, 1, 159, 160, 1000):
        lags = track_lags(np.zeros(length, np.float32))
        assert len(lags) == 1 + length // 160 and not lags.any()


@pytest.mark.parametrize("loudness", [1e-4, 1.0, 1e4])
def test_lags_do_not_depend_on_loudness(loudness):
    wave = tone(150)
    assert track_lags(loudness * wave).tolist() == track_lags(wave).tolist()


def test_long_speech_is_tracked_as_its_parts_are():
    contour = 150 + 40 * np.sin(np.arange(12 * RATE) / RATE * 5)
    wave = tone(contour, 12.0)
    lags, part = track_lags(wave), track_lags(wave[: 6 * RATE])
    assert lags[20:580].tolist() == part[20:580].tolist()


def test_a_missing_tracker_is_a_clear_error(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "librosa", None)
    with pytest.raises(InputError, match="librosa"):
        track_pyin(np.zeros(16000, np.float32))


def test_librosa_hears_the_same_in_a_voice_with_pauses():
    pytest.importorskip("librosa")
    time = np.arange(2 * RATE) / RATE
    wave = tone(180 + 50 * np.sin(2 * np.pi * 1.5 * time), 2.0) * (np.sin(2 * np.pi * 2 * time) > -0.5)
    wave += np.random.default_rng(0).normal(0, 1e-3, len(wave)).astype(np.float32)
    lags, f0 = track_lags(wave), track_pyin(wave)
    assert len(lags) == len(f0)
    assert ((lags > 0) == np.isfinite(f0)).mean() > 0.9
    both = (lags > 0) & np.isfinite(f0)
    assert np.abs(lags[both] + 0.25 - LAG_RATE / f0[both]).max() < 1.5


def test_a_steady_voice_is_tracked_at_its_frequency_by_librosa():
    pytest.importorskip("librosa")
    f0 = track_pyin(tone(150, 1.0))
    assert np.nanmedian(f0) == pytest.approx(150, rel=0.01)
    assert np.isfinite(f0).mean() > 0.9
