"""Digits spoken by 40 people, as strings, with a recogniser that knows nothing but digits.

VPEVAL_AUDIOMNIST names the folder of AudioMNIST (<spk>/<digit>_<spk>_<rep>.flac at 16 kHz); without it nothing is run.
"""

import os
from pathlib import Path

import numpy as np
import pytest

from vpeval.asr.recognizers import load_recognizer
from vpeval.audio.io import read_audio
from vpeval.core.seeds import generator
from vpeval.data.text import vpc2020
from vpeval.metrics.wer import ErrorCounts, score_texts

CONF = Path(__file__).parents[2] / "conf/asr/vosk_digits.yaml"
NAMES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
LENGTH = 6

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif("VPEVAL_AUDIOMNIST" not in os.environ, reason="VPEVAL_AUDIOMNIST is not set"),
]


def digit_string(folder):
    rng = generator("digits", folder.name)
    digits = rng.permutation(10)[:LENGTH]
    names = [folder / f"{digit}_{folder.name}_{rng.integers(20)}.flac" for digit in digits]
    return " ".join(NAMES[digit] for digit in digits), np.concatenate([read_audio(str(name)) for name in names])


def test_less_than_a_tenth_of_the_digits_are_misheard():
    pytest.importorskip("vosk")
    recognizer = load_recognizer(CONF)
    folders = sorted(path for path in Path(os.environ["VPEVAL_AUDIOMNIST"]).iterdir() if path.is_dir())
    strings = {folder.name: digit_string(folder) for folder in folders}
    score = score_texts(
        {spk: words for spk, (words, _) in strings.items()},
        {spk: recognizer.transcribe(wave) for spk, (_, wave) in strings.items()},
        vpc2020,
    )
    assert ErrorCounts.from_counts(score.words).rate < 10
