"""A short hour of tests/inject_faults.py, on the stages that score."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from toy_recipe import ROOT, make_toy

from tests.inject_faults import CLOCK, FAULTS, FULL, KILL, Injector

RUN = ("env", f"PYTHONPATH={ROOT}", sys.executable, str(ROOT / "local/run_stages.py"), "--recipe=toy", "--corpus=egs")
COMMANDS = {6: (*RUN, "6", "verification", "scores"), 8: (*RUN, "8", "legal", "legal metrics")}


@pytest.fixture(scope="module")
def injector(tmp_path_factory: pytest.TempPathFactory) -> Injector:
    folder = tmp_path_factory.mktemp("faults")
    make_toy(folder, ("dev",))
    return Injector(folder, COMMANDS, ("data", "exp"))


@pytest.mark.parametrize(("stage", "kind"), [*((6, kind) for kind in FAULTS), (8, KILL)])
def test_no_fault_leaves_a_trace_in_the_results(injector: Injector, stage: int, kind: str) -> None:
    if kind == FULL and subprocess.run(["unshare", "--map-root-user", "--mount", "true"], check=False).returncode:
        pytest.skip("no small file system can be mounted here")
    if kind == CLOCK and not shutil.which("cc"):
        pytest.skip("no C compiler here")
    injector.inject(stage, kind)
    assert injector.wrong == []
    assert injector.counts[stage, kind] + injector.missed[stage, kind] == 1


def test_other_bytes_and_a_run_that_fails_afterwards_are_noticed(injector: Injector, tmp_path: Path) -> None:
    scores = next(name for name in injector.reference if name.endswith("/scores"))
    noticing = Injector.__new__(Injector)
    noticing.__dict__ |= {**injector.__dict__, "wrong": [], "counts": injector.counts.copy()}
    noticing.reference = {**injector.reference, scores: "another"}
    noticing.inject(8, "closed output")
    assert len(noticing.wrong) == 1 and f"other bytes in ['{scores}']" in noticing.wrong[0]
    noticing.commands = {8: ("false",)}
    noticing.inject(8, "kill")
    assert "the next run fails" in noticing.wrong[1]
    injector._run(COMMANDS[8])


def test_faults_go_on_until_each_stage_had_enough_of_each_kind(injector: Injector) -> None:
    planned = Injector.__new__(Injector)
    planned.__dict__ |= {**injector.__dict__, "counts": injector.counts.copy(), "missed": injector.missed.copy()}
    planned.counts.clear()

    def inject(stage: int, kind: str) -> str:
        planned.counts[stage, kind] += 1
        return "done"

    planned.inject = inject  # type: ignore[method-assign]
    assert len(list(planned.go_on(0.0, 3))) == 3 * len(FAULTS) * len(COMMANDS)
    assert planned.table().splitlines()[-1] == "| all | 6 | 6 | 6 | 6 | 6 |"
