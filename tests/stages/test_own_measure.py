"""docs/own_metric.md, typed into a copy of the tree with vectors in place of speech: one new module is a new number."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from toy_recipe import ROOT, make_toy

from tests.guides import printed
from vpeval.records.record import read_records

RUN = "local/run_stages.py --recipe=toy --corpus=egs --bootstrap=100"
MEASURED = f"{RUN} 6 verification v 7 similarity s"
MODULE = "vpeval/measures/voice_shift.py"


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """A copy of the tree, with a function that types commands; stages 6 and 7 are run before the guide is followed."""
    root = tmp_path_factory.mktemp("own") / "tree"
    make_toy(root, ("dev",))
    for name in ("vpeval", "local", "utils", "tests/metrics"):
        shutil.copytree(ROOT / name, root / name, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("path.sh", "run.sh", "docs/metrics.md", "pyproject.toml"):
        (root / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, root / name)
    ours = ("VPEVAL_READY", "PYTHONPATH")
    environment = {name: value for name, value in os.environ.items() if name not in ours}

    def types(*blocks: str) -> str:
        script = "\n".join(blocks)
        done = subprocess.run(
            ["bash", "-euo", "pipefail", "-c", script],
            cwd=root,
            env={**environment, "VPEVAL_PYTHON": sys.executable},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    types.path = root
    types.first = types(MEASURED)
    blocks = [block.replace("mini", "toy") for block in printed("docs/own_metric.md", "A new measure")]
    types.followed = types(*blocks[:-1], blocks[-1].replace("./run.sh", f"{MEASURED} 11 results r"))
    return types


def shifts(root: Path) -> list[float]:
    records = read_records(root / "exp/toy/runs/mcadams/results.jsonl")
    return [record.value for record in records if record.metric == "voice_shift"]


def made(output: str) -> set[str]:
    """The directories that results were made in."""
    names = [Path(line.partition(":")[0]).name for line in output.splitlines() if line.startswith("exp/toy/runs/")]
    return {name for name in names if name.startswith(("ASV", "VSM", "strongest", "voice_shift", "speakers"))}


def test_a_new_module_is_a_new_number_in_table_summary_report_and_documentation(tree):
    assert len(shifts(tree.path)) == 2 and all(0 < value < 2 for value in shifts(tree.path))
    assert "[100%]" in tree.followed, "its test"
    assert "Voice shift" in tree.followed.partition("== stage 11")[2]
    run = tree.path / "exp/toy/runs/mcadams"
    assert "Voice shift" in (run / "report.html").read_text()
    assert any("Voice shift" in path.read_text() for path in (run / "latex").iterdir())
    assert "`voice_shift`" in (tree.path / "docs/metrics.md").read_text()


def test_its_scorer_gives_the_number_of_the_run(tree):
    (record,) = read_records(tree.path / "exp/voice_shift.jsonl")
    assert record.value == pytest.approx(shifts(tree.path)[0], abs=0)


def test_a_new_module_makes_no_other_result_again(tree):
    assert made(tree.first) > {"VSM_ecapa-toy_dev_trials_f"}
    assert made(tree.followed) == {"voice_shift_ecapa-toy_dev_trials_f", "voice_shift_ecapa-toy_dev_trials_m"}


def test_a_change_of_the_module_makes_its_results_again_and_no_others(tree):
    module = tree.path / MODULE
    module.write_text(module.read_text().replace("mean.mean, counts", "2 * mean.mean / 2, counts"))
    output = tree(MEASURED)
    assert made(output) == {"voice_shift_ecapa-toy_dev_trials_f", "voice_shift_ecapa-toy_dev_trials_m"}
    assert output.count(": again, changed: module vpeval/measures/voice_shift.py\n") == 2
