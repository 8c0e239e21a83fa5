import os
import time
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.jobs import tasks

seconds = st.lists(st.floats(0.1, 30), min_size=1, max_size=200)


@given(seconds, st.integers(1, 40), st.floats(1, 1000))
def test_every_item_is_in_one_task_and_no_task_is_empty_or_too_long(
    seconds: list[float], nj: int, longest: float
) -> None:
    ranges = tasks.cut(seconds, nj, longest)
    assert [item for items in ranges for item in items] == list(range(len(seconds)))
    assert all(len(items) > 0 for items in ranges)
    # An item belongs where its middle is, so that a task may stick out by half of an item at both ends.
    limit = longest + max(seconds)
    assert all(sum(seconds[item] for item in items) <= limit * (1 + 1e-9) for items in ranges)


def test_a_million_utterances_are_some_hundred_tasks_that_end_together() -> None:
    ranges = [len(items) for items in tasks.cut([0.5] * 1_000_000, 100, 600)]
    assert sum(ranges) == 1_000_000 and 800 < len(ranges) < 2000
    assert max(ranges) == 1200 and ranges[-1] <= 121
    assert ranges == sorted(ranges, reverse=True) or max(b - a for a, b in pairwise(ranges)) <= 1


def test_little_work_gives_every_worker_one_task() -> None:
    assert [len(items) for items in tasks.cut([1.0] * 40, 4, 600)] == [10] * 4
    assert [len(items) for items in tasks.cut([1.0] * 3, 8, 600)] == [1] * 3


def write_log(path: Path, *lines: str) -> Path:
    path.write_text("".join(f"{line}\n" for line in ("# x", "# Started at Mon Nov 16 10:00:00 2026 on n1", *lines)))
    return path


def test_the_pace_is_measured_from_logs_that_tell_enough(tmp_path: Path) -> None:
    logs = [
        write_log(
            tmp_path / f"x.{n}.log", "progress: 3/3", f"# Accounting: time={seconds} threads=1", "# Ended (code 0)"
        )
        for n, seconds in enumerate((25, 15))
    ]
    pace = tmp_path / "pace"
    assert tasks.read_pace(pace) is None
    tasks.write_pace(pace, [(40.0, logs[0])])
    assert not pace.exists()
    tasks.write_pace(pace, [(40.0, logs[0]), (60.0, logs[1]), (60.0, tmp_path / "nowhere")])
    assert tasks.read_pace(pace) == 2.5
    pace.write_text("nonsense")
    assert tasks.read_pace(pace) is None


def test_tasks_that_failed_or_were_killed_tell_their_pace_by_what_they_did(tmp_path: Path) -> None:
    failed = write_log(tmp_path / "1", "progress: 1/4", "# Accounting: time=100 threads=1", "# Ended (code 1)")
    killed = write_log(tmp_path / "2", "progress: 2/4")
    begun = time.mktime((2026, 11, 16, 10, 0, 0, 0, 0, -1))
    os.utime(killed, (begun + 50, begun + 50))
    at_once = write_log(tmp_path / "3", "Traceback", "# Accounting: time=9 threads=1", "# Ended (code 1)")
    tasks.write_pace(tmp_path / "pace", [(400.0, failed), (400.0, killed), (400.0, at_once)])
    assert tasks.read_pace(tmp_path / "pace") == (100 + 200) / (100 + 50)


@given(seconds, st.integers(1, 5))
def test_a_pilot_is_of_the_first_items_and_small(lengths: list[float], nj: int) -> None:
    ranges = tasks.pilot(lengths, nj, 600)
    assert bool(ranges) or sum(lengths) <= 2 * nj * 30
    assert [item for items in ranges for item in items] == list(range(sum(map(len, ranges))))
    assert len(ranges) <= nj and all(sum(lengths[item] for item in items) <= 30 + max(lengths) for items in ranges)


def test_the_time_of_a_task_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    assert tasks.task_seconds() == 600
    monkeypatch.setenv("VPEVAL_TASK_SECONDS", "90.5")
    assert tasks.task_seconds() == 90.5
    for wrong in ("soon", "0", "-3", "1e9"):
        monkeypatch.setenv("VPEVAL_TASK_SECONDS", wrong)
        with pytest.raises(InputError, match=f"VPEVAL_TASK_SECONDS={wrong}: expected the seconds"):
            tasks.task_seconds()
