"""The recipe of AudioMNIST on a corpus of the public layout whose recordings are tones."""

import json
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vpeval.audio.io import read_audio
from vpeval.data.directory import DataDir

SCRIPT = Path(__file__).parents[2] / "egs/audiomnist/corpus_to_data.py"
SPEAKERS = [f"{number:02d}" for number in range(1, 15)]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Seven women, seven men at 48 kHz; a recording of digit d lasts 10 + d milliseconds."""
    folder = tmp_path_factory.mktemp("audiomnist")
    meta = {spk: {"gender": "female" if spk <= "07" else "male", "age": 30} for spk in SPEAKERS}
    (folder / "audioMNIST_meta.txt").write_text(json.dumps({**meta, "60": {"gender": "male"}}))
    for spk in SPEAKERS:
        (folder / spk).mkdir()
        for digit in range(10):
            for repetition in range(18):
                wave = np.full(48 * (10 + digit), 0.1 * int(spk) / 14, np.float32)
                sf.write(folder / spk / f"{digit}_{spk}_{repetition}.wav", wave, 48000, subtype="PCM_16")
    return folder


@pytest.fixture
def convert(monkeypatch):
    def run(*arguments):
        monkeypatch.setattr(sys, "argv", [str(SCRIPT), *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            runpy.run_path(str(SCRIPT), run_name="__main__")
        return left.value.code

    return run


def test_strings_are_joined_and_speakers_divided(corpus, convert, tmp_path):
    assert convert("--train-strings", 3, corpus, tmp_path / "audio", tmp_path) == 0
    train, dev, test = (DataDir.load(tmp_path / f"audiomnist_{part}") for part in ("train", "dev", "test"))
    assert train.speakers == ["am01", "am05", "am08", "am12"]
    assert dev.speakers == ["am03", "am07", "am10", "am14"]
    assert test.speakers == ["am02", "am04", "am06", "am09", "am11", "am13"]
    assert list(test.spk2gender.values()) == ["f", "f", "f", "m", "m", "m"]
    assert (len(train.utts), len(dev.utts), len(test.utts)) == (4 * 3, 4 * 36, 6 * 36)
    assert sorted(set(test.table("utt2session").values())) == list("012345")

    digits = [
        ["ZERO", "ONE", "TWO", "THREE", "FOUR", "FIVE", "SIX", "SEVEN", "EIGHT", "NINE"].index(word)
        for word in test.text["am02-000"].split()
    ]
    wave = read_audio(test.wav["am02-000"])
    assert len(wave) == 16 * sum(10 + digit for digit in digits)
    said = " ".join(test.text[utt] for utt in test.utts if utt.startswith("am02"))
    assert all(said.split().count(word) == 18 for word in ("ZERO", "NINE"))


def test_an_incomplete_corpus_is_named(corpus, convert, tmp_path, capsys):
    assert convert(corpus / "01", tmp_path / "audio", tmp_path) == 1
    assert "audioMNIST_meta.txt: is missing; <corpus-dir> is the directory that holds it" in capsys.readouterr().err
    (corpus / "08/9_08_17.wav").rename(tmp_path / "moved.wav")
    assert convert(corpus, tmp_path / "audio", tmp_path) == 1
    (tmp_path / "moved.wav").rename(corpus / "08/9_08_17.wav")
    assert "08: no recording 9_08_17; is the corpus complete?" in capsys.readouterr().err


def test_too_few_speakers_of_a_gender_are_told(corpus, convert, tmp_path, capsys):
    (corpus / "07").rename(tmp_path / "07")
    assert convert(corpus, tmp_path / "audio", tmp_path) == 1
    (tmp_path / "07").rename(corpus / "07")
    assert "has recordings of 6 female speakers; at least 7 are needed" in capsys.readouterr().err
