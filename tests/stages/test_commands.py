"""The commands that a verbose run prints are executed, and give the numbers of the run."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from toy_recipe import ROOT, make_toy

from tests.local.in_process import call
from vpeval.measures.base import read_speaker_values
from vpeval.records.record import Record, read_records

STAGES = ("6", "verification", "v", "7", "similarity", "s", "8", "legal", "l", "9", "disclosure", "d")


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A directory in which stages were run, and one in which the commands that they printed were run."""
    root = tmp_path_factory.mktemp("toy") / "here"
    make_toy(root)
    other = root.with_name("there")
    shutil.copytree(root, other, symlinks=True)
    words = ["--recipe=toy", "--corpus=egs", "--attackers=ecapa resnet fusion", "--calibrate=true", "--bootstrap=100"]
    done = subprocess.run(
        [sys.executable, str(ROOT / "local/run_stages.py"), *words, *STAGES],
        cwd=root,
        env={**os.environ, "VPEVAL_VERBOSE": "true"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    commands = [shlex.split(line[4:]) for line in done.stdout.splitlines() if line.startswith("  $ ")]
    for path in root.glob("exp/toy/runs/mcadams/strongest-*"):
        shutil.copytree(path, other / path.relative_to(root))  # it has no command, and the audit reads it
    for program, *arguments in commands:
        by_hand = call(ROOT / program, *arguments, cwd=other)
        assert not by_hand.returncode, f"{program} {arguments}\n{by_hand.stderr}"
    return root, other, {command[0] for command in commands}


def about(record: Record) -> tuple[object, ...]:
    names = (record.metric, record.system, record.set, record.condition, record.attacker, record.gender)
    return *names, *sorted((name, str(value)) for name, value in record.params.items())


def numbers(record: Record) -> list[float]:
    return [number for number in (record.value, record.lower, record.upper) if number is not None]


def test_every_kind_of_result_has_a_command(both):
    measures = ("verification", "similarity", "linkability", "singling_out", "inference", "srd")
    assert both[2] >= {f"local/score_{name}.py" for name in measures}
    assert both[2] >= {"steps/score_trials.py", "local/calibrate_scores.py", "local/fuse_scores.py"}
    assert "local/audit_attacker.py" in both[2]


def test_commands_give_the_numbers_of_the_stages(both):
    root, other, _ = both
    compared = 0
    for path in sorted(root.glob("exp/toy/runs/*/*/records.jsonl")):
        place = other / path.parent.relative_to(root)
        if path.parent.name.endswith(("_fusion-oo", "_fusion-oa", "_fusion-aa")):
            continue  # legal metrics of a fusion have no command
        by_hand = {about(record): record for file in place.glob("*.jsonl") for record in read_records(file)}
        for record in read_records(path):
            found = by_hand[about(record)]
            assert numbers(found) == pytest.approx(numbers(record), rel=1e-12), (path, record.metric)
            compared += 1
    assert compared > 500


def test_stages_and_commands_write_every_draw_of_the_values_of_speakers(both):
    root, other, _ = both
    tables = [path for path in root.glob("exp/toy/runs/*/*/records.speakers.tsv") if "fusion" not in str(path)]
    drawn = [path for path in tables if path.parent.name.startswith(("linkability", "singling_out"))]
    assert drawn
    for path in drawn:
        values = read_speaker_values(path)
        assert values == read_speaker_values(other / path.relative_to(root))
        assert {len(value.draws) for value in values if value.L != "all"} == {5}


def test_the_audit_by_hand_finds_the_same(both):
    root, other, _ = both
    place = Path("exp/toy/runs/mcadams/audit.json")
    assert (other / place).read_text() == (root / place).read_text()
