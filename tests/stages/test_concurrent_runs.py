"""Two runs at once: those of one system are refused, those of two share what is of both."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from toy_recipe import ROOT, SYSTEM, make_toy

from vpeval.core.locks import locked

STAGES = ("6", "verification", "scores")


def start(root: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, str(ROOT / "local/run_stages.py"), "--recipe=toy", "--corpus=egs", *options, *STAGES]
    return subprocess.Popen(command, cwd=root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    make_toy(tmp_path, ("dev",))
    return tmp_path


def test_a_second_run_of_a_system_is_refused_with_the_name_of_the_first(toy: Path) -> None:
    command = "./run.sh --anon-options '--alpha 0.5'"
    with locked(toy / f"exp/toy/runs/.{SYSTEM}.lock", SYSTEM, command):
        second = start(toy, "--anon-options=--alpha 0.9")
        said = second.communicate()[0]
    assert second.returncode == 1
    assert said.startswith(f"run.sh: system {SYSTEM} of recipe toy: process ") and command in said
    assert not list((toy / f"exp/toy/runs/{SYSTEM}").glob("*"))
    assert start(toy).wait() == 0


def test_runs_of_two_systems_share_the_results_of_original_speech(toy: Path) -> None:
    for path in [*toy.glob(f"data/*_{SYSTEM}"), *toy.glob(f"exp/toy/embeddings/*/*_{SYSTEM}")]:
        path.with_name(path.name.replace(SYSTEM, "other")).symlink_to(path)
    runs = [start(toy), start(toy, "--system=other")]
    for run in runs:
        said = run.communicate()[0]
        assert run.returncode == 0, said
    again = start(toy)
    assert "up to date, skipped" in again.communicate()[0]
    assert not list(toy.glob("exp/toy/runs/original/*/.*.tmp"))
