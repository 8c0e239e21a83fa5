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
from vpeval.core.lazy import Deferred
from vpeval.data.directory import DataDir
from vpeval.jobs import batch
from vpeval.jobs.backends import base
from vpeval.jobs.shards import Shards

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
sandbox, job, works = Path(sys.argv[1]), sys.argv[2], sys.argv[3:]
def note(name, text):
    with open(sandbox / name, "a") as file:
        print(text, file=file)
note("jobs", job)
parts = worker.job_parts(job, works)
with worker.recording(job, parts) as record:
    for part in parts:
        note("calls", part.utt)
        if (sandbox / f"fail-{{part.utt}}").exists():
            sys.exit(1)
        if not (sandbox / f"forget-{{part.utt}}").exists():
            record(part, f"{{part.wav}}\\n".encode())
"""


class Sandbox:
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

    def shards(self) -> list[tuple[Path, list[tuple[str, memoryview]]]]:
        """The shards in the work directory, with their results."""
        found = sorted((self.target().work / "parts").iterdir())
        for path in found:
            assert path.suffix == ".piece"
        found = Shards(self.target().work / "parts")
        found.scan()
        return [(shard.path, list(shard.results())) for shard in found.shards]

    def listing(self) -> list[str]:
        return sorted(path.name for path in self.out.parent.iterdir())


def join(target: batch.Target, shards: Shards) -> None:
    results = dict(shards.results())
    write_text(target.new / "all", "".join(str(results[utt], "utf-8") for utt in target.data.utts))


# The same with logs that say that every task took 300 s; it notes how many tasks there were.
SLOW_LAUNCHER = """#!/usr/bin/env bash
name=${1%%=*} last=${1##*:} log=$2 code=0
while [[ $name = -* ]]; do shift 2; name=${1%%=*} last=${1##*:} log=$2; done
shift 2
echo "$last" >>"${0%/*}/launches"
mkdir -p "${log%/*}"
for ((n = 1; n <= last; n++)); do
  "${@//$name/$n}" >"${log//$name/$n}" || code=1
  echo "# Accounting: time=300 threads=1" >>"${log//$name/$n}"
done
exit $code
"""


@pytest.fixture
def sandbox(tmp_path: Path) -> Sandbox:
    return Sandbox(tmp_path)


def test_every_utterance_is_done_once_and_the_results_are_published(sandbox: Sandbox) -> None:
    assert [target.out for target in sandbox.run()] == [sandbox.out]
    assert sandbox.calls() == ["s0-1", "s1-1", "s2-1", "s3-1", "s4-1"]
    assert (sandbox.out / "all").read_text() == "".join(f"/data/s{n}-1.wav\n" for n in range(5))
    assert sandbox.listing() == [".a b.lock", "a b"]


@pytest.mark.parametrize(("nj", "jobs"), [(1, 1), (2, 2), (4, 4), (5, 5), (50, 5)])
def test_there_are_no_more_jobs_than_utterances(sandbox: Sandbox, nj: int, jobs: int) -> None:
    sandbox.run(nj=nj)
    assert (sandbox.path / "jobs").read_text().split() == [str(job + 1) for job in range(jobs)]
    assert sorted(sandbox.calls()) == ["s0-1", "s1-1", "s2-1", "s3-1", "s4-1"]


def test_jobs_get_about_the_same_duration_and_not_the_same_number(sandbox: Sandbox) -> None:
    data = DataDir.load(sandbox.path / "data")
    data.with_table("utt2dur", {utt: "8" if utt == "s0-1" else "2" for utt in data.utts}).write(data.path)
    with pytest.raises(InputError):
        sandbox.run(task=sandbox.task(stop))
    splits = [(sandbox.target().work / f"split/{job}/utt2spk").read_text().split()[::2] for job in (1, 2)]
    assert splits == [["s0-1"], ["s1-1", "s2-1", "s3-1", "s4-1"]]


def stop(target: batch.Target, shards: Shards) -> None:
    raise InputError("that is enough")


@pytest.fixture
def slow(sandbox: Sandbox) -> Sandbox:
    """200 utterances of 100 s, which take ten times as long as assumed."""
    write_text(sandbox.path / "cmd", SLOW_LAUNCHER)
    (sandbox.path / "cmd").chmod(0o755)
    utts = [f"s{n}-1" for n in range(100, 300)]
    tables = {"wav.scp": {utt: f"/{utt}.wav" for utt in utts}, "utt2dur": dict.fromkeys(utts, "100.0")}
    DataDir(sandbox.path / "data", {utt: utt[:4] for utt in utts}, tables).write(sandbox.path / "data")
    return sandbox


def launches(sandbox: Sandbox) -> list[int]:
    return [int(line) for line in (sandbox.path / "launches").read_text().split()]


def test_the_first_call_measures_the_pace_by_short_tasks_and_cuts_the_rest_by_it(slow: Sandbox) -> None:
    slow.run()
    assert len(slow.calls()) == 200
    pilot, rest = launches(slow)
    assert pilot == 2  # one for every worker, of 300 s of speech
    assert rest > 19400 / 600  # at a second of speech in a second, and not at ten


def test_a_call_after_a_failure_uses_what_was_measured(slow: Sandbox) -> None:
    (slow.path / "fail-s104-1").touch()
    with pytest.raises(InputError, match="failed"):
        slow.run()
    (slow.path / "fail-s104-1").unlink()
    slow.run()
    first, second = launches(slow)
    assert first == 2 and second > 19400 / 600
    assert len(set(slow.calls())) == 200


def test_what_is_up_to_date_is_skipped_with_one_line(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    sandbox.run()
    sandbox.calls()
    with caplog.at_level(logging.INFO):
        assert sandbox.run() == []
    assert sandbox.calls() == []
    assert caplog.messages == ["1 sets of test up to date, skipped"]


def test_after_a_failure_only_what_is_missing_is_done_again(sandbox: Sandbox, caplog: pytest.LogCaptureFixture) -> None:
    (sandbox.path / "fail-s3-1").touch()
    with pytest.raises(InputError, match=r"test failed .* what is finished is kept: fix the cause and run the same"):
        sandbox.run(nj=1)
    assert sandbox.calls() == ["s0-1", "s1-1", "s2-1", "s3-1"]
    assert not sandbox.out.exists()
    (sandbox.path / "fail-s3-1").unlink()
    with caplog.at_level(logging.INFO):
        sandbox.run()
    assert sandbox.calls() == ["s3-1", "s4-1"]
    assert f"{sandbox.out}: going on, 3 of 5 utterances are there" in caplog.messages
    assert len((sandbox.out / "all").read_text().split()) == 5


@pytest.mark.parametrize("damage", ["cut", "flip", "empty"])
def test_a_shard_that_was_damaged_on_disk_is_made_again(
    sandbox: Sandbox, damage: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("VPEVAL_PIECE_SECONDS", "0")
    (sandbox.path / "fail-s3-1").touch()
    with pytest.raises(InputError):
        sandbox.run(nj=1)
    (sandbox.path / "fail-s3-1").unlink()
    shards = {next(iter(dict(shard))): path for path, shard in sandbox.shards()}
    assert sorted(shards) == ["s0-1", "s1-1", "s2-1"]
    damage_file(shards["s1-1"], damage)
    sandbox.calls()
    sandbox.run()
    assert sandbox.calls() == ["s1-1", "s3-1", "s4-1"]
    assert f"{sandbox.out}: WARNING: 1 damaged files of results are made again" in caplog.messages
    assert (sandbox.out / "all").read_text() == "".join(f"/data/s{n}-1.wav\n" for n in range(5))


def test_a_shard_that_is_damaged_after_its_job_has_ended_is_made_again_in_the_same_call(sandbox: Sandbox) -> None:
    launcher = sandbox.path / "cmd"
    spoil = """first=$(ls -d "$sandbox"/exp/.*.work/parts/* | head -n 1)
[ -e "$sandbox/spoilt" ] || { touch "$sandbox/spoilt"; echo x >>"$first"; }
"""
    launcher.write_text(LAUNCHER + f"sandbox='{sandbox.path}'\n" + spoil)
    sandbox.run()
    assert len(sandbox.calls()) > 5
    assert (sandbox.out / "all").read_text() == "".join(f"/data/s{n}-1.wav\n" for n in range(5))


def damage_file(path: Path, how: str) -> None:
    content = bytearray(path.read_bytes())
    if how == "flip":
        content[-2] ^= 1
    path.write_bytes(bytes(content) if how == "flip" else content[: len(content) // 2 if how == "cut" else 0])


def test_a_job_that_runs_twice_changes_nothing(sandbox: Sandbox) -> None:
    sandbox.path.joinpath("cmd").write_text(LAUNCHER.replace("|| exit 1", '|| exit 1; "${@//$name/$n}" || exit 1'))
    sandbox.run()
    assert sandbox.calls() == [f"s{n}-1" for n in range(5)], "the second finds the shards of the first"
    sandbox.write_data("data", "s0-1", "s1-1")
    sandbox.path.joinpath("cmd").write_text(
        LAUNCHER.replace('"${@//$name/$n}"', '"${@//$name/$n}" & "${@//$name/$n}"; wait')
    )
    sandbox.run()
    assert (sandbox.out / "all").read_text() == "/data/s0-1.wav\n/data/s1-1.wav\n"


def test_what_a_killed_worker_half_wrote_is_cleared_away(sandbox: Sandbox) -> None:
    (sandbox.path / "fail-s3-1").touch()
    with pytest.raises(InputError):
        sandbox.run(nj=1)
    (sandbox.path / "fail-s3-1").unlink()
    parts = sandbox.target().work / "parts"
    (parts / ".1-abc.piece.k3j4.tmp").write_text("half")
    seen: list[str] = []

    def inspect(target: batch.Target, shards: Shards) -> None:
        seen.extend(path.suffix for path in parts.iterdir())
        join(target, shards)

    sandbox.run(task=sandbox.task(inspect))
    assert set(seen) == {".piece"}


@pytest.mark.parametrize("change", ["option", "data"])
def test_work_that_was_begun_for_other_inputs_is_thrown_away(sandbox: Sandbox, change: str) -> None:
    (sandbox.path / "fail-s3-1").touch()
    with pytest.raises(InputError):
        sandbox.run(sandbox.target(seed=0), nj=1)
    sandbox.calls()
    (sandbox.path / "fail-s3-1").unlink()
    if change == "data":
        sandbox.write_data("data", *(f"s{n}-1" for n in range(4)))
    sandbox.run(sandbox.target(seed=1 if change == "option" else 0))
    assert sandbox.calls() == [f"s{n}-1" for n in range(4 if change == "data" else 5)]


def test_results_of_changed_inputs_take_the_place_of_the_old_ones(sandbox: Sandbox) -> None:
    sandbox.run()
    sandbox.write_data("data", "s7-1")
    sandbox.run()
    assert (sandbox.out / "all").read_text() == "/data/s7-1.wav\n"
    assert sandbox.listing() == [".a b.lock", "a b"]


def test_touched_results_are_made_again(sandbox: Sandbox) -> None:
    sandbox.run()
    (sandbox.out / "all").write_text("edited")
    sandbox.calls()
    sandbox.run()
    assert len(sandbox.calls()) == 5
    assert (sandbox.out / "all").read_text().startswith("/data/s0-1.wav\n")


def test_nothing_is_published_when_parts_are_missing(sandbox: Sandbox) -> None:
    for utt in ("s1-1", "s2-1"):
        (sandbox.path / f"forget-{utt}").touch()
    with pytest.raises(InputError) as caught:
        sandbox.run()
    assert str(caught.value) == (
        f"{sandbox.out}: test ended without an error but made no result for 2 of 5 utterances (s1-1, s2-1); "
        "every utterance of wav.scp needs one"
    )
    assert not sandbox.out.exists()


def test_old_results_stay_until_the_new_ones_are_whole(sandbox: Sandbox) -> None:
    sandbox.run()
    sandbox.write_data("data", "s7-1", "s8-1")
    (sandbox.path / "fail-s8-1").touch()
    with pytest.raises(InputError):
        sandbox.run(nj=1)
    assert len((sandbox.out / "all").read_text().split()) == 5


def test_a_failing_finish_publishes_nothing_and_keeps_the_parts(sandbox: Sandbox) -> None:
    def fail(target: batch.Target, shards: Shards) -> None:
        (target.new / "half").write_text("x")
        raise InputError("the vectors average to zero")

    with pytest.raises(InputError, match="average to zero"):
        sandbox.run(task=sandbox.task(fail))
    assert not sandbox.out.exists()
    sandbox.calls()
    sandbox.run()
    assert sandbox.calls() == []
    assert (sandbox.out / "all").exists()


def test_a_kill_between_the_two_renames_of_publishing_heals(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox.run()
    sandbox.write_data("data", "s7-1")
    original = Path.rename

    def killed(self: Path, target: Path) -> Path:
        if self.name == "out":
            raise KeyboardInterrupt
        return original(self, target)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "rename", killed)
        sandbox.run()
    assert any(name.startswith(".a b.") and name.endswith(".old") for name in sandbox.listing())
    assert "a b" not in sandbox.listing()
    sandbox.calls()
    sandbox.run()
    assert sandbox.calls() == []
    assert (sandbox.out / "all").read_text() == "/data/s7-1.wav\n"
    assert sandbox.listing() == [".a b.lock", "a b"]


def test_a_kill_just_after_publishing_leaves_nothing_behind(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    def killed(new: Path, target: Path, *places: object) -> None:
        publish.publish(new, target)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(batch, "publish", killed)
        sandbox.run()
    assert sandbox.run() == []
    assert sandbox.listing() == [".a b.lock", "a b"]


def test_several_directories_are_one_batch_of_which_only_the_stale_are_done(sandbox: Sandbox) -> None:
    sandbox.write_data("more", "t0-1", "t1-1")
    other = sandbox.path / "exp/other"
    sandbox.run(sandbox.target("more", other))
    sandbox.calls()
    done = sandbox.run(sandbox.target(), sandbox.target("more", other), nj=3)
    assert [target.out for target in done] == [sandbox.out]
    sandbox.write_data("more", "t0-1", "t2-1")
    sandbox.write_data("data", "s0-1", "s1-1")
    sandbox.calls()
    assert len(sandbox.run(sandbox.target(), sandbox.target("more", other), nj=3)) == 2
    assert sandbox.calls() == ["s0-1", "s1-1", "t0-1", "t2-1"]
    assert (other / "all").read_text() == "/more/t0-1.wav\n/more/t2-1.wav\n"


def test_two_directories_with_the_same_place_for_results_are_refused(sandbox: Sandbox) -> None:
    sandbox.write_data("other/data", "s9-1")
    with pytest.raises(InputError, match="the results of two data directories would go here; name one of them"):
        sandbox.run(sandbox.target(), sandbox.target("other/data"))
    with pytest.raises(InputError, match="would go here"):
        sandbox.run(sandbox.target(), sandbox.target())


def test_a_path_may_contain_the_word_that_the_launcher_replaces(tmp_path: Path) -> None:
    sandbox = Sandbox(tmp_path / "JOB_JOBS")
    sandbox.run(nj=3)
    assert len((sandbox.out / "all").read_text().split()) == 5


def test_a_launcher_that_is_missing_or_malformed_is_the_participants_mistake(sandbox: Sandbox) -> None:
    with pytest.raises(InputError, match="launcher it's: No closing quotation"):
        batch.run(sandbox.task(), [sandbox.target()], "it's", 1, sandbox.path / "log")
    with pytest.raises(FileNotFoundError):
        batch.run(sandbox.task(), [sandbox.target()], str(sandbox.path / "nowhere"), 1, sandbox.path / "log")


def test_a_second_process_waits_for_the_first_and_finds_the_work_done(sandbox: Sandbox) -> None:
    # The first process holds its worker until the file `go` exists; by then the second waits for the lock.
    worker = sandbox.path / "worker"
    wait = f"sys.path.insert(0, {str(Path(__file__).parent)!r}); from test_batch import wait_until"
    worker.write_text(WORKER.replace('note("jobs", job)', f"{wait}; wait_until((sandbox / 'go').exists)"))
    code = (
        "import logging, sys; logging.basicConfig(level=logging.INFO, format='%(message)s')\n"
        "sys.path.insert(0, sys.argv[1]); from pathlib import Path; from test_batch import Sandbox\n"
        "print('made', len(Sandbox(Path(sys.argv[2])).run()))"
    )
    command = [sys.executable, "-c", code, str(Path(__file__).parent), str(sandbox.path)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    wait_until(lambda: is_locked(sandbox.out.parent / ".a b.lock"))
    second = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
    assert second.stderr
    assert second.stderr.readline().startswith(f"{sandbox.out} is being made by ")
    (sandbox.path / "go").touch()
    assert first.communicate()[0].endswith("\nmade 1\n")
    assert second.communicate() == ("made 0\n", "1 sets of test up to date, skipped\n")
    assert len(sandbox.calls()) == 5


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


def test_the_real_launcher_runs_a_python_worker_on_its_share(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    write_text(
        sandbox.path / "worker.py",
        "import sys\nfrom vpeval.jobs import worker\n"
        "parts = worker.job_parts(sys.argv[1], sys.argv[2:])\n"
        "with worker.recording(sys.argv[1], parts) as record:\n"
        "    for part in parts:\n"
        "        record(part, f'{sys.argv[1]} {part.utt} {part.wav}\\n'.encode())\n",
    )
    task = batch.Task("test", (sys.executable, str(sandbox.path / "worker.py")), join)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    batch.run(task, [sandbox.target()], f"{sys.executable} {ROOT}/utils/run.py", 2, sandbox.path / "log")
    lines = (sandbox.out / "all").read_text().splitlines()
    assert lines == [f"{1 if n < 2 else 2} s{n}-1 /data/s{n}-1.wav" for n in range(5)]
    assert "\nprogress: 3/3\n" in (sandbox.path / "log/test.2.log").read_text()


class Cluster:
    """A backend whose jobs go on when their launcher has died: a file beside the log shows that there are some."""

    @staticmethod
    def file(log: Path) -> Path:
        return log.with_name(f".{log.name}.jobs")

    @classmethod
    def left_behind(cls, log: Path) -> "Cluster | None":
        return cls(log) if cls.file(log).exists() else None

    def __init__(self, log: Path) -> None:
        self.log = log

    def clear(self, note) -> None:
        self.file(self.log).unlink()
        note("jobs of an earlier call were cancelled")


def leave_jobs_behind(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A batch of three jobs that was killed, and whose jobs go on; returns the file that shows it."""
    monkeypatch.setattr(base, "BACKENDS", {"cluster": Deferred("test_batch", "Cluster")})
    monkeypatch.setitem(sys.modules, "test_batch", sys.modules[__name__])
    (sandbox.path / "fail-s3-1").touch()
    with pytest.raises(InputError):
        sandbox.run(nj=3)
    (sandbox.path / "fail-s3-1").unlink()
    (sandbox.path / "jobs").unlink()
    sandbox.calls()
    write_text(jobs := Cluster.file(sandbox.path / "log/test.array.log"), "")
    return jobs


def test_jobs_that_went_on_without_their_launcher_are_found_by_the_same_cut(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    jobs = leave_jobs_behind(sandbox, monkeypatch)
    with caplog.at_level(logging.INFO):
        sandbox.run(nj=5)
    assert (sandbox.path / "jobs").read_text().split() == ["1", "2", "3"], "and not the two jobs of a new cut"
    assert sandbox.calls() == ["s3-1", "s4-1"]
    assert not jobs.exists() and "jobs of an earlier call were cancelled" in caplog.messages, (
        "the launcher of this test knows no cluster, so that the jobs there must not write any more"
    )


def test_jobs_that_went_on_for_something_else_are_ended_before_anything_is_made(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs = leave_jobs_behind(sandbox, monkeypatch)
    launcher = sandbox.path / "cmd"
    launcher.write_text(LAUNCHER.replace("shift 2", f"[ -e '{jobs}' ] && exit 1\nshift 2"))
    sandbox.run(sandbox.target(seed=1), nj=1)
    assert (sandbox.path / "jobs").read_text().split() == ["1"]
    assert sandbox.calls() == [f"s{n}-1" for n in range(5)]


def test_tasks_get_the_gpus_of_the_machine_and_are_cut_for_as_many_jobs_as_these_take(
    sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    smi, worker = sandbox.path / "bin/nvidia-smi", sandbox.path / "gpu_worker"
    write_text(smi, "#!/bin/sh\necho 'GPU 0: Stub (UUID: GPU-a)'\necho 'GPU 1: Stub (UUID: GPU-b)'\n")
    # Each job waits until both run, so that one cannot end before the other gets its GPU.
    here = f'cd "{sandbox.path}"; echo $CUDA_VISIBLE_DEVICES >gpu.$2'
    write_text(
        worker,
        f'#!/bin/bash\n({here}; until [ -e gpu.1 ] && [ -e gpu.2 ]; do sleep 0.01; done)\nexec "${{0%/*}}/worker" "$@"\n',
    )
    for path in (smi, worker):
        path.chmod(0o755)
    monkeypatch.setenv("PATH", f"{smi.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("VPEVAL_GPU_LEASES", str(sandbox.path / "leases"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    task = batch.Task("test", (str(worker), str(sandbox.path)), join, jobs_per_gpu=1)
    batch.run(task, [sandbox.target()], str(ROOT / "utils/run.py"), 5, sandbox.path / "log")
    assert sorted(path.read_text() for path in sandbox.path.glob("gpu.*")) == ["0\n", "1\n"]
