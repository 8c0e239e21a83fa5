import os
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from vpeval.audio.io import write_wave
from vpeval.data.directory import DataDir

UTILS = Path(__file__).resolve().parents[2] / "utils"


class Result(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a script of utils/ in this process, which is much faster than starting another."""

    def run(name: str, *args: object) -> Result:
        monkeypatch.setattr(sys, "argv", [str(UTILS / name), *map(str, args)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as left:
            runpy.run_path(str(UTILS / name), run_name="__main__")
        assert isinstance(left.value.code, int)
        return Result(left.value.code, *capsys.readouterr())

    return run


@pytest.fixture
def data(tmp_path: Path) -> DataDir:
    utt2spk = {f"{spk}-{s}-{u}": spk for spk in "abcd" for s in "01" for u in "01"}
    for utt in utt2spk:
        write_wave(tmp_path / "audio" / f"{utt}.wav", 0.1 * np.sin(np.arange(800)))
    tables = {
        "wav.scp": {utt: str(tmp_path / "audio" / f"{utt}.wav") for utt in utt2spk},
        "text": dict.fromkeys(utt2spk, "HELLO"),
        "utt2session": {utt: utt[2] for utt in utt2spk},
    }
    path = tmp_path / "data" / "toy"
    return DataDir(path, utt2spk, tables, {"spk2gender": {"a": "f", "b": "f", "c": "m", "d": "m"}}).write(path)


def test_a_valid_directory_is_reported_on_stdout(tool, data: DataDir) -> None:
    assert tool("validate_data_dir.py", data.path) == (
        0,
        f"{data.path}: successfully validated (16 utterances, 4 speakers)\n",
        "",
    )


def test_problems_go_to_stderr_with_exit_code_1(tool, data: DataDir) -> None:
    (data.path / "text").unlink()
    result = tool("validate_data_dir.py", data.path)
    assert (result.code, result.out) == (1, "")
    assert result.err.startswith(f"{data.path}/text: no such file; ")
    assert tool("validate_data_dir.py", "--no-text", "--no-audio", data.path).code == 0


def test_a_warning_does_not_fail(tool, data: DataDir) -> None:
    data.subset(data.spk2utt["a"]).write(data.path)
    result = tool("validate_data_dir.py", data.path)
    assert result.code == 0
    assert result.err.startswith("warning: ")


def test_at_most_20_problems_of_a_kind_are_listed(tool, data: DataDir) -> None:
    (data.path / "utt2emo").write_text("junk\n" * 25)
    result = tool("validate_data_dir.py", data.path)
    assert result.err.count(": 1 fields where") == 20
    assert "… and 5 more problems with: number of fields" in result.err


def test_fixing_says_what_it_removed_and_makes_the_directory_valid(tool, data: DataDir) -> None:
    Path(data.wav["a-0-0"]).unlink()
    result = tool("fix_data_dir.py", data.path)
    assert result.code == 0
    assert "dropped 1 utterances without readable audio (a-0-0: " in result.err
    assert result.out.endswith("15 utterances remain\n")
    assert tool("validate_data_dir.py", data.path).code == 0
    assert tool("fix_data_dir.py", data.path).out == f"{data.path}: nothing to fix\n"


def test_fixing_a_hopeless_directory_fails(tool, data: DataDir) -> None:
    (data.path / "text").write_text("z HELLO\n")
    result = tool("fix_data_dir.py", "--audio", "false", data.path)
    assert (result.code, result.out) == (1, "")
    assert "no utterances remained" in result.err


def test_splitting_makes_kaldi_split_directories(tool, data: DataDir) -> None:
    assert tool("split_data.py", data.path, 4).code == 0
    assert tool("split_data.py", "--per-utt", data.path, 5).code == 0
    assert DataDir.load(data.path / "split4" / "4").speakers == ["d"]
    assert sorted(path.name for path in (data.path / "split5utt").glob("[!.]*")) == list("12345")
    for part in (data.path / "split4").glob("[!.]*"):
        assert tool("validate_data_dir.py", part).code == 0
    result = tool("split_data.py", data.path, 5)
    assert result.code == 1
    assert "choose at most 4" in result.err


@pytest.mark.parametrize(
    ("options", "utts"),
    [
        (["--first", "3"], ["a-0-0", "a-0-1", "a-1-0"]),
        (["--spk-list", "spks"], ["c-0-0", "c-0-1", "c-1-0", "c-1-1"]),
        (["--utt-list", "utts"], ["b-0-1", "d-1-0"]),
    ],
)
def test_subsets_by_list_and_order(
    tool, data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: list[str], utts: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("spks").write_text("c\n")
    Path("utts").write_text("d-1-0\nb-0-1\n")
    assert tool("subset_data.py", *options, data.path, "part").code == 0
    assert DataDir.load("part").utts == utts


def test_subsets_by_chance(tool, data: DataDir, tmp_path: Path) -> None:
    assert tool("subset_data.py", "--speakers", 2, "--seed", 3, data.path, tmp_path / "x").code == 0
    assert len(DataDir.load(tmp_path / "x").utts) == 8
    assert tool("subset_data.py", "--per-spk", 1, data.path, tmp_path / "y").code == 0
    assert len(DataDir.load(tmp_path / "y").utts) == 4


def test_exactly_one_way_to_choose_is_needed(tool, data: DataDir, tmp_path: Path) -> None:
    for options in ([], ["--first", "1", "--speakers", "1"]):
        assert tool("subset_data.py", *options, data.path, tmp_path / "x").code == 1
    assert not (tmp_path / "x").exists()


def test_combining_says_which_tables_are_dropped(tool, data: DataDir, tmp_path: Path) -> None:
    tool("subset_data.py", "--first", 4, data.path, tmp_path / "x")
    (tmp_path / "x" / "utt2session").unlink()
    result = tool("combine_data.py", tmp_path / "z", data.path, tmp_path / "x")
    assert result.code == 0
    assert "without utt2session" in result.err
    assert DataDir.load(tmp_path / "z").utts == data.utts


def test_copying_with_new_ids(tool, data: DataDir, tmp_path: Path) -> None:
    result = tool(
        "copy_data_dir.py", "--spk-prefix", "x", "--utt-prefix", "x", "--utt-suffix=-fast", data.path, tmp_path / "copy"
    )
    assert result.code == 0
    assert DataDir.load(tmp_path / "copy").utts[0] == "xa-0-0-fast"
    assert tool("validate_data_dir.py", tmp_path / "copy").code == 0


def test_trials_are_made_and_valid(tool, data: DataDir, tmp_path: Path) -> None:
    result = tool(
        "make_trials.py", "--enroll-session", 0, "--mixed", "true", "--name", "mini", data.path, tmp_path / "sets"
    )
    assert result.code == 0
    assert f"{tmp_path}/sets/mini_trials_f: 4 utterances of 2 speakers, 4 target and 4 nontarget trials" in result.out
    names = ["mini_enrolls", "mini_trials_f", "mini_trials_m", "mini_trials_mixed"]
    assert sorted(path.name for path in (tmp_path / "sets").iterdir()) == names
    for name in names:
        assert tool("validate_data_dir.py", tmp_path / "sets" / name).code == 0
    assert len((tmp_path / "sets" / "mini_trials_mixed" / "trials").read_text().splitlines()) == 4 * 8


def test_a_trial_set_of_another_call_that_shares_utterances_with_the_new_enrolment_is_refused(
    tool, data: DataDir, tmp_path: Path
) -> None:
    sets, options = tmp_path / "sets", ("--name", "mini", data.path, tmp_path / "sets")
    assert tool("make_trials.py", "--enroll-session", 0, "--mixed", "true", *options).code == 0
    before = (sets / "mini_enrolls/enrolls").read_text()
    result = tool("make_trials.py", "--enroll-session", 1, *options)
    assert result.code == 1 and "8 utterances of the new enrolment (a-1-0, a-1-1, b-1-0 and 5 more)" in result.err
    assert f"remove it: rm -r {sets}/mini_trials_mixed" in result.err
    assert (sets / "mini_enrolls/enrolls").read_text() == before
    shutil.rmtree(sets / "mini_trials_mixed")
    assert tool("make_trials.py", "--enroll-session", 1, *options).code == 0


def test_a_trial_set_is_checked_against_its_enrolment_set(tool, data: DataDir, tmp_path: Path) -> None:
    for utts in (["a-0-0", "b-0-0", "c-1-1"], ["a-1-1", "b-1-1", "c-1-1"]):
        data.subset(utts).write(tmp_path / f"set{utts[0][2]}")
    good, bad = tmp_path / "set0", tmp_path / "set1"
    result = tool("validate_data_dir.py", "--enrolls", good, bad)
    assert result.code == 1
    assert f"{bad}/utt2spk: shares 1 utterances with the enrolment set {good} (c-1-1)" in result.err
    assert tool("validate_data_dir.py", bad).code == 0


@pytest.mark.parametrize(
    "options", [["--min-enroll-dur", "nan"], ["--trials-per-session", "-1"], ["--mixed", "yes"], ["--enroll-utts", "0"]]
)
def test_bad_options_are_refused(tool, data: DataDir, tmp_path: Path, options: list[str]) -> None:
    result = tool("make_trials.py", *options, data.path, tmp_path / "sets")
    assert result.code == 1
    assert options[0] in result.err
    assert not (tmp_path / "sets").exists()


def test_spk2utt_is_written_to_stdout_from_a_file_or_stdin(data: DataDir) -> None:
    command = [sys.executable, str(UTILS / "utt2spk_to_spk2utt.py")]
    env = {**os.environ, "PYTHONPATH": str(UTILS.parent)}
    source = data.path / "utt2spk"
    from_file = subprocess.run([*command, source], env=env, capture_output=True, check=True).stdout
    from_stdin = subprocess.run(
        [*command, "-"], env=env, input=source.read_bytes(), capture_output=True, check=True
    ).stdout
    assert from_file == from_stdin == (data.path / "spk2utt").read_bytes()


def test_a_malformed_utt2spk_gives_no_output(tool, tmp_path: Path) -> None:
    (tmp_path / "utt2spk").write_text("a-1 a\na-2\n")
    result = tool("utt2spk_to_spk2utt.py", tmp_path / "utt2spk")
    assert (result.code, result.out) == (1, "")
    assert "utt2spk:2: 1 fields where 2 are expected" in result.err


@pytest.mark.parametrize(
    "name",
    ["validate_data_dir", "fix_data_dir", "split_data", "subset_data", "combine_data", "copy_data_dir", "make_trials"],
)
def test_a_missing_directory_is_one_message(tool, tmp_path: Path, name: str) -> None:
    nowhere = str(tmp_path / "nowhere")
    args = {
        "split_data": [nowhere, "2"],
        "subset_data": ["--first", "1", nowhere, nowhere + "2"],
        "combine_data": [nowhere + "2", nowhere],
    }
    default = [nowhere] if name in ("validate_data_dir", "fix_data_dir") else [nowhere, nowhere + "2"]
    result = tool(f"{name}.py", *args.get(name, default))
    assert result.code == 1
    assert "no such data directory" in result.err
    assert len(result.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
