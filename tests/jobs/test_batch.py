import fcntl
import logging
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from vpeval.core import publish
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.data.directory import DataDir
from vpeval.jobs import batch
from vpeval.jobs.pieces import Pieces

ROOT = Path(__file__).resolve().parents[2]

# A launcher with the interface of $cmd that runs one job after the other, and a worker that notes what it does.
LAUNCHER = """#!/usr/bin/env bash
name=${1%%=*} last=${1##*:}
shift 2
for ((n = 1; n <= last; n++)); do "${@//$name/$n}" || exit 1; done
"""
WORKER = f"""#!{sys.executable}
import sys
from pathlib import Path
sys.path.insert(0, {str(ROOT)!r})
from vpeval.jobs import worker
room, job, works = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
def note(name, text):
    with open(room / name, "a") as file:
        print(text, file=file)
note("jobs", job)
parts = worker.job_parts(job, works)
with worker.recording(job, parts) as record:
    for part in parts:
        note("calls", part.utt)
        if (room / f"fail-{{part.utt}}").exists():
            sys.exit(1)
        if not (room / f"forget-{{part.utt}}").exists():
            record(part, f"{{part.wav}}\\n".encode())
"""


class Room:
    """A directory with data, a worker and a count of its calls."""

    def __init__(self, path: Path) -> None:
        self.path, self.out = path, path / "exp/a b"
        if (path / "data").exists():
            return
        for name, script in (("cmd", LAUNCHER), ("worker", WORKER)):
            write_text(path / name, script)
            (path / name).chmod(0o755)
        self.write_data("data", *(f"s{n}-1" for n in range(5)))

    def write_data(self, name: str, *utts: str) -> Path:
        tables = {"wav.scp": {utt: f"/{name}/{utt}.wav" for utt in utts}}
        return DataDir(self.path / name, {utt: utt[:2] for utt in utts}, tables).write(self.path / name).path

    def target(self, name: str = "data", out: Path | None = None, **options: object) -> batch.Target:
        return batch.target(self.path / name, out or self.out, [], [], **options)

    def task(self, finish=None) -> batch.Task:
        return batch.Task("test", (str(self.path / "worker"), str(self.path)), finish or join)

    def run(self, *targets: batch.Target, nj: int = 2, task: batch.Task | None = None) -> list[batch.Target]:
        return batch.run(
            task or self.task(), targets or [self.target()], f"'{self.path / 'cmd'}'", nj, self.path / "log"
        )

    def calls(self) -> list[str]:
        """The utterances that the worker was called for since the last time."""
        noted = self.path / "calls"
        lines = noted.read_text().split() if noted.exists() else []
        noted.unlink(missing_ok=True)
        return lines

    def pieces(self) -> list[tuple[Path, list[tuple[str, memoryview]]]]:
        """The pieces in the work directory, with their results."""
        found = sorted((self.target().work / "parts").iterdir())
        for path in found:
            assert path.suffix == ".piece"
        pieces = Pieces(self.target().work / "parts")
        pieces.look()
        return [(piece.path, list(piece.results())) for piece in pieces.pieces]

    def listing(self) -> list[str]:
        return sorted(path.name for path in self.out.parent.iterdir())


def join(target: batch.Target, pieces: Pieces) -> None:
    results = dict(pieces.results())
    write_text(target.new / "all", "".join(str(results[utt], "utf-8") for utt in target.data.utts))


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(tmp_path)


def test_every_utterance_is_done_once_and_the_results_are_published(room: Room) -> None:
    assert [target.out for target in room.run()] == [room.out]
    assert room.calls() == ["s0-1", "s1-1", "s2-1", "s3-1", "s4-1"]
    assert (room.out / "all").read_text() == "".join(f"/data/s{n}-1.wav\n" for n in range(5))
    assert room.listing() == [".a b.lock", "a b"]


@pytest.mark.parametrize(("nj", "jobs"), [(1, 1), (2, 2), (4, 4), (5, 5), (50, 5)])
def test_there_are_no_more_jobs_than_utterances(room: Room, nj: int, jobs: int) -> None:
    room.run(nj=nj)
    assert (room.path / "jobs").read_text().split() == [str(job + 1) for job in range(jobs)]
    assert sorted(room.calls()) == ["s0-1", "s1-1", "s2-1", "s3-1", "s4-1"]


