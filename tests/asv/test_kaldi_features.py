import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.networks.kaldi.features import EnergyVad, Mfcc, sliding_mean_normalisation, speech

OPTIONS = "--dither=0\n--sample-frequency=16000\n--low-freq=20\n--high-freq=7600\n--num-mel-bins=30\n--num-ceps=30\n"

# MFCC less their mean over all 61 frames, as Kaldi's own code (inside the vosk library) computed them for `hand_made`.
KALDI = {
    0: "-0.087 10.437 80.841 84.091 28.812 4.294 27.901 14.626 -69.435 -97.57 -51.471 -13.272 3.328 -24.732 -34.289 "
    "-0.636 -16.331 -20.499 19.343 12.525 -9.401 -4.977 0.148 -0.551 1.218 5.755 -3.677 1.473 12.563 -7.938",
    31: "0.032 -0.514 -10.23 -29.676 -21.58 -14.168 9.722 72.596 86.917 24.496 -60.464 -69.678 15.725 41.464 12.558 "
    "23.241 10.772 -10.043 -0.012 -1.7 -1.501 3.017 0.327 -0.152 -1.429 -0.219 -5.219 2.002 11.17 -8.298",
    60: "0.025 -21.141 -46.163 -18.766 76.138 97.952 4.766 -62.246 -21.883 57.787 53.568 -13.12 -21.733 6.059 23.286 "
    "27.356 -1.44 -14.579 6.04 10.754 4.922 1.076 -1.098 0.312 -1.516 -2.567 -7.91 -3.212 11.345 5.287",
}


def hand_made():
    """A rising tone, a second one after 0.2 s, and a sawtooth: whole numbers, the same on every machine."""
    number = np.arange(10000)
    time = number / 16000
    wave = 3000 * np.sin(2 * np.pi * (200 * time + 900 * time**2))
    wave += 1000 * np.sin(2 * np.pi * 1700 * time) * (time > 0.2) + number * 7919 % 601 - 300
    return np.rint(wave) / 32768


def mfcc(tmp_path, options=OPTIONS):
    (tmp_path / "mfcc.conf").write_text(options)
    return Mfcc(tmp_path / "mfcc.conf")


def test_mfcc_are_those_that_kaldi_computed(tmp_path):
    features = mfcc(tmp_path)(hand_made())
    assert features.shape == (61, 30)
    for frame, values in KALDI.items():
        wanted = np.array(values.split(), float)
        assert features[frame] - features.mean(axis=0) == pytest.approx(wanted, abs=0.004)


def test_the_first_cepstrum_is_the_logarithm_of_the_energy(tmp_path):
    wave = hand_made()
    frame = wave[160:560] * 32768
    assert mfcc(tmp_path)(wave)[1, 0] == pytest.approx(np.log(((frame - frame.mean()) ** 2).sum()), abs=1e-4)


def test_snip_edges_and_frame_shift_say_how_many_frames_there_are(tmp_path):
    assert len(mfcc(tmp_path, OPTIONS + "--snip-edges=false\n")(hand_made())) == 63  # round(10000 / 160)
    assert len(mfcc(tmp_path, OPTIONS + "--frame-shift=20 # ms\n\n")(hand_made())) == 31


def test_dither_is_there_and_always_the_same(tmp_path):
    without, dithered = mfcc(tmp_path), mfcc(tmp_path, OPTIONS.replace("--dither=0", "--dither=1"))
    silence = np.zeros(4000)
    assert dithered(silence)[:, 0].mean() == pytest.approx(np.log(400), abs=0.3)
    assert (dithered(silence) == dithered(silence)).all()
    assert without(silence)[0, 0] < -10


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("--num-cepstra=3", "mfcc.conf:7: '--num-cepstra=3' is no known option"),
        ("num-ceps=3", "mfcc.conf:7: 'num-ceps=3' is no known option"),
        ("--num-ceps=many", "'many' is no int for --num-ceps"),
        ("--snip-edges=perhaps", "'perhaps' is no bool for --snip-edges"),
        ("--sample-frequency=8000", "features of 8000 Hz; the recipes are of 16000 Hz"),
        ("--num-ceps=31", "31 cepstra of 30 mel bins"),
    ],
)
def test_options_that_mean_nothing_are_refused(tmp_path, line, complaint):
    with pytest.raises(InputError, match=complaint):
        mfcc(tmp_path, f"{OPTIONS}{line}\n")


@settings(max_examples=40)
@given(st.integers(1, 40), st.integers(1, 12), st.integers(0, 99))
def test_sliding_means_are_those_of_the_window_around_shifted_inside(frames, window, seed):
    features = np.random.default_rng(seed).standard_normal((frames, 2)).astype(np.float32)
    found = sliding_mean_normalisation(features, window)
    for t in range(frames):
        first = t - window // 2
        last = first + window
        if first < 0:
            first, last = 0, window
        if last > frames:
            first, last = max(0, first - (last - frames)), frames
        assert found[t] == pytest.approx(features[t] - features[first:last].mean(axis=0, dtype=float), abs=1e-5)


@settings(max_examples=60)
@given(
    st.lists(st.floats(-5, 20, width=32), min_size=1, max_size=30),
    st.integers(0, 4),
    st.sampled_from([0.1, 0.12, 0.5, 0.6]),
    st.sampled_from([0.0, 0.5]),
)
def test_a_frame_is_speech_if_enough_of_its_neighbours_are_loud(energies, context, proportion, scale):
    vad = EnergyVad(5.5, scale, context, proportion)
    features = np.array(energies, np.float32)[:, None]
    threshold = 5.5 + scale * np.mean(features, dtype=float)
    wanted = []
    for t in range(len(energies)):
        around = [features[u, 0] for u in range(t - context, t + context + 1) if 0 <= u < len(energies)]
        wanted.append(sum(value > threshold for value in around) >= len(around) * proportion)
    assert vad(features).tolist() == wanted


def test_vad_by_hand():
    # mean 4, threshold 3 + 0.5 * 4 = 5: only frames 2 and 3 are loud, and frame 4 has one of them in three neighbours
    features = np.array([[1], [2], [9], [8], [0]], np.float32)
    assert EnergyVad(3.0, 0.5, 1, 0.4)(features).tolist() == [False, False, True, True, True]
    assert EnergyVad(3.0, 0.5, 1, 0.3)(features).tolist() == [False, True, True, True, True]


def test_an_utterance_without_speech_is_used_whole_with_a_warning(caplog):
    features = np.zeros((5, 2), np.float32)
    with caplog.at_level(logging.WARNING):
        assert speech(features, np.zeros(5, bool)) is features
    assert "no frame is louder than the threshold" in caplog.text
    assert len(speech(features, np.array([True, False, True, False, False]))) == 2


@pytest.mark.parametrize("line", ["--vad-proportion-threshold=1.5", "--vad-frames-context=-1", "--energy=3"])
def test_vad_options_that_mean_nothing_are_refused(tmp_path, line):
    (tmp_path / "vad.conf").write_text(line + "\n")
    with pytest.raises(InputError, match=r"vad\.conf"):
        EnergyVad.read(tmp_path / "vad.conf")
