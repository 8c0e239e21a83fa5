"""A cluster for every test that asks for one; it starts in a fraction of a second."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, missing_programs, wait_until

ROOT = Path(__file__).resolve().parents[2]
POLL_SECONDS = 1


@pytest.fixture(scope="session")
def installed() -> None:
    if missing := missing_programs():
        pytest.skip(f"needs Slurm, and there is no {', '.join(missing)}; tests/install_slurm.sh installs it")


@pytest.fixture
def make_cluster(installed: None) -> Iterator[Callable[..., Cluster]]:
    """Clusters below a short path: the names of sockets may have about a hundred letters."""
    started: list[Cluster] = []
    with tempfile.TemporaryDirectory(prefix="vp-slurm-") as work_dir:

        def make(**options: int) -> Cluster:
            started.append(Cluster(Path(work_dir) / str(len(started)), **options))
            return started[-1].start()

        yield make
        for cluster in started:
            cluster.stop()


@pytest.fixture
def cluster(make_cluster: Callable[..., Cluster]) -> Cluster:
    return make_cluster()


class Launcher:
    """utils/run.py --backend slurm in a directory of its own."""

    def __init__(self, cluster: Cluster, work_dir: Path) -> None:
        self.cluster, self.work_dir = cluster, work_dir
        self.started: list[subprocess.Popen[str]] = []
        self.settings = {"poll_seconds": POLL_SECONDS, "visible_seconds": 3, "patience_seconds": 20}

    @property
    def environment(self) -> dict[str, str]:
        """Of a participant who is logged in to the cluster."""
        ours = {name: value for name, value in os.environ.items() if name not in ("VPEVAL_RUN_PID", "VPEVAL_READY")}
        return {**ours, **self.cluster.environment, "PYTHONPATH": str(ROOT), "VPEVAL_PYTHON": sys.executable}

    @property
    def conf(self) -> Path:
        """conf/slurm.conf, with the settings of the test."""
        text = (ROOT / "conf/slurm.conf").read_text()
        for name, value in self.settings.items():
            text, count = re.subn(rf"^{name}: .*", f"{name}: {value}", text, flags=re.MULTILINE)
            assert count == 1, name
        (self.work_dir / "slurm.conf").write_text(text)
        return self.work_dir / "slurm.conf"

    def start(self, *words: str) -> subprocess.Popen[str]:
        """Start the launcher with these words after $cmd."""
        command = [sys.executable, str(ROOT / "utils/run.py"), "--backend", "slurm", "--conf", str(self.conf), *words]
        child = subprocess.Popen(
            command, cwd=self.work_dir, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self.started.append(child)
        return child

    def run(self, *words: str) -> tuple[int, str]:
        """Its exit code and its output."""
        return self.wait(self.start(*words))

    def wait(self, child: subprocess.Popen[str], seconds: float = 90) -> tuple[int, str]:
        """The exit code of a launcher and its output."""
        out, errors = child.communicate(timeout=seconds)
        return child.returncode, out + errors

    def wait_for(self, pattern: str, count: int = 1) -> None:
        """Wait until there are so many files, made by jobs of a launcher that goes on."""

        def is_there() -> bool:
            assert all(child.poll() is None for child in self.started[-1:]), self._explain()
            return len(list(self.work_dir.glob(pattern))) >= count

        wait_until(is_there, self._explain)

    def left(self) -> list[str]:
        """What a launcher should have cleared away."""
        return [path.name for path in self.work_dir.rglob(".*") if path.name.endswith((".slurm", ".lock", ".tmp"))]

    def _explain(self) -> str:
        tail = "".join(child.communicate(timeout=5)[1] for child in self.started if child.poll() is not None)
        return f"{sorted(map(str, self.work_dir.rglob('*')))}\n{tail}\n{self.cluster.run('squeue', '-t', 'all', check=False)}"


@pytest.fixture
def launcher(cluster: Cluster, tmp_path: Path) -> Iterator[Launcher]:
    launcher = Launcher(cluster, tmp_path)
    yield launcher
    for child in launcher.started:
        if child.poll() is None:
            child.send_signal(signal.SIGKILL)
            child.communicate()
