import os
import subprocess
import sys
from pathlib import Path

import pytest

from vpeval.records import Record, write_records

ROOT = Path(__file__).parents[2]


def run(script, *arguments, cwd):
    return subprocess.run(
        [sys.executable, ROOT / "local" / script, *arguments],
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )


def wer(system, errors):
    counts = {"ref_words": 100, "ins": 0, "del": 0, "sub": errors}
    condition = "o" if system == "original" else "a"
    return Record("wer", float(errors), counts=counts, system=system, set="toy_dev_asr", condition=condition)


@pytest.fixture
def records(tmp_path):
    write_records(tmp_path / "results.jsonl", [wer("original", 4), wer("mcadams", 8)])
    write_records(tmp_path / "more.jsonl", [wer("original", 4), wer("pool", 6)])
    return tmp_path


def test_the_view_of_one_system_is_written(records):
    assert run("write_results.py", "results.jsonl", "mcadams/results.txt", cwd=records).returncode == 0
    assert (records / "mcadams/results.txt").read_text() == (
        "ASR-toy_dev_asr\n  %WER 4.00 [ 4 / 100, 0 ins, 0 del, 4 sub ]\n"
        "ASR-toy_dev_asr_anon\n  %WER 8.00 [ 8 / 100, 0 ins, 0 del, 8 sub ]\n"
    )


def test_of_several_systems_one_must_be_chosen(records):
    files = ("results.jsonl", "more.jsonl", "results.txt")
    refused = run("write_results.py", *files, cwd=records)
    assert refused.returncode == 1
    assert refused.stderr == (
        "write_results.py: records of several systems (mcadams, pool); choose one with --system\n"
    )
    assert not (records / "results.txt").exists()
    assert run("write_results.py", "--system", "pool", *files, cwd=records).returncode == 0
    assert "%WER 6.00" in (records / "results.txt").read_text()


def test_an_unknown_system_is_answered_with_the_known_ones(records):
    refused = run("write_results.py", "--system", "typo", "results.jsonl", "results.txt", cwd=records)
    assert refused.stderr == "write_results.py: no records of system 'typo'; there are: mcadams\n"


def test_the_summary_shows_the_systems_of_all_files(records):
    done = run("print_summary.py", "results.jsonl", "more.jsonl", cwd=records)
    assert done.returncode == 0
    assert "toy_dev_asr  WER %      4.00     8.00  6.00\n" in done.stdout
