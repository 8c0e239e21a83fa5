import numpy as np
import pytest

from vpeval.audio.f0_histogram import LAGS, f0_histogram
from vpeval.audio.pyin import F0_MAX, F0_MIN, track_pyin
from vpeval.core.errors import InputError


def test_the_f0_range_has_the_107_lags_of_the_paper():
    assert (len(LAGS), LAGS[0], LAGS[-1]) == (107, 17, 123)
    seen = {int(np.flatnonzero(f0_histogram(np.array([f0])))[0]) for f0 in np.linspace(F0_MIN, F0_MAX, 20000)}
    assert seen == set(range(107))


def test_the_histogram_of_voiced_frames_sums_to_one():
    histogram = f0_histogram(np.array([np.nan, 65.0, 450.0, 450.0, np.nan, 100.0]))
    assert histogram[[106, 0, 80 - 17]].tolist() == [0.25, 0.5, 0.25]
    assert histogram.sum() == 1


def test_an_utterance_without_voice_has_no_histogram():
    assert f0_histogram(np.full(5, np.nan)) is None


def test_a_missing_tracker_is_a_clear_error(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "librosa", None)
    with pytest.raises(InputError, match="librosa"):
        track_pyin(np.zeros(16000, np.float32))


def test_a_steady_voice_is_tracked_at_its_frequency():
    pytest.importorskip("librosa")
    time = np.arange(16000) / 16000
    wave = sum(np.sin(2 * np.pi * 150 * k * time) / k for k in range(1, 9)).astype(np.float32) / 4
    f0 = track_pyin(wave)
    assert np.nanmedian(f0) == pytest.approx(150, rel=0.01)
    assert np.isfinite(f0).mean() > 0.9
