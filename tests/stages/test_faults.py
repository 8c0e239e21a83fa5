"""A short hour of tests/inject_faults.py, on the stages that score."""

from __future__ import annotations

import subprocess
import sys

import pytest
from toy_recipe import ROOT, make_toy

from tests.inject_faults import Injector

STAGES = ("6", "verification", "scores", "8", "legal", "legal metrics", "9", "disclosure", "ranks")
COMMAND = (sys.executable, str(ROOT / "local/run_stages.py"), "--recipe=toy", "--corpus=egs", *STAGES)


@pytest.fixture(scope="module")
def injector(tmp_path_factory: pytest.TempPathFactory) -> Injector:
    folder = tmp_path_factory.mktemp("faults")
    make_toy(folder, ("dev",))
    return Injector(folder, COMMAND, ["exp/toy/runs"], ["exp/toy/runs/*/*/records.jsonl"])


def test_kills_closed_outputs_and_second_runs_leave_no_trace_in_the_results(injector: Injector) -> None:
    for fault in (injector._kill, injector._kill, injector._mute, injector._collide):
        fault()
    assert injector._left_behind() == []
    assert injector._run().returncode == 0
    assert (injector.wrong, injector._contents()) == ([], injector._reference)


def test_a_full_disk_leaves_no_trace_in_the_results(injector: Injector) -> None:
    if subprocess.run(["unshare", "--map-root-user", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no small file system can be mounted here")
    injector._fill()
    assert injector._run().returncode == 0
    assert (injector.wrong, injector._contents()) == ([], injector._reference)
