from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vpeval.core.errors import InputError
from vpeval.jobs import shards
from vpeval.jobs.shards import Shards, ShardWriter


def written(directory: Path, job: str = "1", **results: bytes) -> Path:
    """One shard with these results."""
    with ShardWriter(directory, job) as writer:
        for utt, result in results.items():
            writer.add(utt, result)
    return next(iter(directory.glob(f"{job}-*")))


def found(directory: Path) -> dict[str, bytes]:
    there = Shards(directory)
    there.scan()
    return {utt: bytes(result) for utt, result in there.results()}


@given(st.dictionaries(st.text(min_size=1), st.binary(max_size=50), min_size=1))
def test_every_added_result_is_found(tmp_path_factory: pytest.TempPathFactory, results: dict[str, bytes]) -> None:
    directory = tmp_path_factory.mktemp("parts")
    with ShardWriter(directory, "7") as writer:
        for utt, result in results.items():
            writer.add(utt, result)
    assert found(directory) == results
    assert len(list(directory.iterdir())) == 1


def test_many_results_are_few_files_and_none_is_much_larger_than_its_bound(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "_BYTES", 1000)
    with ShardWriter(tmp_path, "1") as writer:
        for number in range(95):
            writer.add(f"u{number}", bytes(100))
    assert len(list(tmp_path.iterdir())) == 10
    assert all(path.stat().st_size < 1500 for path in tmp_path.iterdir())
    assert len(found(tmp_path)) == 95


def test_a_shard_is_published_when_enough_time_went_into_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr(shards.time, "monotonic", lambda: now[0])
    writer = ShardWriter(tmp_path, "1")
    for seconds, there in ((10.0, 0), (29.0, 0), (31.0, 3), (60.0, 3), (62.0, 5)):
        now[0] = seconds
        writer.add(f"u{seconds}", b"x")
        assert len(found(tmp_path)) == there
    # One utterance that takes very long is safe as soon as it is done.
    now[0] = 1000.0
    writer.add("long", b"x")
    assert len(found(tmp_path)) == 6


def test_of_an_utterance_that_two_runs_of_a_job_did_one_result_counts(tmp_path: Path) -> None:
    written(tmp_path, a=b"1", b=b"2")
    written(tmp_path, b=b"2", c=b"3")
    written(tmp_path, b=b"2", c=b"3")
    assert found(tmp_path) == {"a": b"1", "b": b"2", "c": b"3"}
    assert len(list(tmp_path.iterdir())) == 2, "the same shard has the same name"


def test_a_job_reads_its_own_shards(tmp_path: Path) -> None:
    written(tmp_path, "1", a=b"1")
    written(tmp_path, "11", b=b"2")
    assert Shards(tmp_path, "1").scan() == {"a"}
    assert Shards(tmp_path, "11").scan() == {"b"}
    assert Shards(tmp_path).scan() == {"a", "b"}
    assert Shards(tmp_path / "nowhere").scan() == set()


def test_a_shard_with_any_byte_changed_or_missing_is_removed(tmp_path: Path) -> None:
    whole = written(tmp_path, a=b"12", b=b"345").read_bytes()
    name = next(iter(tmp_path.iterdir())).name
    damaged = [whole[:end] for end in range(len(whole))]
    damaged += [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in range(len(whole))] + [whole + b"x"]
    for content in damaged:
        (tmp_path / name).write_bytes(content)
        there = Shards(tmp_path)
        assert there.scan() == set() and there.damaged == [tmp_path / name] and not list(tmp_path.iterdir())


@pytest.mark.parametrize("text", ["soon", "-1", "1e3", "nan"])
def test_a_invalid_time_is_refused(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VPEVAL_PIECE_SECONDS", text)
    with pytest.raises(InputError, match=f"VPEVAL_PIECE_SECONDS={text}: expected the seconds that go into a shard"):
        ShardWriter(tmp_path, "1")
