"""Emotions by loudness: a classifier directory with an interface of its own, another one for each fold."""

import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from vpeval.audio.io import write_wave
from vpeval.records.record import read_records

ROOT = Path(__file__).parents[2]
HYPERPARAMS = """\
modules:
  ear: !new:torch.nn.Identity
pretrainer: !new:speechbrain.utils.parameter_transfer.Pretrainer
"""
INTERFACE = """\
from speechbrain.inference.interfaces import Pretrained

class Loudness(Pretrained):
    MODULES_NEEDED = ["ear"]

    def classify_batch(self, wavs, wav_lens=None):
        return None, None, None, ["{loud}" if self.mods.ear(wavs).abs().mean() > 0.1 else "{quiet}"]
"""

pytestmark = pytest.mark.e2e


def run(*line):
    return subprocess.run(list(map(str, line)), cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ)


def test_every_speaker_is_judged_by_the_classifier_of_the_fold_and_the_predictions_can_be_scored(tmp_path):
    for fold, (loud, quiet) in {"1": ("ang", "sad"), "2": ("hap", "neu")}.items():
        directory = tmp_path / f"models/fold_{fold}"
        directory.mkdir(parents=True)
        (directory / "hyperparams.yaml").write_text(HYPERPARAMS)
        (directory / "custom_interface.py").write_text(INTERFACE.format(loud=loud, quiet=quiet))
    data = tmp_path / "IEMOCAP_dev"
    data.mkdir()
    loudness = {"a-1": 0.3, "a-2": 0.01, "b-1": 0.3, "b-2": 0.01}
    for utt, scale in loudness.items():
        write_wave(tmp_path / f"{utt}.wav", scale * np.random.default_rng(0).normal(size=8000))
    (data / "wav.scp").write_text("".join(f"{utt} {tmp_path}/{utt}.wav\n" for utt in loudness))
    (data / "utt2spk").write_text("".join(f"{utt} {utt[0]}\n" for utt in loudness))
    (data / "spk2fold").write_text("a 1\nb 2\n")
    (data / "utt2emo").write_text("a-1 ang\na-2 sad\nb-1 hap\nb-2 hap\n")

    line = (
        "steps/predict_emotions.py",
        "--nj",
        1,
        "--interface",
        "Loudness",
        tmp_path / "models",
        tmp_path / "out",
        data,
    )
    done = run(*line)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "out/IEMOCAP_dev/predictions").read_text() == "a-1 ang\na-2 sad\nb-1 hap\nb-2 neu\n"
    assert "1 sets of emotions up to date, skipped" in run(*line).stderr

    done = run("local/score_uar.py", data, tmp_path / "out/IEMOCAP_dev/predictions", tmp_path / "uar.jsonl")
    # Fold 2: half of hap, and neu, which was predicted but never meant, counts as 0.
    assert done.returncode == 0 and read_records(tmp_path / "uar.jsonl")[0].value == 62.5


def test_a_missing_fold_is_one_message(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    write_wave(tmp_path / "a.wav", 0.1 * np.ones(8000))
    (data / "wav.scp").write_text(f"a-1 {tmp_path}/a.wav\n")
    (data / "utt2spk").write_text("a-1 a\n")
    (data / "spk2fold").write_text("a 7\n")
    (tmp_path / "models").mkdir()
    done = run("steps/predict_emotions.py", tmp_path / "models", tmp_path / "out", data)
    assert done.returncode == 1
    assert "models/fold_7: no hyperparams.yaml" in done.stdout + done.stderr
