import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.audio.f0 import CEILING, FLOOR
from vpeval.metrics.intervals import utterance_mean
from vpeval.metrics.pitch import FEWEST, correlate_pitch


def contour(seed=0, length=120):
    """A track with voiced and unvoiced stretches."""
    rng = np.random.default_rng(seed)
    f0 = 150 + 40 * np.sin(np.arange(length) / 9 + rng.uniform(0, 6)) + rng.normal(0, 3, length)
    f0[rng.integers(0, length, 4)[:, None] + np.arange(8) - 8] = 0
    f0[[*range(12), *range(-12, 0)]] = 0
    return f0


def test_equal_tracks_correlate_fully():
    result = correlate_pitch(contour(), contour())
    assert (result.vpc, result.voiced, result.lag) == (pytest.approx(1), pytest.approx(1), 0)


def test_a_delay_is_found_and_undone():
    result = correlate_pitch(contour(), np.roll(contour(), 5))
    assert (result.vpc, result.voiced, result.lag) == (pytest.approx(1), pytest.approx(1), -5)


def test_a_scaled_contour_keeps_the_voiced_correlation_but_not_that_over_all_frames():
    track = contour()
    flatter = np.where(track > 0, 300 + 0.1 * (track - 150), 0)
    result = correlate_pitch(track, flatter)
    assert result.voiced == pytest.approx(1)
    assert result.vpc < 0.99


def test_both_estimates_are_what_pearson_gives_on_the_chosen_frames():
    a, b = contour(1), contour(2)
    result = correlate_pitch(a, b)
    moved = np.roll(b, result.lag)
    assert result.vpc == pytest.approx(np.corrcoef(a, moved)[0, 1])
    both = (a > 0) & (moved > 0)
    assert result.voiced == pytest.approx(np.corrcoef(a[both], moved[both])[0, 1])


def test_the_shorter_track_is_stretched():
    track = contour(length=121)
    assert correlate_pitch(track, track[::2]).vpc > 0.8
    assert correlate_pitch(track[::2], track).vpc > 0.8


@pytest.mark.parametrize("other", [np.zeros(120), np.full(120, 100.0), np.zeros(0), np.zeros(1)])
def test_a_track_without_variation_counts_as_zero(other):
    assert correlate_pitch(contour(), other).vpc == 0
    assert correlate_pitch(other, contour()).voiced is None


def test_few_frames_that_are_voiced_in_both_have_no_voiced_estimate():
    track = np.zeros(60)
    track[20 : 20 + FEWEST - 1] = np.arange(100, 100 + FEWEST - 1)
    assert correlate_pitch(track, track).voiced is None


@settings(max_examples=30)
@given(st.integers(0, 999), st.integers(0, 999), st.integers(40, 150), st.integers(40, 150))
def test_correlations_lie_between_minus_one_and_one(one, other, length, other_length):
    result = correlate_pitch(contour(one, length), contour(other, other_length))
    assert -1 <= result.vpc <= 1
    assert result.voiced is None or -1 <= result.voiced <= 1


def test_a_mean_over_utterances_weighs_utterances_and_draws_speakers():
    utt2spk = {"a-1": "a", "a-2": "a", "a-3": "a", "b-1": "b"}
    mean = utterance_mean({"a-1": 0.0, "a-2": 0.0, "a-3": 0.0, "b-1": 1.0}, utt2spk)
    assert (mean.mean, mean.std, mean.utts, mean.speakers) == (0.25, pytest.approx(np.sqrt(3) / 4), 4, 2)
    assert "2 speakers" in mean.interval.notes["no_interval"]


def test_the_interval_of_speakers_is_that_of_student():
    values = {f"s{i}-1": float(x) for i, x in enumerate([0.2, 0.4, 0.5, 0.9, 0.4, 0.7])}
    found = utterance_mean(values, {utt: utt[:2] for utt in values}, resamples=20_000).interval
    error = np.std(list(values.values()), ddof=1) / np.sqrt(6)
    reach = 2.570582 * error  # Student's t, five degrees of freedom
    mean = np.mean(list(values.values()))
    assert (found.lower, found.upper) == pytest.approx((mean - reach, mean + reach), abs=0.01)


def test_one_speaker_has_no_interval():
    assert utterance_mean({"a-1": 1.0}, {"a-1": "a"}).interval.lower is None
    assert utterance_mean({"a-1": 1.0, "b-1": 2.0}, {"a-1": "a", "b-1": "b"}, resamples=0).interval.notes == {}


def test_frames_outside_the_range_of_voices_count_as_unvoiced():
    track = contour()
    noisy = np.where(track == 0, np.where(np.arange(120) % 2, FLOOR - 1, CEILING + 1), track)
    assert correlate_pitch(track, noisy) == correlate_pitch(track, track)
    assert correlate_pitch(noisy, track) == correlate_pitch(track, track)


def test_frames_at_the_ends_of_the_range_of_voices_are_voiced():
    track = np.zeros(60)
    track[10:25] = np.linspace(FLOOR, CEILING, 15)
    assert correlate_pitch(track, track).voiced == pytest.approx(1)
    assert correlate_pitch(track[10:25], track[10:25]).voiced == pytest.approx(1)


def test_as_many_voiced_frames_as_are_needed_have_a_voiced_estimate():
    track = np.zeros(60)
    track[20 : 20 + FEWEST] = np.arange(100, 100 + FEWEST)
    assert correlate_pitch(track, track).voiced == pytest.approx(1)


def test_a_track_is_stretched_by_straight_lines_from_its_first_to_its_last_frame():
    short = np.array([100.0, 120.0, 160.0, 150.0])
    long = np.array([100.0, 110.0, 120.0, 140.0, 160.0, 155.0, 150.0])
    found = correlate_pitch(long, short)
    assert (found.vpc, found.lag) == (pytest.approx(1), 0)
