"""A task beyond its time. In a file of its own, as Slurm's shortest limit is a minute, and the wait costs nothing."""

from __future__ import annotations

import re

import pytest

from tests.cluster.conftest import Launcher

pytestmark = pytest.mark.e2e


def test_a_task_beyond_its_time_is_named_with_the_remedy(launcher: Launcher) -> None:
    code, output = launcher.wait(launcher.start("--time", "1", "JOB=1:2", "log/x.JOB.log", "sleep", "600"), 180)
    assert code == 1
    assert re.search(
        r"run.py: job [12] was ended after its time \(1\) on n[123]; give it more --time, or have shorter tasks", output
    )
    assert launcher.cluster.jobs() == [] and launcher.left() == []
