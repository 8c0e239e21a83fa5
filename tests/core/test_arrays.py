"""Files of arrays that somebody else wrote, or half of them: one line, and no pickled object is ever opened."""

import pickle
from pathlib import Path

import numpy as np
import pytest

from vpeval.asr.linear_emotion import load_linear
from vpeval.asv.backend import load
from vpeval.audio.f0 import read_tracks
from vpeval.core.errors import InputError


class Evil:
    def __reduce__(self):
        return Path.touch, (Path("pwned"),)


def npz(path, **arrays):
    with open(path, "wb") as file:
        np.savez(file, **arrays)
    return path.read_bytes()


def contents(tmp_path):
    whole = npz(tmp_path / "whole.npz", version=2, mean=np.zeros(3), utts=np.array(["a"]))
    yield "empty", b""
    yield "garbage", b"garbage"
    yield "a zip that is none", b"PK\3\4 and so on"
    yield "cut", whole[: len(whole) // 2]
    yield "lacking", whole
    yield "a byte changed", whole[:60] + bytes([whole[60] ^ 255]) + whole[61:]
    yield "a pickle", pickle.dumps(Evil())
    yield "objects", npz(tmp_path / "o.npz", version=np.array([Evil()], object), mean=np.zeros(3))
    kinds = {"version": 2, "mean": np.zeros(3), "projection": np.zeros((3, 2)), "plda_mean": np.zeros(2)}
    yield (
        "parts that do not fit",
        npz(tmp_path / "p.npz", **kinds, between=np.zeros((5, 5)), within=np.zeros((2, 2)), calibration=np.zeros(2)),
    )
    yield (
        "no numbers",
        npz(
            tmp_path / "n.npz",
            **kinds,
            between=np.full((2, 2), np.nan),
            within=np.zeros((2, 2)),
            calibration=np.zeros(2),
        ),
    )


@pytest.mark.parametrize("read", [load, read_tracks], ids=["back end", "F0 tracks"])
def test_a_file_that_holds_something_else_is_one_line(tmp_path, monkeypatch, read):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "x.npz"
    for name, content in contents(tmp_path):
        path.write_bytes(content)
        with pytest.raises(InputError, match=r"x\.npz: (holds no|is a back end)") as found:
            read(path)
        assert "\n" not in str(found.value), name
    assert not Path("pwned").exists()


@pytest.mark.parametrize("content", [b"", b"garbage", pickle.dumps(Evil())])
def test_a_classifier_that_is_none_is_one_line(tmp_path, monkeypatch, content):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "weights.npy").write_bytes(content)
    (tmp_path / "labels").write_text("sad\n")
    with pytest.raises(InputError, match=r"weights\.npy: holds no weights"):
        load_linear(tmp_path)
    np.save(tmp_path / "weights.npy", np.zeros((2, 3)))
    with pytest.raises(InputError, match=r"weights\.npy: has not one row for every label"):
        load_linear(tmp_path)
    assert not Path("pwned").exists()
