"""After kill -9 of a process, nothing that it started runs on."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from vpeval.core.processes import alive

ROOT = Path(__file__).parents[2]
PARENTS = {
    "workers that have nothing to do": """
from vpeval.core import processes
with processes.pool(2) as workers:
    pids = {workers.submit(os.getpid).result() for _ in range(8)}
    tell(*pids)
    time.sleep(100)
""",
    "workers that are busy": """
from vpeval.core import processes
with processes.pool(1) as workers:
    tell(workers.submit(os.getpid).result())
    workers.submit(time.sleep, 100).result()
""",
    "a program and what it started in turn": """
from vpeval.jobs import guard
guard.run(["bash", "-c", f"sleep 100 & echo $! $$ >{sys.argv[1]}.new; mv {sys.argv[1]}.new {sys.argv[1]}; wait"])
""",
}
HEAD = """
import os, pathlib, sys, time
def tell(*pids):
    pathlib.Path(sys.argv[1] + ".new").write_text(" ".join(map(str, pids)))
    os.rename(sys.argv[1] + ".new", sys.argv[1])
"""


def wait_until(condition) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("kind", PARENTS)
def test_nothing_outlives_a_process_that_was_killed(tmp_path: Path, kind: str) -> None:
    parent = subprocess.Popen([sys.executable, "-c", HEAD + PARENTS[kind], str(tmp_path / "pids")], cwd=ROOT)
    wait_until((tmp_path / "pids").exists)
    children = [int(word) for word in (tmp_path / "pids").read_text().split()]
    assert children and all(map(alive, children))
    parent.kill()
    parent.wait()
    wait_until(lambda: not any(map(alive, children)))
