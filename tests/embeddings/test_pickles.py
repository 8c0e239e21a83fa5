"""Pickles of somebody else: arrays and containers are read, and nothing else is called."""

import collections
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from vpeval.core.errors import InputError
from vpeval.embeddings.pickles import read_pickle, read_scores, read_vectors
from vpeval.embeddings.speaker_vectors import read_embeddings
from vpeval.measures.base import read_speaker_values

ROOT = Path(__file__).parents[2]


def dump(path, content, protocol=pickle.DEFAULT_PROTOCOL):
    path.write_bytes(pickle.dumps(content, protocol))
    return path


def convert(*arguments):
    words = [sys.executable, str(ROOT / "utils/convert_pickle.py"), *map(str, arguments)]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_and_containers_of_every_protocol_are_read(tmp_path, protocol):
    content = {
        "a": [np.arange(3, dtype=np.float32), np.ones((1, 3))],
        "b": collections.OrderedDict(x=np.float64(0.5), y=(1, "z", None, True)),
        "c": np.arange(6, dtype=np.int16).reshape(2, 3)[:, ::-1],
    }
    found = read_pickle(dump(tmp_path / "x.pkl", content, protocol))
    assert found["a"][0].tolist() == [0, 1, 2] and found["a"][1].shape == (1, 3)
    assert found["b"] == content["b"] and found["c"].tolist() == [[2, 1, 0], [5, 4, 3]]


class Evil:
    def __init__(self, *call):
        self.call = call

    def __reduce__(self):
        return self.call[0], self.call[1:]


@pytest.mark.parametrize(
    ("call", "named"),
    [
        ((os.system, "touch pwned"), "posix.system"),
        ((eval, "open('pwned', 'w')"), "builtins.eval"),
        ((getattr, 1, "real"), "builtins.getattr"),
        ((np.load, "x.npy"), "numpy.*load"),
        ((collections.Counter, "aab"), "collections.Counter"),
        ((subprocess.Popen, "true"), "subprocess.Popen"),
    ],
)
def test_a_pickle_that_calls_anything_else_is_refused_before_it_does(tmp_path, monkeypatch, call, named):
    monkeypatch.chdir(tmp_path)
    for content in (Evil(*call), {"a": [np.ones(3), Evil(*call)]}):
        with pytest.raises(InputError, match=rf"x.pkl: asks for {named}; only numpy arrays"):
            read_pickle(dump(tmp_path / "x.pkl", content))
    assert not Path("pwned").exists()


@pytest.mark.parametrize("content", [b"", b"garbage", pickle.dumps({"a": 1})[:-3], b"\x80\x05cnumpy\nndarray\n."[:9]])
def test_half_a_pickle_is_one_line(tmp_path, content):
    (tmp_path / "x.pkl").write_bytes(content)
    with pytest.raises(InputError, match=r"x\.pkl: "):
        read_pickle(tmp_path / "x.pkl")


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        ([1], "must hold a dictionary"),
        ({}, "must hold a dictionary"),
        ({"a": "text"}, "'a' has neither"),
        ({"a": np.array([object()])}, "asks for builtins.object|'a' has neither"),
        ({"a": [[1.0], [1.0, 2.0]]}, "'a' has neither"),
        ({"a": [1.0, 2.0], "b": [1.0]}, "different dimensions: 1, 2"),
        ({"a": [1.0, float("nan")]}, "not finite"),
        ({"a b": [1.0]}, "cannot be the name"),
    ],
)
def test_what_are_no_vectors_is_named(tmp_path, content, complaint):
    path = dump(tmp_path / "x.pkl", content)
    with pytest.raises(InputError, match=complaint):
        read_vectors(read_pickle(path), path)


@pytest.mark.parametrize(
    "content", [{"a": {1: [0.5]}}, {"a": {20: [1.5]}}, {"a": {20: []}}, {"a": {20: "x"}}, {"a": 1}]
)
def test_what_are_no_scores_is_named(tmp_path, content):
    with pytest.raises(InputError, match="'a'"):
        read_scores(content, tmp_path / "x.pkl")


def test_embeddings_of_speakers_and_of_utterances_become_directories(tmp_path):
    spoken = {"s2": [np.array([3.0, 4.0])], "s1": [np.array([[1.0, 0.0]]), np.array([[0.0, 2.0]])]}
    done = convert(dump(tmp_path / "a.pkl", spoken), tmp_path / "new/a")
    assert done.returncode == 0 and "3 vectors of 2 speakers" in done.stdout
    found = read_embeddings(tmp_path / "new/a")
    assert (found.speakers, found.utts) == (("s1", "s2"), ("s1-00000", "s1-00001", "s2-00000"))
    assert found.vectors.tolist() == [[1, 0], [0, 2], [3, 4]]

    (tmp_path / "utt2spk").write_text("u1 s1\nu2 s1\nu3 s2\n")
    of_utts = dump(tmp_path / "b.pkl", {f"u{n}": np.full(2, n) for n in (3, 1, 2)})
    assert convert("--utt2spk", tmp_path / "utt2spk", of_utts, tmp_path / "b").returncode == 0
    assert read_embeddings(tmp_path / "b").counts.tolist() == [2, 1]
    (tmp_path / "utt2spk").write_text("u1 s1\n")
    failed = convert("--utt2spk", tmp_path / "utt2spk", of_utts, tmp_path / "c")
    assert failed.returncode == 1 and "utterance 'u2'" in failed.stderr and not (tmp_path / "c").exists()


def test_scores_of_seeds_become_the_values_of_draws(tmp_path):
    scores = {"s2": {20: [1, 0.5], 100: [0.25, 0.25]}, "s1": {20: [0, np.float64(0.5)], 100: [0, 0]}}
    done = convert("--utterances", "3", dump(tmp_path / "s.pkl", scores), tmp_path / "t/link.speakers.tsv")
    assert done.returncode == 0 and "4 scores of 2 speakers" in done.stdout
    found = read_speaker_values(tmp_path / "t/link.speakers.tsv")
    assert [(v.speaker, v.N, v.L, v.value, v.draws) for v in found] == [
        ("s1", 20, "3", 0.25, (0, 0.5)),
        ("s1", 100, "3", 0, (0, 0)),
        ("s2", 20, "3", 0.75, (1, 0.5)),
        ("s2", 100, "3", 0.25, (0.25, 0.25)),
    ]
