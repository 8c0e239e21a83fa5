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
    room = launcher.room
    data = write_speakers(room, 4, 6)
    (room / "encoder.yaml").write_text(ENCODER)
    (room / "profile.yaml").write_text(PROFILE.format(epochs=3, augment="true"))
    # After the first epoch, training waits for the node to be killed.
    slow_down(data, f"[ -e {room}/.slurm.work/epochs.jsonl ] && [ ! -e {room}/go ]")
    train = [f"{ROOT}/steps/jobs/train_asv.py", "scratch", f"{room}/encoder.yaml", f"{room}/profile.yaml"]

    words = ("--num-nodes", "2", "--mem", "3G", f"{room}/log/train.log", f"{ROOT}/steps/jobs/torchrun.sh", "1")
    child = launcher.start(*words, *train, f"{room}/slurm", str(data))
    launcher.wait_for(".slurm.work/checkpoints/*/whole")
    nodes = launcher.cluster.run("squeue", "-h", "-o", "%N").strip()
    assert nodes == "n[1-2]"
    launcher.cluster.kill_node("n2")
    (room / "go").touch()
    code, said = launcher.wait(child, 240)
    assert code == 0, said
    assert "job 1: was lost with its node" in said and "submitted again" in said
    assert "Loading a checkpoint from" in (room / "log/train.log").read_text()
    assert launcher.cluster.jobs() == [] and launcher.left() == []

    alone = [f"{ROOT}/steps/jobs/torchrun.sh", "2", *train, f"{room}/alone", str(data)]
    environment = launcher.environment | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(alone, cwd=room, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert curve(room / "slurm") == curve(room / "alone")
    assert [row["epoch"] for row in curve(room / "slurm")] == [1, 2, 3]
