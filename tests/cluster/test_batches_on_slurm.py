"""Anonymisation and extraction on nodes that fail: the bytes are those of an undisturbed run on one machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from tests.cluster.conftest import ROOT, Launcher
from tests.cluster.speakers import slow_down, write_speakers
from vpeval.data.directory import DataDir

pytestmark = pytest.mark.e2e

# Lowers the level by a number drawn from the seed. At the second utterance of a job it waits for the test to go on.
HOOK = f"""#!{sys.executable} -SE
import array, pathlib, random, sys, time, wave
data, out = map(pathlib.Path, sys.argv[-2:])
work_dir = pathlib.Path(__file__).parents[1]
def table(name):
    return dict(line.split(maxsplit=1) for line in (data / name).read_text().splitlines())
paths, seeds = table("wav.scp"), table("utt2seed")
for number, utt in enumerate(paths):
    while number == 1 and not (work_dir / "go").exists():
        time.sleep(0.1)
    with wave.open(paths[utt]) as file:
        samples = array.array("h", file.readframes(file.getnframes()))
    level = random.Random(int(seeds[utt])).uniform(0.3, 0.9)
    with wave.open(str(out / f"{{utt}}.wav"), "wb") as file:
        file.setnchannels(1); file.setsampwidth(2); file.setframerate(16000)
        file.writeframes(array.array("h", [int(level * s) for s in samples]).tobytes())
"""


class Place:
    """Some humming speakers, and the steps of the recipes called on them."""

    def __init__(self, launcher: Launcher) -> None:
        self.launcher, self.work_dir = launcher, launcher.work_dir
        self.data = write_speakers(self.work_dir, 4, 3)
        self.hook = self.work_dir / "anonymiser/hook"  # a directory of its own: all that is in it counts
        self.hook.parent.mkdir()
        self.hook.write_text(HOOK)
        self.hook.chmod(0o755)

    def cmd(self, backend: str) -> str:
        conf = f" --conf {self.launcher.conf}" if backend == "slurm" else ""
        return f"{sys.executable} {ROOT}/utils/run.py --backend {backend}{conf}"

    def anonymise(self, backend: str, seed: int = 0) -> list[str]:
        settings = ["--cmd", self.cmd(backend), "--nj", "4", "--log-dir", f"{self.work_dir}/log", "--seed", str(seed)]
        return [
            f"{ROOT}/steps/anonymize.sh",
            *settings,
            str(self.hook),
            str(self.data),
            f"{self.work_dir}/{backend}/set",
        ]

    def extract(self, backend: str) -> list[str]:
        settings = [
            "--cmd",
            self.cmd(backend),
            "--nj",
            "2",
            f"{ROOT}/conf/asv/encoders/f0.yaml",
            f"{self.work_dir}/{backend}",
        ]
        return [f"{ROOT}/steps/extract_embeddings.py", *settings, str(self.data)]

    def start(self, command: list[str]) -> subprocess.Popen[str]:
        child = subprocess.Popen(
            command,
            cwd=ROOT,
            env=self.launcher.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.launcher.started.append(child)
        return child

    def finish(self, child: subprocess.Popen[str]) -> str:
        output = child.communicate(timeout=120)[0]
        assert child.returncode == 0, output
        assert self.launcher.cluster.jobs() == [] and self.launcher.left() == [".set.lock"]
        return output

    def wait_for(self, pattern: str, count: int) -> None:
        self.launcher.wait_for(pattern, count)

    def kill_a_busy_node(self) -> str:
        (node, *_) = self.launcher.cluster.run("squeue", "-h", "-r", "-t", "RUNNING", "-o", "%N").split()
        self.launcher.cluster.kill_node(node)
        return node

    def kill_a_step(self) -> list[str]:
        """Kill anonymisation and its launcher outright; the jobs that go on without them."""
        first = self.start(self.anonymise("slurm"))
        self.wait_for("slurm/.set.work/out/wav/*/s*.wav", 4)
        os.killpg(first.pid, signal.SIGKILL)
        first.communicate()
        jobs = sorted(self.launcher.cluster.jobs())
        assert len(jobs) == 4
        return jobs

    @property
    def waves(self) -> list[str]:
        return [f"wav/{spk}/{utt}.wav" for utt, spk in DataDir.load(self.data).utt2spk.items()]

    def go(self) -> None:
        (self.work_dir / "go").touch()

    def assert_same(self, *names: str) -> None:
        """Whether the directories of results are equal to the byte, apart from their own path."""
        for name in names:
            ours, theirs = (self.work_dir / backend / "set" / name for backend in ("slurm", "local"))
            assert ours.read_bytes().replace(b"/slurm/", b"/local/") == theirs.read_bytes(), name


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
