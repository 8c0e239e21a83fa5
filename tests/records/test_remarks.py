"""What must be said about results stands in every results file and does not disturb its readers."""

from dataclasses import replace
from pathlib import Path

import pytest

from vpeval.records.names import remarks, result_lines
from vpeval.records.record import Record


def record(name: str, **notes: object) -> Record:
    return replace(Record("wer", 5.0, notes=notes), set=name)


def test_each_remark_is_made_once() -> None:
    records = [
        record("libri_dev_asr", protocol="rebuilt"),
        record("libri_dev_asr", protocol="rebuilt", warning="x fails"),
        record("vctk_dev_asr", protocol="official", missing_files="2 files are missing"),
        record("vctk_dev_asr", warning="x fails"),
    ]
    assert remarks(records) == [
        "protocol: rebuilt. Sets drawn by us, not those of the official lists: libri_dev_asr",
        "partial: vctk_dev_asr: 2 files are missing",
        "warning: x fails",
    ]
    assert remarks([record("libri_dev_asr", protocol="official")]) == []
    left_out = [replace(record(name, left_out="ecapa, by --leave-out"), system="b1") for name in ("x_asr", "y_asr")]
    assert remarks(left_out) == ["left out: b1: ecapa, by --leave-out"]


@pytest.mark.parametrize("blanks", [False, True])
def test_readers_of_results_pass_over_remarks(tmp_path: Path, blanks: bool) -> None:
    path = tmp_path / "results.txt"
    path.write_text("ASV-a-b\n# protocol: rebuilt\n  EER: 5%\n")
    assert list(result_lines(path, blanks)) == [(1, "ASV-a-b"), (3, "  EER: 5%")]
