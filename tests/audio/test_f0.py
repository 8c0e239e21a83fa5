"""The F0 tracker against tones of known frequency and against librosa's pYIN."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.audio.f0 import track_f0
from vpeval.audio.io import RATE

SECONDS = np.arange(RATE) / RATE


def voice(f0, harmonics=12):
    """A buzz with falling harmonics whose F0 is a number or a contour."""
    phase = 2 * np.pi * np.cumsum(np.broadcast_to(f0, RATE)) / RATE
    return (0.1 * sum(np.sin(k * phase) / k for k in range(1, harmonics + 1))).astype(np.float32)


@pytest.mark.parametrize("f0", [80.0, 110.3, 200.7, 333.0, 480.0])
def test_a_steady_voice_has_its_frequency_everywhere(f0):
    track = track_f0(voice(f0))
    assert np.abs(1200 * np.log2(track / f0)).max() < 2


def test_a_glide_is_followed():
    f0 = 120 * 2**SECONDS
    track = track_f0(voice(f0))
    times = 0.02 + (0.96 - 0.01 * (len(track) - 1)) / 2 + 0.01 * np.arange(len(track))
    expected = np.interp(times, SECONDS, f0)
    assert np.abs(track / expected - 1).max() < 0.01


def test_a_missing_fundamental_is_heard():
    phase = 2 * np.pi * 150 * SECONDS
    wave = 0.1 * sum(np.sin(k * phase) for k in range(3, 9))
    assert np.median(track_f0(wave.astype(np.float32))) == pytest.approx(150, rel=0.001)


@pytest.mark.parametrize("f0", [60.0, 700.0])
def test_frequencies_outside_the_range_are_not_reported(f0):
    track = track_f0(voice(f0, harmonics=1))
    assert ((track == 0) | ((track >= 74) & (track < 500))).all()


def test_noise_and_silence_are_unvoiced():
    noise = np.random.default_rng(0).normal(0, 0.1, RATE).astype(np.float32)
    assert (track_f0(noise) > 0).mean() < 0.15
    assert not track_f0(np.zeros(RATE, np.float32)).any()


def test_the_quiet_half_of_a_voice_is_unvoiced():
    wave = voice(150)
    wave[: RATE // 2] *= 0.001
    track = track_f0(wave)
    assert not track[: len(track) // 2 - 4].any()
    assert track[len(track) // 2 + 4 :].all()


@settings(max_examples=25)
@given(st.integers(0, 9999), st.integers(0, 6000), st.floats(-6, 0), st.floats(20, 1200))
def test_any_wave_has_a_track_within_the_range(seed, length, loudness, f0):
    rng = np.random.default_rng(seed)
    wave = 10**loudness * (np.sin(2 * np.pi * f0 * SECONDS[:length]) + rng.normal(0, 0.3, length))
    track = track_f0(wave.astype(np.float32))
    assert ((track == 0) | ((track > 70) & (track < 500))).all()


def test_frames_come_every_ten_milliseconds():
    assert len(track_f0(voice(150))) == 97
    assert len(track_f0(voice(150)[:640])) == 1
    assert len(track_f0(voice(150)[:639])) == 0
    assert len(track_f0(np.zeros(0, np.float32))) == 0


@pytest.mark.e2e
def test_pyin_hears_the_same_in_a_voice_with_pauses():
    librosa = pytest.importorskip("librosa")
    f0 = 180 + 50 * np.sin(2 * np.pi * 1.5 * SECONDS)
    wave = voice(f0) * (np.sin(2 * np.pi * 2 * SECONDS) > -0.5)
    wave += np.random.default_rng(0).normal(0, 1e-4, RATE).astype(np.float32)
    ours = track_f0(wave)
    theirs, _, _ = librosa.pyin(wave, fmin=75, fmax=500, sr=RATE, frame_length=1024, hop_length=160)
    start = round((0.02 + (0.96 - 0.01 * (len(ours) - 1)) / 2) * 100)
    theirs = theirs[start : start + len(ours)]
    both = (ours > 0) & np.isfinite(theirs)
    assert both.mean() > 0.5
    assert np.median(np.abs(1200 * np.log2(ours[both] / theirs[both]))) < 15
