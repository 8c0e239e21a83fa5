"""A task beyond its time. In a file of its own, as Slurm's shortest limit is a minute, and the wait costs nothing."""

from __future__ import annotations

import re

import pytest

from tests.cluster.conftest import Launcher

pytestmark = pytest.mark.e2e


def test_a_task_beyond_its_time_is_named_with_the_remedy(launcher: Launcher) -> None:
    launcher.settings["growth"] = 1
    code, output = launcher.wait(launcher.start("--time", "1", "JOB=1:2", "log/x.JOB.log", "sleep", "600"), 180)
    assert code == 1
    assert re.search(
        r"run.py: job [12] was ended after its time \(1:00\) on n[123]; give it more --time, or have shorter tasks",
        output,
    )
    assert launcher.cluster.jobs() == [] and launcher.left() == []


@pytest.mark.nightly
def test_a_task_beyond_its_time_is_tried_with_more_and_the_others_are_not_ended(launcher: Launcher) -> None:
    job = "((JOB == 1)) && sleep 75; touch JOB.out"
    code, output = launcher.wait(launcher.start("--time", "1", "JOB=1:2", "log/x.JOB.log", "bash", "-c", job), 300)
    assert code == 0 and "job 1: was ended after its time (1:00) on n" in output
    assert "submitted again with 2 times as much" in output
    assert launcher.cluster.jobs() == [] and launcher.left() == []
