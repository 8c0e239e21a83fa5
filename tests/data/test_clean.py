"""The quick look at large directories never says that all is well where the validator has a complaint."""

from pathlib import Path

import numpy as np
import pytest

from vpeval.audio.io import AudioInfo, inspect_audio, write_wave
from vpeval.core.errors import InputError
from vpeval.data import layout, table_files
from vpeval.data.validate import is_clean, validate

FILES = {
    "utt2spk": "a-1 a\na-2 a\nb-1 b\n",
    "spk2utt": "a a-1 a-2\nb b-1\n",
    "wav.scp": "a-1 /x/a 1.wav\na-2 cat x |\nb-1 /y.wav\n",
    "text": "a-1 GUTEN TAG\na-2\nb-1 ÄH\n",
    "utt2dur": "a-1 1.5\na-2 2\nb-1 .5\n",
    "utt2lang": "a-1 de\na-2 de\nb-1 de\n",
    "spk2gender": "a f\nb m\n",
}


def write(path: Path, files: dict[str, str]) -> Path:
    path.mkdir()
    for name, text in files.items():
        (path / name).write_text(text, newline="")
    return path


def problems(path: Path, large: int, monkeypatch: pytest.MonkeyPatch, spk_sort: bool = True) -> list[str]:
    with monkeypatch.context() as patch:
        patch.setattr(table_files, "LARGE", large)
        return [str(problem) for problem in validate(path, audio=False, spk_sort=spk_sort)]


def test_a_directory_that_is_as_it_should_be_is_clean(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "set", FILES)
    assert not is_clean(path, layout.present(path), True), "small directories take the other way"
    monkeypatch.setattr(table_files, "LARGE", 0)
    assert is_clean(path, layout.present(path), True)
    assert validate(path, audio=False) == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("utt2spk", "a-1 a\na-2 a\nb-1 b"),
        ("utt2spk", "a-1 a\na-2 a b\nb-1 b\n"),
        ("utt2spk", "a-1 a\na-2 a\n"),
        ("utt2spk", "a-1 a\na-2 a\nb-1 a\n"),
        ("utt2spk", "a-1 a\na-2 b\nb-1 a\n"),
        ("utt2spk", "a-1 b\na-2 b\nb-1 c\n"),
        ("utt2spk", "a-1 a\na/2 a\nb-1 b\n"),
        ("utt2spk", "a-1 a\naä2 a\nb-1 b\n"),
        ("spk2utt", "a a-2 a-1\nb b-1\n"),
        ("spk2utt", "a a-1 a-2 b-1\nb\n"),
        ("spk2utt", "a a-1\nb a-2 b-1\n"),
        ("spk2utt", "a a-1 a-2\r\nb b-1\n"),
        ("spk2utt", "b b-1\na a-1 a-2\n"),
        ("spk2utt", "a a-1 a-2\n\nb b-1\n"),
        ("text", "a-1 X\nb-1 Y\n"),
        ("text", "a-1 X\na-2 <s> X\nb-1 Y\n"),
        ("text", "a-1 X\na-2 #0\nb-1 Y\n"),
        ("text", "a-1 X\na-2 X\u200bX\nb-1 Y\n"),
        ("text", "a-1 X\na-2 X\u3000X\nb-1 Y\n"),
        ("text", "a-1 X\na-2 X\x7f\nb-1 Y\n"),
        ("wav.scp", "a-1 x\na-2 ~/x\nb-1 y\n"),
        ("wav.scp", "a-1 x\na-2\nb-1 y\n"),
        ("wav.scp", "a-1 x\nb-1 y\na-2 z\n"),
        ("utt2dur", "a-1 1\na-2 -1\nb-1 1\n"),
        ("utt2dur", "a-1 1\na-2 1 s\nb-1 1\n"),
        ("utt2dur", "a-1 1\na-2 nan\nb-1 1\n"),
        ("utt2lang", "a-1 de\na-2 de at\nb-1 de\n"),
        ("spk2gender", "a f\nb x\n"),
        ("spk2gender", "a f\n"),
        ("spk2gender", "a f\nb m m\n"),
        ("segments", "x"),
        ("enrolls", "a-9\n"),
        ("trials", "a a-9 target\n"),
    ],
)
@pytest.mark.parametrize("spk_sort", [True, False])
def test_whatever_the_validator_complains_about_it_complains_about_in_large_directories(
    name: str, content: str, spk_sort: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write(tmp_path / "set", {**FILES, name: content})
    assert problems(path, 0, monkeypatch, spk_sort) == problems(path, 1 << 40, monkeypatch, spk_sort)
    assert problems(path, 0, monkeypatch)


def test_the_audio_of_a_clean_directory_is_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "set", FILES)
    monkeypatch.setattr(table_files, "LARGE", 0)
    assert [problem.kind for problem in validate(path)] == ["audio"] * 3


def test_many_files_are_inspected_by_processes_with_the_same_findings(tmp_path: Path) -> None:
    write_wave(tmp_path / "good.wav", 0.1 * np.sin(np.arange(1600)))
    (tmp_path / "bad.wav").write_bytes(b"RIFF")
    entries = {f"u{n}": str(tmp_path / ("bad.wav" if n % 50 == 7 else "good.wav")) for n in range(200)}
    found = inspect_audio(entries)
    assert list(found) == list(entries)
    some = inspect_audio({utt: entries[utt] for utt in ("u0", "u7")})
    for utt, info in found.items():
        like = some["u7" if "bad" in entries[utt] else "u0"]
        assert isinstance(info, InputError if "bad" in entries[utt] else AudioInfo)
        assert str(info) == str(like)