def test_jobs_get_about_the_same_duration_and_not_the_same_number(room: Room) -> None:
    data = DataDir.load(room.path / "data")
    data.with_table("utt2dur", {utt: "8" if utt == "s0-1" else "2" for utt in data.utts}).write(data.path)
    with pytest.raises(InputError):
        room.run(task=room.task(stop))
    pieces = [(room.target().work / f"split/{job}/utt2spk").read_text().split()[::2] for job in (1, 2)]
    assert pieces == [["s0-1"], ["s1-1", "s2-1", "s3-1", "s4-1"]]


def stop(target: batch.Target, pieces: Pieces) -> None:
    raise InputError("that is enough")


def test_what_is_up_to_date_is_skipped_with_one_line(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    room.run()
    room.calls()
    with caplog.at_level(logging.INFO):
        assert room.run() == []
    assert room.calls() == []
    assert caplog.messages == ["1 sets of test up to date, skipped"]


def test_after_a_failure_only_what_is_missing_is_done_again(room: Room, caplog: pytest.LogCaptureFixture) -> None:
    (room.path / "fail-s3-1").touch()
    with pytest.raises(InputError, match=r"test failed .* what is finished is kept: fix the cause and run the same"):
        room.run(nj=1)
    assert room.calls() == ["s0-1", "s1-1", "s2-1", "s3-1"]
    assert not room.out.exists()
    (room.path / "fail-s3-1").unlink()
    with caplog.at_level(logging.INFO):
        room.run()
    assert room.calls() == ["s3-1", "s4-1"]
    assert f"{room.out}: going on, 3 of 5 utterances are there" in caplog.messages
    assert len((room.out / "all").read_text().split()) == 5


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_piece_that_was_damaged_on_disk_is_made_again(
    room: Room, damage: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("VPEVAL_PIECE_SECONDS", "0")
    (room.path / "fail-s3-1").touch()
    with pytest.raises(InputError):
        room.run(nj=1)
    (room.path / "fail-s3-1").unlink()
    pieces = {next(iter(dict(piece))): path for path, piece in room.pieces()}
    assert sorted(pieces) == ["s0-1", "s1-1", "s2-1"]
    hurt(pieces["s1-1"], damage)
    room.calls()
    room.run()
    assert room.calls() == ["s1-1", "s3-1", "s4-1"]
    assert f"{room.out}: WARNING: 1 damaged files of results are made again" in caplog.messages
    assert (room.out / "all").read_text() == "".join(f"/data/s{n}-1.wav\n" for n in range(5))


def test_a_piece_that_is_damaged_after_its_job_has_ended_is_made_again_in_the_same_call(room: Room) -> None:
    launcher = room.path / "cmd"
    spoil = """first=$(ls -d "$room"/exp/.*.work/parts/* | head -n 1)
[ -e "$room/spoilt" ] || { touch "$room/spoilt"; echo x >>"$first"; }
"""
    launcher.write_text(LAUNCHER + f"room='{room.path}'\n" + spoil)
    room.run()
    assert len(room.calls()) > 5
    assert (room.out / "all").read_text() == "".join(f"/data/s{n}-1.wav\n" for n in range(5))


def hurt(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "flip":
        content[-2] ^= 1
    path.write_bytes(bytes(content) if how == "flip" else content[: len(content) // 2 if how == "cut" else 0])


def test_a_job_that_runs_twice_changes_nothing(room: Room) -> None:
    room.path.joinpath("cmd").write_text(LAUNCHER.replace("|| exit 1", '|| exit 1; "${@//$name/$n}" || exit 1'))
    room.run()
    assert room.calls() == [f"s{n}-1" for n in range(5)], "the second finds the pieces of the first"
    room.write_data("data", "s0-1", "s1-1")
    room.path.joinpath("cmd").write_text(
        LAUNCHER.replace('"${@//$name/$n}"', '"${@//$name/$n}" & "${@//$name/$n}"; wait')
    )
    room.run()
    assert (room.out / "all").read_text() == "/data/s0-1.wav\n/data/s1-1.wav\n"


def test_what_a_killed_worker_half_wrote_is_cleared_away(room: Room) -> None:
    (room.path / "fail-s3-1").touch()
    with pytest.raises(InputError):
        room.run(nj=1)
    (room.path / "fail-s3-1").unlink()
    parts = room.target().work / "parts"
    (parts / ".1-abc.piece.k3j4.tmp").write_text("half")
    seen: list[str] = []

    def look(target: batch.Target, pieces: Pieces) -> None:
        seen.extend(path.suffix for path in parts.iterdir())
        join(target, pieces)

    room.run(task=room.task(look))
    assert set(seen) == {".piece"}


@pytest.mark.parametrize("change", ["option", "data"])
def test_work_that_was_begun_for_other_inputs_is_thrown_away(room: Room, change: str) -> None:
    (room.path / "fail-s3-1").touch()
    with pytest.raises(InputError):
        room.run(room.target(seed=0), nj=1)
    room.calls()
    (room.path / "fail-s3-1").unlink()
    if change == "data":
        room.write_data("data", *(f"s{n}-1" for n in range(4)))
    room.run(room.target(seed=1 if change == "option" else 0))
    assert room.calls() == [f"s{n}-1" for n in range(4 if change == "data" else 5)]


def test_results_of_changed_inputs_take_the_place_of_the_old_ones(room: Room) -> None:
    room.run()
    room.write_data("data", "s7-1")
    room.run()
    assert (room.out / "all").read_text() == "/data/s7-1.wav\n"
    assert room.listing() == [".a b.lock", "a b"]


def test_touched_results_are_made_again(room: Room) -> None:
    room.run()
    (room.out / "all").write_text("edited")
    room.calls()
    room.run()
    assert len(room.calls()) == 5
    assert (room.out / "all").read_text().startswith("/data/s0-1.wav\n")


def test_nothing_is_published_when_parts_are_missing(room: Room) -> None:
    for utt in ("s1-1", "s2-1"):
        (room.path / f"forget-{utt}").touch()
    with pytest.raises(InputError) as caught:
        room.run()
    assert str(caught.value) == (
        f"{room.out}: test ended without an error but made no result for 2 of 5 utterances (s1-1, s2-1); "
        "every utterance of wav.scp needs one"
    )
    assert not room.out.exists()


def test_old_results_stay_until_the_new_ones_are_whole(room: Room) -> None:
    room.run()
    room.write_data("data", "s7-1", "s8-1")
    (room.path / "fail-s8-1").touch()
    with pytest.raises(InputError):
        room.run(nj=1)
    assert len((room.out / "all").read_text().split()) == 5


def test_a_failing_finish_publishes_nothing_and_keeps_the_parts(room: Room) -> None:
    def fail(target: batch.Target, pieces: Pieces) -> None:
        (target.new / "half").write_text("x")
        raise InputError("the vectors average to zero")

    with pytest.raises(InputError, match="average to zero"):
        room.run(task=room.task(fail))
    assert not room.out.exists()
    room.calls()
    room.run()
    assert room.calls() == []
    assert (room.out / "all").exists()


def test_a_kill_between_the_two_renames_of_publishing_heals(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    room.run()
    room.write_data("data", "s7-1")
    original = Path.rename

    def killed(self: Path, target: Path) -> Path:
        if self.name == "out":
            raise KeyboardInterrupt
        return original(self, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "rename", killed)
        room.run()
    assert ".a b.old" in room.listing() and "a b" not in room.listing()
    room.calls()
    room.run()
    assert room.calls() == []
    assert (room.out / "all").read_text() == "/data/s7-1.wav\n"
    assert room.listing() == [".a b.lock", "a b"]


def test_a_kill_just_after_publishing_leaves_nothing_behind(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(new: Path, target: Path, *places: object) -> None:
        publish.publish(new, target)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(batch, "publish", killed)
        room.run()
    assert room.run() == []
    assert room.listing() == [".a b.lock", "a b"]


def test_several_directories_are_one_batch_of_which_only_the_stale_are_done(room: Room) -> None:
    room.write_data("more", "t0-1", "t1-1")
    other = room.path / "exp/other"
    room.run(room.target("more", other))
    room.calls()
    done = room.run(room.target(), room.target("more", other), nj=3)
    assert [target.out for target in done] == [room.out]
    room.write_data("more", "t0-1", "t2-1")
    room.write_data("data", "s0-1", "s1-1")
    room.calls()
    assert len(room.run(room.target(), room.target("more", other), nj=3)) == 2
    assert room.calls() == ["s0-1", "s1-1", "t0-1", "t2-1"]
    assert (other / "all").read_text() == "/more/t0-1.wav\n/more/t2-1.wav\n"


def test_two_directories_with_the_same_place_for_results_are_refused(room: Room) -> None:
    room.write_data("other/data", "s9-1")
    with pytest.raises(InputError, match="the results of two data directories would go here; name one of them"):
        room.run(room.target(), room.target("other/data"))
    with pytest.raises(InputError, match="would go here"):
        room.run(room.target(), room.target())


def test_a_path_may_contain_the_word_that_the_launcher_replaces(tmp_path: Path) -> None:
    room = Room(tmp_path / "JOB_JOBS")
    room.run(nj=3)
    assert len((room.out / "all").read_text().split()) == 5


def test_a_launcher_that_is_missing_or_malformed_is_the_participants_mistake(room: Room) -> None:
    with pytest.raises(InputError, match="launcher it's: No closing quotation"):
        batch.run(room.task(), [room.target()], "it's", 1, room.path / "log")
    with pytest.raises(FileNotFoundError):
        batch.run(room.task(), [room.target()], str(room.path / "nowhere"), 1, room.path / "log")


def test_a_second_process_waits_for_the_first_and_finds_the_work_done(room: Room) -> None:
    # The first process holds its worker until it is told to go on; the second has by then asked for the lock.
    worker = room.path / "worker"
    wait = f"sys.path.insert(0, {str(Path(__file__).parent)!r}); from test_batch import wait_until"
    worker.write_text(WORKER.replace('note("jobs", job)', f"{wait}; wait_until((room / 'go').exists)"))
    code = (
        "import logging, sys; logging.basicConfig(level=logging.INFO, format='%(message)s')\n"
        "sys.path.insert(0, sys.argv[1]); from pathlib import Path; from test_batch import Room\n"
        "print('made', len(Room(Path(sys.argv[2])).run()))"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(room.path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    wait_until(lambda: is_locked(room.out.parent / ".a b.lock"))
    second = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert second.stderr
    assert second.stderr.readline().startswith(f"{room.out} is being made by ")
    (room.path / "go").touch()
    assert first.communicate()[0].endswith("\nmade 1\n")
    assert second.communicate() == ("made 0\n", "1 sets of test up to date, skipped\n")
    assert len(room.calls()) == 5


def is_locked(path: Path) -> bool:
    if not path.exists():
        return False
    with open(path) as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False


def wait_until(condition, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


def test_the_real_launcher_runs_a_python_worker_on_its_share(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    write_text(
        room.path / "worker.py",
        "import sys\nfrom vpeval.jobs import worker\n"
        "parts = worker.job_parts(sys.argv[1], sys.argv[2:])\n"
        "with worker.recording(sys.argv[1], parts) as record:\n"
        "    for part in parts:\n"
        "        record(part, f'{sys.argv[1]} {part.utt} {part.wav}\\n'.encode())\n",
    )
    task = batch.Task("test", (sys.executable, str(room.path / "worker.py")), join)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    batch.run(task, [room.target()], f"{sys.executable} {ROOT}/utils/run.py", 2, room.path / "log")
    lines = (room.out / "all").read_text().splitlines()
    assert lines == [f"{1 if n < 2 else 2} s{n}-1 /data/s{n}-1.wav" for n in range(5)]
    assert "\nprogress: 3/3\n" in (room.path / "log/test.2.log").read_text()
