from pathlib import Path

from vpeval.jobs.progress import USAGE, Usage, read_usage, write_usage

LONG, SHORT = Usage(5, "embeddings", 60, 100, 900), Usage(5, "embeddings", 1, 0.5, 80)


def test_of_a_stage_the_call_that_did_the_work_is_remembered(tmp_path: Path) -> None:
    write_usage(tmp_path / "run", [LONG])
    write_usage(tmp_path / "run", [SHORT, Usage(3, "anonymisation", 2, 3, 70)])
    assert [usage.number for usage in read_usage(tmp_path / "run")] == [3, 5]
    assert read_usage(tmp_path / "run")[1] == LONG


def test_what_nobody_noted_or_somebody_spoilt_is_nothing(tmp_path: Path) -> None:
    assert read_usage(tmp_path) == []
    for content in ("", "{", '{"a": 1}', "[1]", '[{"number": 1}]', "null"):
        (tmp_path / USAGE).write_text(content)
        assert read_usage(tmp_path) == [], content
