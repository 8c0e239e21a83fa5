import json
import sys

import numpy as np
import pytest
from in_process import call

from vpeval.audio.io import write_wave


@pytest.fixture
def score(tmp_path, monkeypatch):
    """Run the script on noise with a rhythm; packages can be hidden from it."""
    rng = np.random.default_rng(0)
    rhythm = 1 + np.sin(2 * np.pi * 4 * np.arange(16000) / 16000)
    for name in ("dev", "dev_anon"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "wav.scp").write_text(f"a-1 {name}/a-1.wav\nb-1 {name}/b-1.wav\n")
        (tmp_path / name / "utt2spk").write_text("a-1 a\nb-1 b\n")
    for utt in ("a-1", "b-1"):
        wave = 0.1 * rng.normal(size=16000) * rhythm
        write_wave(tmp_path / f"dev/{utt}.wav", wave)
        write_wave(tmp_path / f"dev_anon/{utt}.wav", wave + 0.03 * rng.normal(size=16000))

    def run(*arguments, hidden=()):
        for package in hidden:
            monkeypatch.setitem(sys.modules, package, None)
            monkeypatch.delitem(sys.modules, f"{package}.dnsmos", raising=False)
        return call("score_quality.py", *arguments, cwd=tmp_path)

    return run


def read(path):
    return {row["metric"]: row for row in map(json.loads, path.read_text().splitlines())}


def test_missing_packages_leave_out_their_measures_with_a_notice(score, tmp_path, caplog):
    done = score("--original", "dev", "dev_anon", "quality.jsonl", hidden=["speechmos", "pystoi"])
    assert done.returncode == 0
    assert "left out: DNSMOS needs the package 'speechmos'" in caplog.text
    assert "left out: STOI needs the package 'pystoi'" in caplog.text
    assert done.stdout == "no measure of quality is available\n"
    assert read(tmp_path / "quality.jsonl") == {}


def test_intelligibility_is_compared_with_the_original(score, tmp_path):
    pytest.importorskip("pystoi")
    done = score("--original", "dev", "dev_anon", "quality.jsonl", hidden=["speechmos"])
    assert done.returncode == 0, done.stderr
    records = read(tmp_path / "quality.jsonl")
    assert records.keys() == {"stoi", "estoi"}
    assert 0.5 < records["stoi"]["value"] < 1
    assert "2 speakers" in records["stoi"]["notes"]["no_interval"]
    assert records["stoi"]["counts"] == {"utts": 2, "speakers": 2}


def test_other_timing_has_no_intelligibility_and_that_is_said(score, tmp_path, caplog):
    pytest.importorskip("pystoi")
    write_wave(tmp_path / "dev_anon/a-1.wav", np.random.default_rng(0).normal(0, 0.1, 12000))
    score("--original", "dev", "dev_anon", "quality.jsonl", hidden=["speechmos"])
    assert "STOI is not defined for 1 of 2 utterances" in caplog.text
    assert read(tmp_path / "quality.jsonl")["stoi"]["counts"]["utts"] == 1


@pytest.mark.e2e
def test_the_four_opinion_scores_lie_between_one_and_five(score, tmp_path):
    pytest.importorskip("speechmos")
    done = score("--limit", "1", "dev", "quality.jsonl")
    assert done.returncode == 0, done.stderr
    assert read(tmp_path / "quality.jsonl").keys() == {"dnsmos_sig", "dnsmos_bak", "dnsmos_ovrl", "dnsmos_p808"}
    assert all(1 <= record["value"] <= 5 for record in read(tmp_path / "quality.jsonl").values())
