"""Training on two nodes, of which one is lost."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.asv.profiles import PROFILE
from tests.cluster.conftest import ROOT, Launcher
from tests.cluster.speakers import slow_down, write_speakers

pytestmark = pytest.mark.e2e

ENCODER = "encoder: ecapa\nmodel: none\nmels: 20\nchannels: [16, 16, 16, 16, 48]\ndimension: 8\n"


def curve(out: Path) -> list[dict[str, float]]:
    rows = [json.loads(line) for line in (out / "epochs.jsonl").read_text().splitlines()]
    return [{name: value for name, value in row.items() if name != "seconds"} for row in rows]


def test_a_training_that_loses_a_node_goes_on_from_its_checkpoint_with_the_same_losses(launcher: Launcher) -> None:
    work_dir = launcher.work_dir
    data = write_speakers(work_dir, 4, 6)
    (work_dir / "encoder.yaml").write_text(ENCODER)
    (work_dir / "profile.yaml").write_text(PROFILE.format(epochs=3, augment="true"))
    # After the first epoch, training waits for the node to be killed.
    slow_down(data, f"[ -e {work_dir}/.slurm.work/epochs.jsonl ] && [ ! -e {work_dir}/go ]")
    train = [f"{ROOT}/steps/jobs/train_asv.py", "scratch", f"{work_dir}/encoder.yaml", f"{work_dir}/profile.yaml"]

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
