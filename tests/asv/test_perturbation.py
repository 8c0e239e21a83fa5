"""Perturbed voices: what must change does, and what must stay does."""

import numpy as np
import pytest

from vpeval.asv.perturbation import Perturbation, equalise, shift_pitch
from vpeval.asv.training import Profile, _Batches, _Speech, read_corpus
from vpeval.audio.f0 import track_f0
from vpeval.audio.io import RATE
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator

STRONG = Perturbation(formants=1.3, f0=1.6, equaliser=10.0)
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
    heard = [STRONG(wave, np.random.default_rng(seed)) for seed in range(6)]
    pitches = [np.median(track[track > 0]) for track in map(track_f0, heard)]
    assert len(set(np.round(pitches))) == 6 and max(pitches) / min(pitches) > 1.3
    assert all(150 / 1.62 < pitch < 150 * 1.62 for pitch in pitches)
    assert len({round(centroid(one)) for one in heard}) == 6
    for one in heard:
        assert one.shape == wave.shape and one.dtype == np.float32
        assert np.sqrt(np.mean(one**2)) == pytest.approx(np.sqrt(np.mean(wave**2)), rel=1e-3)


def test_silence_stays_silence():
    assert not STRONG(np.zeros(RATE, np.float32), np.random.default_rng(0)).any()


def test_utterances_are_drawn_anew_in_every_epoch_and_alike_in_every_validation(buzzers):
    corpus = read_corpus([buzzers])
    profile = Profile(3, 10, 0.3, 0.2, 30.0, "adam", 0.01, 1e-4, 0.0, 3, 0.2, False, (), 0, STRONG)
    batches = _Batches(len(corpus.wavs), 4, seed=0)
    training, validation = _Speech(corpus, profile, 0, batches), _Speech(corpus, profile, 0, None)
    epochs = []
    for batches.epoch in (1, 2, 1):
        epochs.append(training[0][0].numpy())
    assert (epochs[0] == epochs[2]).all() and not np.allclose(epochs[0], epochs[1])
    assert (validation[0][0] == validation[0][0]).all()
    plain = _Speech(corpus, Profile(**{**vars(profile), "perturb": None}), 0, None)[0][0].numpy()
    expected = STRONG(plain, generator(0, "perturb", "validation", corpus.wavs[0]))
    assert (validation[0][0].numpy() == expected).all()


@pytest.mark.parametrize(
    ("section", "complaint"),
    [
        ("{formants: 3.0, f0: 1.5, equaliser: 10}", "from 1 .* to 2"),
        ("{formants: 1.2, f0: 0.5, equaliser: 10}", "from 1 .* to 2"),
        ("{formants: 1.2, f0: 1.5, equaliser: -1}", "from 0 .* to 40 dB"),
        ("{formants: 1.2, f0: 1.5}", "'perturb.equaliser' is missing"),
        ("{formants: 1.2, f0: 1.5, equaliser: 10, noise: 1}", "unknown key 'perturb.noise'"),
        ("strong", "'perturb' must be of type dict"),
    ],
)
def test_a_profile_says_what_is_wrong_with_its_perturbation(tmp_path, section, complaint):
    from profiles import PROFILE

    path = tmp_path / "x.yaml"
    path.write_text(PROFILE.format(epochs=1, augment="false") + f"perturb: {section}\n")
    with pytest.raises(InputError, match=complaint):
        Profile.read(path)
