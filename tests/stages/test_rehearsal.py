"""What a run would do and why, what it says when it does something again, and a run that moved house."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from toy_recipe import ROOT, SYSTEM, make_toy

from vpeval.jobs.dry_run import DryRun, current_dry_run, dry_run
from vpeval.jobs.stamps import fingerprint

SCORES = ("6", "verification", "scores")
RANKS = ("9", "disclosure", "ranks")


def run(root: Path, *words: str) -> str:
    command = [sys.executable, str(ROOT / "local/run_stages.py"), "--recipe=toy", "--corpus=egs", *words]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def files(root: Path) -> dict[Path, int]:
    return {path: path.stat().st_mtime_ns for path in root.rglob("*")}


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which stage 6 has been run."""
    root = tmp_path_factory.mktemp("toy") / "here"
    make_toy(root, ("dev",))
    run(root, *SCORES)
    return root


def test_a_dry_run_tells_what_was_never_made_and_makes_nothing(tmp_path: Path) -> None:
    make_toy(tmp_path, ("dev",))
    before = files(tmp_path)
    said = run(tmp_path, "--dry-run=true", *SCORES, *RANKS)
    assert "would be made, not made yet: exp/toy/runs/original/ASV_ecapa-toy_dev_enrolls-toy_dev_trials_f" in said
    assert "2 would be made, not made yet: exp/toy/runs/original/srd_ecapa-oo" in said
    assert files(tmp_path) == before


def test_a_dry_run_tells_what_is_up_to_date_and_what_an_option_changes(finished: Path) -> None:
    assert "would be made" not in run(finished, "--dry-run=true", *SCORES)
    said = run(finished, "--dry-run=true", "--bootstrap=7", *SCORES)
    assert "would be made, changed: option resamples: exp/toy/runs/original/ASV_ecapa" in said


def test_what_is_not_there_yet_counts_as_changed_for_those_who_need_it(tmp_path: Path) -> None:
    (tmp_path / "data/old").mkdir(parents=True)
    with dry_run() as seen:
        seen.consider(tmp_path / "data/new", [], "not made yet")
        seen.consider(tmp_path / "data/old", [], "")
        assert (
            fingerprint([tmp_path / "data/new/wav.scp"], {}).inputs != fingerprint([tmp_path / "data/old"], {}).inputs
        )
        assert current_dry_run() is seen and not seen.expects(tmp_path / "data/old")
        assert seen.report() == ({"not made yet": [tmp_path / "data/new"]}, 1)
        assert seen.report() == ({}, 0)
    assert current_dry_run() is None


def test_who_cannot_look_any_further_expects_all_that_is_missing(tmp_path: Path) -> None:
    seen = DryRun()
    assert not seen.expects(tmp_path / "gone")
    seen.is_blind = True
    assert seen.expects(tmp_path / "gone") and not seen.expects(tmp_path)


def test_a_folder_that_was_copied_with_its_results_has_nothing_to_do(finished: Path, tmp_path: Path) -> None:
    home = tmp_path / "elsewhere"
    shutil.copytree(finished, home, copy_function=shutil.copy)
    said = run(home, *SCORES)
    assert "again" not in said and f"exp/toy/runs/{SYSTEM}" not in said
    assert said.count("up to date, skipped") == 1, "one line for all of them"


def test_a_step_that_is_made_again_says_what_has_changed(finished: Path, tmp_path: Path) -> None:
    home = tmp_path / "elsewhere"
    shutil.copytree(finished, home)
    trials = home / "data/toy_dev_trials_f/trials"
    trials.write_text("".join(trials.read_text().splitlines(keepends=True)[1:]))
    said = run(home, *SCORES)
    place = "exp/toy/runs/original/ASV_ecapa-toy_dev_enrolls-toy_dev_trials_f"
    assert f"{place}: again, changed: input data/toy_dev_trials_f/trials\n" in said
    assert "ASV_ecapa-toy_dev_enrolls-toy_dev_trials_m: again" not in said
