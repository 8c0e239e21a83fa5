import os
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "utils/stamp.py")


@pytest.fixture
def stamp(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run the script in this process; the answer is its exit code and what it said."""
    monkeypatch.chdir(tmp_path)
    Path("trials").write_text("a b target\n")
    Path("scores").write_text("a b 1\n")

    def run(verb: str, *more: str) -> tuple[int, str]:
        options = ["--stamp", "exp/.scores.json", "--input", "trials", "--output", "scores", *more]
        monkeypatch.setattr(sys, "argv", [SCRIPT, verb, *options])
        with pytest.raises(SystemExit) as left:
            runpy.run_path(SCRIPT, run_name="__main__")
        assert isinstance(left.value.code, int)
        return left.value.code, capsys.readouterr().err

    return run


def test_there_is_work_until_the_stamp_is_written_and_then_none(stamp) -> None:
    assert stamp("check") == (3, "")
    assert stamp("write") == (0, "")
    assert stamp("check") == (0, "")


def test_a_changed_input_option_or_output_means_work(stamp) -> None:
    stamp("write", "--option", "seed=0")
    assert stamp("check", "--option", "seed=0")[0] == 0
    assert stamp("check", "--option", "seed=1")[0] == 3
    Path("trials").write_text("a b nontarget\n")
    assert stamp("check", "--option", "seed=0")[0] == 3
    Path("trials").write_text("a b target\n")
    Path("scores").unlink()
    assert stamp("check", "--option", "seed=0")[0] == 3


def test_missing_inputs_and_outputs_are_mistakes(stamp) -> None:
    Path("scores").unlink()
    assert stamp("write") == (1, "stamp.py: scores: should have been made and is not there\n")
    Path("trials").unlink()
    assert stamp("check")[0] == 1
    assert not Path("exp").exists()


def test_a_wrong_verb_is_a_mistake(stamp) -> None:
    assert stamp("look")[0] == 1


@pytest.mark.parametrize(("code", "lines"), [(0, ["skip", "on"]), (3, ["work", "on"]), (1, [])])
def test_a_script_skips_works_or_ends_as_the_stamp_says(tmp_path: Path, code: int, lines: list[str]) -> None:
    (tmp_path / "utils").mkdir()
    (tmp_path / "utils/stamp.py").write_text(f"#!/bin/sh\nexit {code}\n")
    (tmp_path / "utils/stamp.py").chmod(0o755)
    script = f'set -euo pipefail; . "{ROOT}/utils/stamp.sh"; if up_to_date --stamp x; then echo skip; else echo work; fi; echo on'
    done = subprocess.run(["bash", "-c", script], cwd=tmp_path, env=os.environ, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split()) == (1 if code == 1 else 0, lines)
