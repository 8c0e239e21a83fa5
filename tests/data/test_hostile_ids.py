"""Ids are not paths, and files that look whole are."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import soundfile as sf

from vpeval.audio.io import read_audio
from vpeval.core.errors import InputError
from vpeval.data import table_files
from vpeval.data.directory import DataDir
from vpeval.data.fix import fix
from vpeval.data.validate import validate

HOSTILE = ("../../x", "a/b", "-rf", ".hidden", "a..b", "a\x1b[2J", "a\u202eb", "a\x07", 201 * "a")


def directory(root: Path, utt2spk: dict[str, str], **files: str) -> Path:
    root.mkdir(parents=True, exist_ok=True)
    (root / "utt2spk").write_text("".join(f"{utt} {spk}\n" for utt, spk in sorted(utt2spk.items())))
    for name, content in files.items():
        (root / name).write_text(content)
    return root


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("hostile", HOSTILE)
def test_an_id_that_is_a_path_or_an_option_is_refused_when_a_directory_is_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile: str, large: bool
) -> None:
    monkeypatch.setattr(table_files, "LARGE", 1 if large else 1 << 40)
    for utt2spk in ({hostile: "a", "a-1": "a"}, {"a-1": "a", "b-1": hostile}):
        path = directory(tmp_path / "x", utt2spk)
        with pytest.raises(InputError, match=r"x/utt2spk:[12]: id .* cannot be part of a file name"):
            DataDir.load(path)
        assert "id" in {problem.kind for problem in validate(path, text=False, wav=False)}


@pytest.mark.parametrize("large", [False, True])
def test_usual_ids_are_welcome(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, large: bool) -> None:
    monkeypatch.setattr(table_files, "LARGE", 1 if large else 1 << 40)
    utt2spk = {"p225-001_mic1.x": "p225", "p225-é": "p225", "id10270-5r0dWxy17C8-00001": "id10270"}
    assert dict(DataDir.load(directory(tmp_path / "x", utt2spk)).utt2spk) == dict(sorted(utt2spk.items()))


def test_a_byte_order_mark_is_no_part_of_the_first_id(tmp_path: Path) -> None:
    path = directory(tmp_path / "x", {"a-1": "a", "b-1": "b"})
    (path / "utt2spk").write_bytes(b"\xef\xbb\xbf" + (path / "utt2spk").read_bytes())
    assert list(DataDir.load(path).utt2spk) == ["a-1", "b-1"]
    assert any("byte-order mark" in problem.message for problem in validate(path, text=False, wav=False))
    assert list(fix(path, audio=False).data.utt2spk) == ["a-1", "b-1"]
    assert (path / "utt2spk").read_bytes() == b"a-1 a\nb-1 b\n"


@pytest.mark.parametrize("name", ["trials", "spk2gender"])
def test_a_link_to_nothing_is_reported(tmp_path: Path, name: str) -> None:
    path = directory(tmp_path / "x", {"a-1": "a", "b-1": "b"})
    (path / name).symlink_to(tmp_path / "gone")
    assert [str(p) for p in validate(path, text=False, wav=False) if "is a link to" in p.message]


@pytest.mark.parametrize("name", ["trials", "text", "spk2gender"])
@pytest.mark.parametrize("make", [Path.mkdir, os.mkfifo], ids=["directory", "fifo"])
def test_a_directory_or_a_fifo_does_not_pass_for_a_file_that_is_not_there(
    tmp_path: Path, name: str, make: Callable[[Path], None]
) -> None:
    path = directory(tmp_path / "x", {"a-1": "a", "b-1": "b"})
    make(path / name)
    assert [p.path.name for p in validate(path, text=False, wav=False) if p.kind == "missing file"] == ["spk2utt", name]
    with pytest.raises(InputError, match=f"x/{name}: is .*, where a file is needed"):
        DataDir.load(path)


@pytest.mark.parametrize("suffix", [".wav", ".flac"])
@pytest.mark.parametrize(
    ("wave", "said"),
    [
        (np.zeros(40_000), "holds nothing but silence or a constant"),
        (np.full(40_000, 0.3), "holds nothing but silence or a constant"),
        (0.3 + 1e-4 * np.sin(np.arange(40_000)), "holds nothing but silence or a constant"),
        (np.concatenate([np.zeros(39_000), np.sin(np.arange(1_000))]), ""),
        (np.concatenate([np.full(20_000, -0.1), np.full(20_000, 0.1)]), ""),
        (1e-3 * np.sin(np.arange(40_000)), ""),
    ],
    ids=["silence", "constant", "almost constant", "a word at the end", "a step", "quiet"],
)
def test_a_recording_without_anything_to_hear_is_reported(
    tmp_path: Path, wave: np.ndarray, said: str, suffix: str
) -> None:
    sf.write(tmp_path / f"x{suffix}", wave, 16000, subtype="PCM_16")
    path = directory(tmp_path / "x", {"a-1": "a"}, **{"wav.scp": f"a-1 {tmp_path}/x{suffix}\n"})
    [*found] = [problem.message for problem in validate(path, text=False) if problem.kind == "audio"]
    assert len(found) == bool(said) and all(said in message for message in found)


def test_audio_of_another_scale_is_reported(tmp_path: Path) -> None:
    sf.write(tmp_path / "x.wav", 1e30 * np.sin(np.arange(1600)), 16000, subtype="FLOAT")
    path = directory(tmp_path / "x", {"a-1": "a"}, **{"wav.scp": f"a-1 {tmp_path}/x.wav\n"})
    assert any("where 1 is full scale" in problem.message for problem in validate(path, text=False))


def test_samples_that_are_no_numbers_are_reported(tmp_path: Path) -> None:
    wave = np.zeros(1600, np.float32)
    wave[7] = np.nan
    sf.write(tmp_path / "nan.wav", wave, 16000, subtype="FLOAT")
    path = directory(tmp_path / "x", {"a-1": "a"}, **{"wav.scp": f"a-1 {tmp_path / 'nan.wav'}\n"})
    assert any("NaN" in problem.message for problem in validate(path, text=False))


def test_a_pipe_that_hangs_is_ended_and_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_PIPE_SECONDS", "0.2")
    path = directory(tmp_path / "x", {"a-1": "a"}, **{"wav.scp": f"a-1 echo $$ >{tmp_path}/pid; sleep 100 | cat |\n"})
    assert any("had not ended after 0.2 s" in problem.message for problem in validate(path, text=False))
    group = int((tmp_path / "pid").read_text())
    with pytest.raises(ProcessLookupError):
        while True:
            os.killpg(group, 0)
    monkeypatch.setenv("VPEVAL_PIPE_SECONDS", "soon")
    with pytest.raises(InputError, match="VPEVAL_PIPE_SECONDS=soon"):
        read_audio("true |")
