"""Training on two nodes, of which one is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from tests.asv.profiles import PROFILE
from tests.cluster.cluster import wait_until
from tests.cluster.conftest import ROOT, Launcher
from tests.cluster.speakers import slow_down, write_speakers

pytestmark = pytest.mark.e2e

ENCODER = "encoder: ecapa\nmodel: none\nmels: 20\nchannels: [16, 16, 16, 16, 48]\ndimension: 8\n"


def curve(out: Path) -> list[dict[str, float]]:
    rows = [json.loads(line) for line in (out / "epochs.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def prepare(work_dir: Path, waits: str) -> tuple[Path, list[str]]:
    """Data, and the words of a training; that in directory `waits` waits after its first epoch for the test to go on."""
    data = write_speakers(work_dir, 4, 6)
    (work_dir / "encoder.yaml").write_text(ENCODER)
    (work_dir / "profile.yaml").write_text(PROFILE.format(epochs=3, augment="true"))
    slow_down(data, f"[ -e {work_dir}/.{waits}.work/epochs.jsonl ] && [ ! -e {work_dir}/go ]")
    conf = [f"{work_dir}/encoder.yaml", f"{work_dir}/profile.yaml"]
    return data, [f"{ROOT}/steps/jobs/train_asv.py", "scratch", *conf]


def test_a_training_that_loses_a_node_goes_on_from_its_checkpoint_with_the_same_losses(launcher: Launcher) -> None:
    work_dir = launcher.work_dir
    data, train = prepare(work_dir, waits="slurm")
    words = ("--num-nodes", "2", "--mem", "3G", f"{work_dir}/log/train.log", f"{ROOT}/steps/jobs/torchrun.sh", "1")
    child = launcher.start(*words, *train, f"{work_dir}/slurm", str(data))
    launcher.wait_for(".slurm.work/checkpoints/*/whole")
    nodes = launcher.cluster.run("squeue", "-h", "-o", "%N").strip()
    assert nodes == "n[1-2]"
    launcher.cluster.kill_node("n2")
    (work_dir / "go").touch()
    code, output = launcher.wait(child, 240)
    assert code == 0, output
    assert "job 1: was lost with its node" in output and "submitted again" in output
    assert "Loading a checkpoint from" in (work_dir / "log/train.log").read_text()
    assert launcher.cluster.jobs() == [] and launcher.left() == []

    alone = [f"{ROOT}/steps/jobs/torchrun.sh", "2", *train, f"{work_dir}/alone", str(data)]
    environment = launcher.environment | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(alone, cwd=work_dir, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert curve(work_dir / "slurm") == curve(work_dir / "alone")
    assert [row["epoch"] for row in curve(work_dir / "slurm")] == [1, 2, 3]


@pytest.mark.nightly
def test_a_training_of_which_a_process_is_killed_goes_on_with_the_same_losses(tmp_path: Path) -> None:
    data, train = prepare(tmp_path, waits="hurt")
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "VPEVAL_PYTHON": sys.executable}
    command = [f"{ROOT}/steps/jobs/torchrun.sh", "2", *train]
    with open(tmp_path / "log", "w") as log:
        child = subprocess.Popen([*command, f"{tmp_path}/hurt", str(data)], env=environment, stdout=log, stderr=log)
        wait_until(lambda: bool(list(tmp_path.glob(".hurt.work/checkpoints/*/whole"))), (tmp_path / "log").read_text)
        ranks = [int(path.parent.name) for path in Path("/proc").glob("[0-9]*/environ") if is_rank(path, tmp_path)]
        os.kill(max(ranks), signal.SIGKILL)
        (tmp_path / "go").touch()
        assert child.wait(240) == 0, (tmp_path / "log").read_text()
    assert "Loading a checkpoint from" in (tmp_path / "log").read_text()
    subprocess.run([*command, f"{tmp_path}/alone", str(data)], env=environment, check=True)
    assert curve(tmp_path / "hurt") == curve(tmp_path / "alone")


def is_rank(environ: Path, work_dir: Path) -> bool:
    """Whether a process is the second of a training in this directory, and not a pipe that it has opened."""
    with suppress(OSError):
        line = (environ.parent / "cmdline").read_bytes()
        return b"RANK=1" in environ.read_bytes().split(b"\0") and f"{work_dir}/hurt".encode() in line.split(b"\0")
    return False
