"""A copy of the tree to run recipes in, with the environment and the models of this one."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from vpeval.core import models

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Clone:
    """A working copy with the recipe `tiny`; `environment` goes beyond that of this process."""

    path: Path
    environment: Mapping[str, str] = field(default_factory=dict)

    def run(self, *options: str) -> str:
        """Run ./run.sh to a good end and return what it printed."""
        done = subprocess.run(self._command(options), **self._settings(), stdout=subprocess.PIPE)  # type: ignore[call-overload]
        assert done.returncode == 0, done.stdout
        return str(done.stdout)

    def kill(self, *options: str, when: Callable[[], bool]) -> None:
        """Start ./run.sh and kill -9 that process alone as soon as `when()` holds."""
        child = subprocess.Popen(self._command(options), **self._settings(), stdout=subprocess.DEVNULL)  # type: ignore[call-overload]
        deadline = time.time() + 120
        while not when():
            assert child.poll() is None and time.time() < deadline, "the run ended before it could be killed"
            time.sleep(0.02)
        child.send_signal(signal.SIGKILL)
        child.wait()

    def _command(self, options: tuple[str, ...]) -> list[str]:
        return ["./run.sh", "--recipe", "tiny", "--corpus", "egs/mini/corpus", *options]

    def _settings(self) -> dict[str, object]:
        ours = ("VPEVAL_READY", "VPEVAL_RUN_PID", "PYTHONPATH")
        environment = {name: value for name, value in os.environ.items() if name not in ours}
        environment |= {"VPEVAL_PYTHON": sys.executable, "VPEVAL_MODELS": str(models.store()), **self.environment}
        return {"cwd": self.path, "env": environment, "stderr": subprocess.STDOUT, "text": True}


@pytest.fixture(scope="session")
def make_clone(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Clone]:
    def make(name: str) -> Clone:
        path = tmp_path_factory.mktemp(name) / "clone"
        listing = subprocess.run(
            ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
        )
        for file in listing.stdout.splitlines():
            target = path / file
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / file, target)
        shutil.copytree(ROOT / "tests/e2e/tiny", path / "egs/tiny")
        return Clone(path)

    return make


@pytest.fixture(scope="session")
def finished(make_clone: Callable[[str], Clone]) -> Clone:
    """A clone in which the whole evaluation has been run with one job at a time."""
    clone = make_clone("finished")
    (clone.path / "output").write_text(clone.run("--nj", "1"))
    return clone
