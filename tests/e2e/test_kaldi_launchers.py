"""The whole evaluation with launchers that behave as those of Kaldi: on this machine, with SGE's qsub, and on Slurm."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, missing_programs
from tests.e2e.conftest import Clone

pytestmark = pytest.mark.e2e

HERE = Path(__file__).parent / "kaldi"
# What a job needs beyond PATH; with Kaldi's own queue.pl, `command qsub -v PATH,…` in conf/queue.conf. Variables by which
# a machine chooses how libraries compute, such as OPENBLAS_CORETYPE, must be those of the run to compare with.
ARITHMETIC = [name for name in os.environ if re.match("(OPENBLAS|MKL|OMP|CT2)_", name)]
PASSED = ["VPEVAL_PYTHON", "VPEVAL_MODELS", *ARITHMETIC]


def equip(clone: Clone, cmd: str, variables: Mapping[str, str] | None = None) -> Clone:
    """The clone with the launchers in a directory of PATH, and this one in cmd.sh."""
    tools = clone.path.parent / "tools"
    tools.mkdir()
    for name in ("run.pl", "queue.pl", "slurm.pl", "retry.pl"):
        shutil.copy(HERE / "launcher.py", tools / name)
    shutil.copy(HERE / "qsub.py", tools / "qsub")
    for tool in tools.iterdir():
        tool.chmod(0o755)
    (clone.path / "cmd.sh").write_text(f'export cmd="{cmd}"\n')
    path = f"{tools}:{(variables or {}).get('PATH', os.environ['PATH'])}"
    return replace(clone, environment={**(variables or {}), "PATH": path, "KALDI_PASSES": ",".join(["PATH", *PASSED])})


def assert_same_results(clone: Clone, finished: Clone) -> None:
    ours, theirs = (path / "exp/tiny/runs/mcadams" for path in (clone.path, finished.path))
    for name in ("results.jsonl", "results.txt"):
        assert (ours / name).read_bytes() == (theirs / name).read_bytes()


def test_a_run_by_retry_and_queue_with_the_qsub_of_sge_gives_the_same_results(finished, make_clone) -> None:
    clone = equip(make_clone("sge"), "retry.pl queue.pl --mem 2G")
    clone.run("--nj", "2")
    assert_same_results(clone, finished)
    submitted = (clone.path.parent / "tools/submitted").read_text().splitlines()
    assert len(submitted) >= 4 and all("-l mem_free=2G,ram_free=2G" in line for line in submitted)


@pytest.mark.nightly
def test_a_run_by_run_pl_gives_the_same_results(finished, make_clone) -> None:
    clone = equip(make_clone("run_pl"), "run.pl")
    clone.run("--nj", "3")
    assert_same_results(clone, finished)


@pytest.mark.nightly
def test_a_run_by_slurm_pl_gives_the_same_results(finished, make_clone) -> None:
    if missing := missing_programs():
        pytest.skip(f"needs Slurm, and there is no {', '.join(missing)}; tests/install_slurm.sh installs it")
    with tempfile.TemporaryDirectory(prefix="vp-slurm-") as work_dir:
        cluster = Cluster(Path(work_dir) / "0")
        try:
            clone = equip(make_clone("slurm_pl"), "slurm.pl --mem 1G", cluster.start().environment)
            (clone.path / "path.sh").write_text(
                "".join(f"export {name}={value}\n" for name, value in passed(clone).items())
                + (clone.path / "path.sh").read_text()
            )
            clone.run("--nj", "3")
        finally:
            cluster.stop()
    assert_same_results(clone, finished)


def passed(clone: Clone) -> dict[str, str]:
    """slurm.pl passes nothing but PATH: what else a job needs is set in path.sh."""
    settings = clone._settings()["env"]
    assert isinstance(settings, dict)
    return {name: settings[name] for name in PASSED}
