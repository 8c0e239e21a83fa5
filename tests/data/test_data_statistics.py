"""What data directories hold, counted by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from vpeval.data.directory import DataDir
from vpeval.data.statistics import rows


@pytest.fixture
def trials(tmp_path: Path) -> Path:
    path = tmp_path / "trials_set"
    path.mkdir()
    files = {
        "utt2spk": "a-1 a\na-2 a\nb-1 b\n",
        "spk2gender": "a f\nb m\n",
        "utt2dur": "a-1 1800\na-2 900\nb-1 3600\n",
        "trials": "a a-1 target\nb a-1 nontarget\nb b-1 target\n",
    }
    for name, text in files.items():
        (path / name).write_text(text)
    return path


def test_speakers_utterances_hours_and_trials_are_counted_by_gender(trials: Path) -> None:
    assert rows([DataDir.load(trials)]) == [
        ["trials_set", "speakers", "1", "1", "2"],
        ["trials_set", "utterances", "2", "1", "3"],
        ["trials_set", "hours", "0.75", "1.00", "1.75"],
        ["trials_set", "target trials", "1", "1", "2"],
        ["trials_set", "non-target trials", "1", "0", "1"],
    ]


def test_sets_without_trials_and_genders_have_fewer_numbers(trials: Path) -> None:
    (trials / "trials").unlink()
    (trials / "spk2gender").unlink()
    assert rows([DataDir.load(trials)])[0] == ["trials_set", "speakers", "0", "0", "2"]
    assert len(rows([DataDir.load(trials)])) == 3
