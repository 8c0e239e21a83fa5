"""A batch on the cluster of the tests, whose results can be compared with those of one machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from tests.cluster.conftest import ROOT, Launcher
from tests.cluster.speakers import write_speakers
from vpeval.data.directory import DataDir

# Lowers the level by a number drawn from the seed. At the second utterance of a job it waits for the test to go on. Files
# in the directory of the test make it fail on a node, hang at an utterance, or need much memory for one.
HOOK = f"""#!{sys.executable} -SE
import array, os, pathlib, random, sys, time, wave
data, out = map(pathlib.Path, sys.argv[-2:])
work_dir = pathlib.Path(__file__).parents[1]
def table(name):
    return dict(line.split(maxsplit=1) for line in (data / name).read_text().splitlines())
paths, seeds = table("wav.scp"), table("utt2seed")
node = os.environ.get("SLURMD_NODENAME", "")
if node and (work_dir / f"broken.{{node}}").exists():
    sys.exit(f"there is no device on {{node}}")
for number, utt in enumerate(paths):
    if node and (work_dir / f"hungry.{{utt}}").exists():
        hoard = bytearray(400 << 20)
        time.sleep(2.5)
    while node and (work_dir / f"hang.{{utt}}").exists():
        time.sleep(0.1)
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
    """Some humming speakers, and the steps of the recipes called on them; `options` are for $cmd on the cluster."""

    def __init__(self, launcher: Launcher, utts: int = 3, nj: int = 4, options: str = "") -> None:
        self.launcher, self.work_dir = launcher, launcher.work_dir
        self.data = write_speakers(self.work_dir, 4, utts)
        self.nj, self.options = str(nj), options
        self.hook = self.work_dir / "anonymiser/hook"  # a directory of its own: all that is in it counts
        self.hook.parent.mkdir()
        self.hook.write_text(HOOK)
        self.hook.chmod(0o755)

    def cmd(self, backend: str) -> str:
        conf = f" --conf {self.launcher.conf}" if backend == "slurm" else ""
        options = f"{conf}{self.options}" if backend == "slurm" else ""
        return f"{sys.executable} {ROOT}/utils/run.py --backend {backend}{options}"

    def anonymise(self, backend: str, seed: int = 0) -> list[str]:
        settings = [
            "--cmd",
            self.cmd(backend),
            "--nj",
            self.nj,
            "--log-dir",
            f"{self.work_dir}/log",
            "--seed",
            str(seed),
        ]
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
