import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.lazy import Deferred
from vpeval.data.directory import DataDir
from vpeval.jobs import batch
from vpeval.jobs.backends.base import NOT_VISIBLE
from vpeval.jobs.shards import Shards
from vpeval.jobs.worker import Part, Unseen, job_parts, work
from vpeval.jobs.worker import results as worker_results

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


class Measurer:
    """A worker in two steps: it notes what it computes together; what is called bad cannot be read or computed."""

    most = 3

    def __init__(self, bad: str = "") -> None:
        self.bad, self.groups = bad, list[list[str]]()
        self.read_now, self.waited = set[str](), list[str]()

    def read(self, part) -> str:
        if part.utt == f"{self.bad}-read":
            raise InputError("cannot be read", part.wav)
        self.read_now.add(part.utt)
        return part.utt.split("-")[0]

    def alike(self, item: str) -> str | None:
        return None if item == "alone" else item

    def start(self, parts, items):
        assert {part.utt.split("-")[0] for part in parts} == set(items)
        if self.bad in items:
            raise InputError("cannot be computed", self.bad)
        self.groups.append([part.utt for part in parts])

        def wait() -> list[bytes]:
            self.waited.append(parts[0].utt)
            return [part.utt.encode() for part in parts]

        return wait


def parts_of(*utts: str, seconds: float = 0.0) -> list[Part]:
    return [Part(utt, "s", f"/{utt}.wav", Path(), seconds=seconds) for utt in utts]


def test_only_utterances_that_are_alike_are_computed_together_and_no_more_than_the_worker_takes() -> None:
    worker = Measurer()
    utts = ("a-1", "a-2", "a-3", "a-4", "alone-1", "alone-2", "b-1", "c-1", "c-2")
    found = list(worker_results(worker, parts_of(*reversed(utts))))
    assert worker.groups == [["a-1", "a-2", "a-3"], ["a-4"], ["alone-1"], ["alone-2"], ["b-1"], ["c-1", "c-2"]]
    assert [(part.utt, result.decode()) for part, result in found] == [(utt, utt) for utt in utts]


def test_a_group_has_no_more_speech_than_memory_is_for() -> None:
    worker = Measurer()
    list(worker_results(worker, parts_of("a-1", "a-2", "a-3", seconds=70.0)))
    assert worker.groups == [["a-1", "a-2"], ["a-3"]]


def test_on_the_cpu_utterances_keep_their_order_and_are_computed_one_by_one() -> None:
    worker = Measurer()
    worker.most = 1
    utts = ["b-1", "a-1", "a-2", "b-2"]
    assert [part.utt for part, _ in worker_results(worker, parts_of(*utts))] == utts
    assert worker.groups == [[utt] for utt in utts]


def test_the_next_utterances_are_read_while_one_is_computed() -> None:
    class Patient(Measurer):
        most, read_next = 1, threading.Event()

        def read(self, part) -> str:
            if part.utt == "b-1":
                self.read_next.set()
            return super().read(part)

        def start(self, parts, items):
            assert self.read_next.wait(60), "nobody reads while this computes"
            return super().start(parts, items)

    assert len(list(worker_results(Patient(), parts_of("a-1", "b-1")))) == 2


def test_a_device_gets_the_next_group_before_the_results_of_the_one_before_are_waited_for() -> None:
    worker = Measurer()
    order = []
    for part, _ in worker_results(worker, parts_of("a-1", "b-1", "c-1")):
        order.append((part.utt, len(worker.groups)))
    assert order == [("a-1", 2), ("b-1", 3), ("c-1", 3)]


@pytest.mark.parametrize("bad", ["c", "c-1-read"])
def test_what_a_device_still_computes_is_not_lost_when_the_next_utterance_cannot_be_used(bad: str) -> None:
    worker, found = Measurer(bad.removesuffix("-read")), []
    utts = ("a-1", "b-1", "c-1-read" if "read" in bad else "c-1", "d-1")
    if "read" in bad:
        worker.bad = "c-1"
    with pytest.raises(InputError, match="cannot be"):
        for part, _ in worker_results(worker, parts_of(*utts)):
            found.append(part.utt)
    assert found == ["a-1", "b-1"]


def test_a_part_knows_the_length_of_its_utterance(data: DataDir, tmp_path: Path) -> None:
    timed = data.with_table("utt2dur", dict.fromkeys(data.utts, "1.5"))
    assert [part.seconds for part in job_parts("1", [split(timed, tmp_path / "a", 1, "s0-0")])] == [1.5]
    assert [part.seconds for part in job_parts("1", [split(data, tmp_path / "b", 1, "s0-0")])] == [0.0]
