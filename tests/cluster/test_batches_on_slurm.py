"""Anonymisation and extraction on nodes that fail: the bytes are those of an undisturbed run on one machine."""

from __future__ import annotations

import subprocess

import pytest

from tests.cluster.conftest import ROOT, Launcher
from tests.cluster.place import Place
from tests.cluster.speakers import slow_down

pytestmark = pytest.mark.e2e


@pytest.fixture
def place(launcher: Launcher) -> Place:
    return Place(launcher)


def test_a_node_lost_in_the_middle_of_anonymisation_changes_no_byte(place: Place) -> None:
    child = place.start(place.anonymise("slurm"))
    place.wait_for(
        "slurm/.set.work/out/wav/*/s*.wav", 4
    )  # the first of every job, brought here before the job has ended
    node = place.kill_a_busy_node()
    place.go()
    output = place.finish(child)
    assert f"was lost with its node {node}; submitted again" in output
    subprocess.run(place.anonymise("local"), cwd=ROOT, env=place.launcher.environment, check=True)
    place.assert_same("utt2dur", "wav.scp", *place.waves)


def test_a_node_lost_in_the_middle_of_extraction_changes_no_byte(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_PIECE_SECONDS", "0")
    slow_down(place.data, f"[ ! -e {place.work_dir}/go ]")
    child = place.start(place.extract("slurm"))
    place.wait_for("slurm/.set.work/parts/*.piece", 2)
    node = place.kill_a_busy_node()
    place.go()
    output = place.finish(child)
    assert f"was lost with its node {node}; submitted again" in output
    subprocess.run(place.extract("local"), cwd=ROOT, env=place.launcher.environment, check=True)
    place.assert_same("embedding.ark", "embedding.scp", "spk_mean.ark", "utt2spk")


def test_a_step_that_was_killed_with_its_launcher_finds_its_jobs_again(place: Place) -> None:
    before = place.kill_a_step()
    second = place.start(place.anonymise("slurm"))
    assert second.stdout and "0 are done, 4 are waiting or running, 0 are submitted" in second.stdout.readline()
    assert sorted(place.launcher.cluster.jobs()) == before
    place.go()
    place.finish(second)
    subprocess.run(place.anonymise("local"), cwd=ROOT, env=place.launcher.environment, check=True)
    place.assert_same("utt2dur", "wav.scp", *place.waves)


def test_jobs_that_went_on_for_other_options_are_ended_before_they_can_spoil_the_new(place: Place) -> None:
    place.kill_a_step()
    second = place.start(place.anonymise("slurm", seed=1))
    assert second.stdout and "4 jobs of an earlier, different call were still there" in second.stdout.readline()
    place.go()
    place.finish(second)
    subprocess.run(place.anonymise("local", seed=1), cwd=ROOT, env=place.launcher.environment, check=True)
    place.assert_same("utt2dur", "wav.scp", *place.waves)
