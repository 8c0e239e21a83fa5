import os
import subprocess
import sys
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.lazy import Deferred
from vpeval.data.directory import DataDir
from vpeval.jobs import batch
from vpeval.jobs.backends.base import NOT_VISIBLE
from vpeval.jobs.shards import Shards
from vpeval.jobs.worker import Unseen, job_parts, work

ROOT = Path(__file__).resolve().parents[2]
MADE: list["Speller"] = []


class Speller:
    """A worker that needs nothing of vpeval.jobs: what it was made from, and what it knows of the utterance."""

    def __init__(self, *words: str) -> None:
        self.words, self.done = words, list[str]()
        MADE.append(self)

    def __call__(self, part) -> bytes:
        if part.utt in self.words:
            raise InputError("cannot be spelt", part.wav)
        self.done.append(part.utt)
        return f"{'|'.join(self.words)} {part.utt} {part.spk} {part.wav} {sorted(part.tables.items())}\n".encode()


SPELLER = Deferred("test_worker", "Speller")


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> DataDir:
    MADE.clear()
    monkeypatch.syspath_prepend(str(Path(__file__).parent))
    monkeypatch.setitem(sys.modules, "test_worker", sys.modules[__name__])
    utts = {f"s{n}-{m}": f"s{n}" for n in range(2) for m in range(2)}
    tables = {"wav.scp": {utt: f"/{utt}.wav" for utt in utts}, "text": dict.fromkeys(utts, "A WORD")}
    spk_tables = {"spk2fold": {"s0": "1", "s1": "2"}, "spk2gender": {"s0": "f", "s1": "m"}}
    return DataDir(tmp_path / "data", utts, tables, spk_tables).write(tmp_path / "data")


def split(data: DataDir, work_dir: Path, job: int, *utts: str) -> str:
    data.subset(utts).write(work_dir / "split" / str(job))
    (work_dir / "parts").mkdir(exist_ok=True)
    return str(work_dir)


def results(work_dir: Path) -> dict[str, str]:
    shards = Shards(work_dir / "parts")
    shards.scan()
    return {utt: str(result, "utf-8") for utt, result in shards.results()}


def test_a_worker_is_made_once_for_all_utterances_of_a_job(data: DataDir, tmp_path: Path) -> None:
    works = [split(data, tmp_path / "a", 1, "s0-0", "s0-1"), split(data, tmp_path / "b", 1, "s1-1")]
    split(data, tmp_path / "b", 2, "s1-0")
    work(SPELLER, ["x", ""], "1", works)
    assert [(made.words, made.done) for made in MADE] == [(("x", ""), ["s0-0", "s0-1", "s1-1"])]
    assert list(results(tmp_path / "a")) == ["s0-0", "s0-1"]
    assert results(tmp_path / "b") == {"s1-1": "x| s1-1 s1 /s1-1.wav [('spk2fold', '2'), ('spk2gender', 'm')]\n"}, (
        "each result in the work directory of its set, and the other job's is left to it"
    )


def test_a_job_whose_work_is_done_makes_no_worker(data: DataDir, tmp_path: Path) -> None:
    works = [split(data, tmp_path / "a", 1, "s0-0")]
    work(SPELLER, [], "1", works)
    work(SPELLER, [], "1", works)
    assert len(MADE) == 1, "the second run of a job finds the results of the first"


def test_a_job_that_does_not_see_its_work_says_so_after_a_wait(
    data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VPEVAL_VISIBLE_SECONDS", "0.5")
    works = [split(data, tmp_path / "a", 1, "s0-0"), str(tmp_path / "b")]
    with pytest.raises(Unseen, match="there is no work of job 2 to be seen on "):
        work(SPELLER, [], "2", works)
    assert not MADE
    command = [
        sys.executable,
        f"{ROOT}/steps/jobs/work.py",
        f"{SPELLER.module}:{SPELLER.name}",
        "--",
        "2",
        str(tmp_path / "b"),
    ]
    assert subprocess.run(command, capture_output=True).returncode == NOT_VISIBLE


def test_results_before_a_failure_are_kept_and_not_made_again(data: DataDir, tmp_path: Path) -> None:
    works = [split(data, tmp_path / "a", 1, "s0-0", "s0-1", "s1-0")]
    with pytest.raises(InputError, match=r"/s0-1\.wav: cannot be spelt"):
        work(SPELLER, ["s0-1"], "1", works)
    assert list(results(tmp_path / "a")) == ["s0-0"]
    assert [part.utt for part in job_parts("1", works)] == ["s0-1", "s1-0"]


def test_a_batch_runs_a_class_by_the_generic_script(
    data: DataDir, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def finish(target: batch.Target, shards: Shards) -> None:
        found = {utt: str(result, "utf-8") for utt, result in shards.results()}
        write_text(target.new / "all", "".join(found[utt] for utt in target.data.utts))

    monkeypatch.setenv("PYTHONPATH", f"{Path(__file__).parent}:{os.environ.get('PYTHONPATH', '')}")
    task = batch.Task("spell", SPELLER, finish, ("a b", "--", ""), tables=("wav.scp", "spk2fold"))
    target = batch.target(data.path, tmp_path / "out", [], [])
    batch.run(task, [target], f"{sys.executable} {ROOT}/utils/run.py", 2, tmp_path / "log")
    assert (tmp_path / "out/all").read_text().splitlines() == [
        f"a b|--| s{n}-{m} s{n} /s{n}-{m}.wav [('spk2fold', '{n + 1}')]" for n in range(2) for m in range(2)
    ], "the values of the tables that the task asks for, and of no other"
    assert "\nprogress: 2/2\n" in (tmp_path / "log/spell.2.log").read_text()
    assert not MADE, "the class is imported by the jobs, and not by who starts them"
