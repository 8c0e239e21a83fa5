import json

import numpy as np
import pytest
from in_process import call

from vpeval.audio.io import RATE, write_wave


def voice(start, end):
    f0 = np.linspace(start, end, RATE)
    phase = 2 * np.pi * np.cumsum(f0) / RATE
    wave = 0.1 * sum(np.sin(k * phase) / k for k in range(1, 10))
    wave[: RATE // 5] = wave[-RATE // 5 :] = 0
    return wave


def write_data(path, waves):
    path.mkdir()
    for utt, wave in waves.items():
        write_wave(path / f"{utt}.wav", wave)
    (path / "wav.scp").write_text("".join(f"{utt} {path}/{utt}.wav\n" for utt in waves))
    (path / "utt2spk").write_text("".join(f"{utt} {utt[0]}\n" for utt in waves))


@pytest.fixture
def score(tmp_path):
    """Run the script on two speakers whose pitch was moved and, for the second, turned round."""
    write_data(tmp_path / "dev", {"a-1": voice(120, 180), "b-1": voice(150, 250)})
    write_data(tmp_path / "dev_anon", {"a-1": voice(180, 270), "b-1": voice(250, 150)})

    def run(*arguments):
        return call("score_pitch.py", *arguments, cwd=tmp_path)

    return run


def test_both_estimates_are_written_with_deviation_and_interval(score, tmp_path):
    done = score("--tag", "set=toy_dev_trials_f", "dev", "dev_anon", "out/pitch.jsonl")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("toy_dev_trials_f  Pitch_correlation: mean=0.")
    vpc, voiced = (json.loads(line) for line in (tmp_path / "out/pitch.jsonl").read_text().splitlines())
    assert (vpc["metric"], vpc["params"]["mode"], voiced["params"]["mode"]) == ("pitch_correlation", "vpc", "voiced")
    assert vpc["counts"] == {"utts": 2, "speakers": 2}
    assert (voiced["lower"], voiced["upper"]) == (None, None)
    assert "2 speakers" in voiced["notes"]["no_interval"]
    # One utterance keeps its melody, the other turns it round.
    assert voiced["value"] + voiced["notes"]["std"] == pytest.approx(1, abs=0.01)


def test_silence_has_a_correlation_of_zero_and_no_voiced_one(score, tmp_path, caplog):
    for name in ("a-1", "b-1"):
        write_wave(tmp_path / f"dev_anon/{name}.wav", np.zeros(16000))
    assert score("dev", "dev_anon", "pitch.jsonl").returncode == 0
    (vpc,) = (json.loads(line) for line in (tmp_path / "pitch.jsonl").read_text().splitlines())
    assert (vpc["params"]["mode"], vpc["value"]) == ("vpc", 0)
    assert "is this speech?" in caplog.text


def test_other_lengths_are_stretched_with_a_word(score, tmp_path, caplog):
    write_wave(tmp_path / "dev_anon/a-1.wav", voice(180, 270)[::2])
    done = score("dev", "dev_anon", "pitch.jsonl")
    assert done.returncode == 0
    assert "1 utterances differ in length by more than 25 ms (a-1)" in caplog.text


def test_another_set_is_one_message_and_no_file(score, tmp_path):
    write_data(tmp_path / "other", {"c-1": voice(120, 180)})
    done = score("dev", "other", "pitch.jsonl")
    assert done.returncode == 1
    assert "other/utt2spk: has not the utterances of dev" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "pitch.jsonl").exists()
