import os
import re
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.core.gpus import Leases, visible
from vpeval.core.processes import alive
from vpeval.jobs import launch
from vpeval.jobs.backends import local
from vpeval.jobs.backends.base import Attempt, Backend, Ended, Snapshot
from vpeval.jobs.launch import JobArray, parse
from vpeval.jobs.progress import Progress, last_progress


def words(*command: str) -> str:
    return parse(["JOB=3:5", "x.JOB.log", *command]).shell_line(4)


def run(*arguments: str) -> list[launch.Failure]:
    return launch.run(array := parse(arguments), local.Local(array))


def test_options_array_log_and_command_are_told_apart() -> None:
    options = ["--mem", "4G", "--num-threads", "3", "--gpu", "1", "--max-jobs-run", "2"]
    assert parse([*options, "JOB=2:7", "log/x.JOB.log", "echo", "--nj", "JOB"]) == JobArray(
        "JOB", 2, 7, "log/x.JOB.log", ("echo", "--nj", "JOB"), num_threads=3, gpus=1, max_jobs=2, mem="4G"
    )


def test_without_an_array_there_is_one_job_and_nothing_is_replaced() -> None:
    array = parse(["x.log", "echo", "JOB"])
    assert (array.first, array.last, array.shell_line(1)) == (1, 1, "echo JOB")


def test_the_name_of_the_array_may_be_any_and_is_replaced_wherever_it_stands() -> None:
    array = parse(["n=3:4", "log/x.n.log", "in/n/x.n", "=n"])
    assert (array.log_of(3), array.shell_line(4)) == (Path("log/x.3.log"), "i4/4/x.4 =4")
    assert parse(["JOB=5", "x.log", "echo"]).last == 5


def test_operators_work_and_all_other_words_arrive_as_they_are() -> None:
    assert words("a", "|", "b", "2>&1", ">", "out.JOB", "&&", "c", ";", "d", "||", "e", "<", "f", ">>", "g", ">&2") == (
        "a | b 2>&1 > out.4 && c ; d || e < f >> g >&2"
    )
    assert words("a b", "c'd", "$HOME", "x|y", "*", "") == "'a b' 'c'\"'\"'d' '$HOME' 'x|y' '*' ''"


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "expected a log file and a command"),
        ("x.log", "expected a log file and a command"),
        ("JOB=1:2 x.JOB.log", "expected a log file and a command"),
        (
            "--memory 4G x.log true",
            "unknown option --memory; there are --mem, --num-threads, --gpu, --jobs-per-gpu, --max-jobs-run, --time",
        ),
        ("--mem lots x.log true", "--mem lots: expected a number with K, M, G or T, such as 4G"),
        ("--mem 0 x.log true", "--mem 0: expected"),
        (
            "--time soon x.log true",
            "--time soon: expected minutes, hours:minutes:seconds or days-hours:minutes:seconds",
        ),
        ("--time 0:00 x.log true", "--time 0:00: a job needs more than no time at all"),
        ("-tc 4 x.log true", "unknown option -tc"),
        ("--mem", "--mem needs a value"),
        ("--num-threads two x.log true", "--num-threads two: expected a whole number"),
        ("--gpu ² x.log true", "--gpu ²: expected a whole number, or auto"),
        ("--jobs-per-gpu x x.log true", "--jobs-per-gpu x: expected a whole number"),
        ("--max-jobs-run -1 x.log true", "--max-jobs-run -1: expected a whole number"),
        ("JOB=0:3 x.JOB.log true", "JOB=0:3: expected JOB=<first>:<last> with 1 <= first <= last"),
        ("JOB=3:2 x.JOB.log true", "JOB=3:2: expected"),
        ("JOB=1:N x.JOB.log true", "JOB=1:N: expected JOB=<first>:<last> with whole numbers"),
        ("JOB= x.JOB.log true", "JOB=: expected"),
        ("JOB=1:4 x.log true", "log file x.log must contain JOB, or 4 jobs would share it"),
    ],
)
def test_a_wrong_line_is_explained(line: str, complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        parse(line.split(" ") if line else [])
    assert complaint in str(caught.value)


def test_a_log_has_the_command_the_times_and_the_output_as_in_kaldi(tmp_path: Path) -> None:
    log = tmp_path / "log/x.JOB.log"
    assert run("--num-threads", "2", "JOB=1:2", str(log), "echo", "job JOB", ">&2") == []
    clock = r"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}"
    assert re.fullmatch(
        rf"# echo 'job 2' >&2\n# Started at {clock}\n#\njob 2\n"
        rf"# Accounting: time=\d+ threads=2\n# Ended \(code 0\) at {clock}, elapsed time \d+ seconds\n",
        (tmp_path / "log/x.2.log").read_text(),
    )


def test_words_with_blanks_quotes_dollars_and_bars_reach_the_command(tmp_path: Path) -> None:
    odd = ["a b", "it's", '"', "$HOME", "`id`", "x|y", "*", "", "\\n", "é"]
    assert run(str(tmp_path / "x.log"), "printf", "<%s>\\n", *odd, "|", "sort", ">", f"{tmp_path}/out") == []
    assert sorted(f"<{word}>" for word in odd) == sorted((tmp_path / "out").read_text().splitlines())


def test_jobs_know_how_many_threads_they_may_use(tmp_path: Path) -> None:
    command = ("bash", "-c", "echo $OMP_NUM_THREADS $OPENBLAS_NUM_THREADS $MKL_NUM_THREADS")
    run("--num-threads", "3", str(tmp_path / "x.log"), *command)
    assert "\n3 3 3\n" in (tmp_path / "x.log").read_text()


def test_jobs_have_no_input(tmp_path: Path) -> None:
    assert run(str(tmp_path / "x.log"), "cat") == []


def test_failures_are_returned_and_the_others_go_on(tmp_path: Path) -> None:
    log = tmp_path / "x.JOB.log"
    failures = run("JOB=1:3", str(log), "bash", "-c", "echo this is job JOB; ((JOB != 2)) || exit 7")
    assert failures == [launch.Failure(2, 7, tmp_path / "x.2.log")]
    assert "# Ended (code 7) at " in (tmp_path / "x.2.log").read_text()
    assert "# Ended (code 0) at " in (tmp_path / "x.3.log").read_text()


def test_a_pipeline_fails_with_any_of_its_commands(tmp_path: Path) -> None:
    assert [failure.code for failure in run(str(tmp_path / "x.log"), "false", "|", "cat")] == [1]


def test_a_job_that_was_killed_is_told_from_one_that_failed(tmp_path: Path) -> None:
    (failure,) = run(str(tmp_path / "x.log"), "bash", "-c", "kill -9 $$")
    assert failure.code == -9
    assert "job 1 was killed by signal 9; " in failure.describe()
    assert "# Ended (code 137) at " in (tmp_path / "x.log").read_text()


def test_a_failure_is_described_by_the_end_of_its_log(tmp_path: Path) -> None:
    lines = "".join(f"line {n}\n" for n in range(9))
    (tmp_path / "x.log").write_text(f"# echo\n#\n{lines}progress: 3/9\n# Ended (code 1)\n")
    shown = "".join(f"\n  | line {n}" for n in range(4, 9))
    failure = launch.Failure(3, 1, tmp_path / "x.log")
    assert failure.describe() == f"job 3 failed with exit code 1; the end of {tmp_path / 'x.log'} is:{shown}"
    (tmp_path / "x.log").write_bytes(b"# echo\n#\n\xff\xfe\n")
    assert failure.describe().endswith("is:\n  | \ufffd\ufffd")
    (tmp_path / "x.log").unlink()
    assert failure.describe().endswith("is: empty")


@pytest.mark.parametrize("limit", [1, 2])
def test_no_more_jobs_run_at_a_time_than_allowed(tmp_path: Path, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local.Local, "poll_seconds", 0.01)
    # A job counts those that have begun and not ended, itself included.
    job = f"cd {tmp_path}; touch begun.JOB; ls | grep -c begun >seen.JOB; sleep 0.02; mv begun.JOB ended.JOB"
    line = ("--max-jobs-run", str(limit), "JOB=1:6", str(tmp_path / "log.JOB"), "bash", "-c", job)
    assert run(*line) == []
    seen = [int((tmp_path / f"seen.{n}").read_text()) for n in range(1, 7)]
    assert max(seen) <= limit


def test_as_many_jobs_run_as_there_are_cores_and_a_few_more_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local.os, "sched_getaffinity", lambda _: set(range(10)))
    sizes = {count: local.parallel_jobs(parse([f"J=1:{count}", "J", "x"])) for count in (1, 10, 13, 14, 50)}
    assert sizes == {1: 1, 10: 10, 13: 13, 14: 10, 50: 10}
    assert local.parallel_jobs(parse(["--max-jobs-run", "3", "J=1:50", "J", "x"])) == 3


@pytest.fixture
def gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Four GPUs, as far as nvidia-smi says, eight cores, and leases of its own."""
    lines = "".join(f"echo 'GPU {n}: Stub (UUID: GPU-{n}{n})'\n" for n in range(4))
    smi = tmp_path / "bin/nvidia-smi"
    smi.parent.mkdir()
    smi.write_text(f"#!/bin/sh\n{lines}")
    smi.chmod(0o755)
    monkeypatch.setenv("PATH", f"{smi.parent}:{os.environ['PATH']}")
    monkeypatch.setenv("VPEVAL_GPU_LEASES", str(tmp_path / "leases"))
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setattr(local.os, "sched_getaffinity", lambda _: set(range(8)))
    monkeypatch.setattr(local.Local, "poll_seconds", 0.01)


def gpus_of_jobs(tmp_path: Path, count: int) -> list[str]:
    """What the jobs have printed."""
    return [re.findall("^gpu ?(.*)$", (tmp_path / f"{n}.log").read_text(), re.M)[-1] for n in range(1, count + 1)]


def meet(tmp_path: Path, count: int) -> str:
    """A job that shows its GPUs when so many jobs run at a time."""
    wait = f"touch {tmp_path}/begun.JOB; until [ $(ls {tmp_path} | grep -c begun) -ge {count} ]; do sleep 0.01; done"
    return f"{wait}; echo gpu $CUDA_VISIBLE_DEVICES"


def test_gpus_are_dealt_out_and_not_shared(tmp_path: Path, gpus: None) -> None:
    # Two jobs at a time; the second ends first, and the third must get its GPUs and not those of the first.
    job = f"echo gpu $CUDA_VISIBLE_DEVICES; case JOB in 1) until [ -e {tmp_path}/go ]; do :; done;; 4) touch {tmp_path}/go;; esac"
    assert run("--gpu", "2", "JOB=1:4", str(tmp_path / "JOB.log"), "bash", "-c", job) == []
    assert gpus_of_jobs(tmp_path, 4) == ["0,1", "2,3", "2,3", "2,3"]


def test_jobs_get_gpus_out_of_those_that_the_user_has(
    tmp_path: Path, gpus: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3,2")
    assert run("--gpu", "1", "JOB=1:2", str(tmp_path / "JOB.log"), "bash", "-c", meet(tmp_path, 2)) == []
    assert sorted(gpus_of_jobs(tmp_path, 2)) == ["2", "3"]
    with pytest.raises(InputError, match="--gpu 3: 2 GPUs of this machine are visible; ask for fewer"):
        run("--gpu", "3", str(tmp_path / "x.log"), "true")


@pytest.mark.parametrize("request_", [("--gpu", "1"), ("--gpu", "auto")])
def test_several_jobs_share_a_gpu_evenly(tmp_path: Path, gpus: None, request_: tuple[str, str]) -> None:
    words = (*request_, "--jobs-per-gpu", "2", "JOB=1:8", str(tmp_path / "JOB.log"), "bash", "-c", meet(tmp_path, 8))
    assert run(*words) == []
    assert sorted(gpus_of_jobs(tmp_path, 8)) == ["0", "0", "1", "1", "2", "2", "3", "3"]


def test_a_gpu_that_fails_all_is_left_out_and_its_jobs_run_on_others(tmp_path: Path, gpus: None) -> None:
    notes: list[str] = []
    job = "echo gpu $CUDA_VISIBLE_DEVICES; sleep 0.05; [ $CUDA_VISIBLE_DEVICES != 1 ]"
    array = parse(["--gpu", "1", "JOB=1:24", str(tmp_path / "JOB.log"), "bash", "-c", job])
    assert launch.run(array, local.Local(array), note=notes.append) == []
    assert "1" not in gpus_of_jobs(tmp_path, 24), "the last attempt of every job was elsewhere"
    tries = [note for note in notes if "failed with exit code 1 on GPU 1; tried once more elsewhere" in note]
    assert 3 <= len(tries) <= 4, notes
    assert notes[-1] == "left out because jobs failed there in a row: GPU 1"


def test_a_job_that_fails_on_two_gpus_is_at_fault(tmp_path: Path, gpus: None) -> None:
    words = (
        "--gpu",
        "1",
        "JOB=1:4",
        str(tmp_path / "JOB.log"),
        "bash",
        "-c",
        "echo gpu $CUDA_VISIBLE_DEVICES; ((JOB != 2))",
    )
    (failure,) = run(*words)
    assert failure.job == 2 and failure.describe().startswith("job 2 failed with exit code 1 on GPU ")


def test_no_more_jobs_run_than_their_gpus_and_cores_take(gpus: None) -> None:
    array = ["JOB=1:50", "JOB", "x"]
    sizes = {
        n: local.parallel_jobs(parse(["--gpu", "auto", "--jobs-per-gpu", str(n), *array]), 4) for n in (0, 1, 2, 3)
    }
    assert sizes == {0: 8, 1: 4, 2: 8, 3: 8}
    assert local.parallel_jobs(parse(["--gpu", "3", *array]), 4) == 1
    assert [launch.jobs_on_gpus(["a/run.py", "--gpu", "auto", "--jobs-per-gpu", n]) for n in "012"] == [0, 4, 8]
    assert launch.jobs_on_gpus(["utils/run.py", "--backend", "slurm", "--gpu", "auto"]) == 0
    assert launch.jobs_on_gpus(["utils/run.py"]) == launch.jobs_on_gpus(["queue.pl", "--gpu", "1"]) == 0


def test_auto_leaves_everything_as_it_is_without_gpus(
    tmp_path: Path, gpus: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert run("--gpu", "auto", "JOB=1:3", str(tmp_path / "JOB.log"), "bash", "-c", meet(tmp_path, 3)) == []
    assert gpus_of_jobs(tmp_path, 3) == ["", "", ""]
    assert not (tmp_path / "leases").exists()


def test_a_launcher_waits_for_gpus_that_another_has(tmp_path: Path, gpus: None) -> None:
    other = Leases(visible())
    assert len(other.take(1, 4, 1)) == 4
    notes: list[str] = []

    def note(sentence: str) -> None:
        notes.append(sentence)
        other.close()

    array = parse(["--gpu", "1", str(tmp_path / "1.log"), "bash", "-c", "echo gpu $CUDA_VISIBLE_DEVICES"])
    assert launch.run(array, local.Local(array, note)) == []
    assert notes == [f"waiting for GPUs, which process {os.getpid()} of this machine has"]
    assert gpus_of_jobs(tmp_path, 1) == ["0"]
    assert not any((tmp_path / "leases").iterdir())


def test_only_our_launcher_is_asked_for_gpus_where_there_are_some() -> None:
    assert launch.request_gpus(["utils/run.py"], 2) == ["utils/run.py", "--gpu", "auto", "--jobs-per-gpu", "2"]
    assert launch.request_gpus(["utils/run.py", "--gpu", "1"], 2) == ["utils/run.py", "--gpu", "1"]
    shared = ["utils/run.py", "--jobs-per-gpu", "3"]
    assert launch.request_gpus(shared, 2) == [*shared, "--gpu", "auto"]
    assert launch.request_gpus(["queue.pl"], 2) == ["queue.pl"]


def test_progress_of_all_jobs_is_added_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local.Local, "poll_seconds", 0.01)
    seen: list[Progress] = []
    array = parse(["JOB=1:2", str(tmp_path / "x.JOB.log"), "echo", "progress: JOB/10", "&&", "sleep", "0.1"])
    launch.run(array, local.Local(array), seen.append)
    assert seen[-1] == Progress(pending=0, running=0, failed=0, ended=2, done=3, total=20)
    assert last_progress(tmp_path / "nowhere") is None


def test_the_signal_handlers_are_given_back(tmp_path: Path) -> None:
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    run(str(tmp_path / "x.log"), "true")
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)] == before


def test_a_process_that_is_dead_but_not_yet_buried_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert alive(child.pid)
    assert child.stdin
    child.stdin.close()
    while alive(child.pid):
        assert child.returncode is None
    child.wait()
    assert not alive(child.pid)


def test_as_many_jobs_run_as_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local.os, "sched_getaffinity", lambda _: set(range(10)))
    monkeypatch.setattr(local, "memory", lambda: (16 << 30, 9 << 30))
    sizes = {mem: local.parallel_jobs(parse(["--mem", mem, "J=1:50", "J", "x"])) for mem in ("500M", "2G", "4G", "12G")}
    assert sizes == {"500M": 10, "2G": 4, "4G": 2, "12G": 1}
    with pytest.raises(InputError, match=r"--mem 17G: this machine has 16\.0 GB; use another, or ask for less"):
        local.parallel_jobs(parse(["--mem", "17G", "x.log", "true"]))


def test_the_memory_of_this_machine_is_known() -> None:
    total, free = local.memory()
    assert 0 < free <= total


def test_a_job_beyond_its_time_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    job = f"echo begun; sleep 100 & echo $! >{tmp_path}/pid; wait"
    (failure,) = run("--time", "0:01", str(tmp_path / "x.log"), "bash", "-c", job)
    assert failure.describe().startswith("job 1 was ended after its time (--time 0:01); give it more, or smaller jobs")
    assert not alive(int((tmp_path / "pid").read_text()))


def test_several_nodes_are_not_to_be_had_on_one_machine() -> None:
    with pytest.raises(InputError, match="--num-nodes 2: this machine is one node"):
        local.parallel_jobs(parse(["--num-nodes", "2", "x.log", "true"]))


class Scripted(Backend):
    """A backend whose jobs end as the test says."""

    poll_seconds, attempts = 0.0, 3

    def __init__(self, *ends: dict[int, Ended]) -> None:
        self.ends, self.submitted, self.is_over = list(ends), list[list[int]](), False

    @classmethod
    def make(cls, array: JobArray, conf: Path, note: object) -> "Scripted":
        return cls()

    def submit(self, attempts: Sequence[Attempt]) -> None:
        self.submitted.append([attempt.job for attempt in attempts])

    def poll(self) -> Snapshot:
        return Snapshot(ended=self.ends.pop(0))

    def end(self, hurry: bool) -> bool:
        self.is_over = True
        return True

    def describe(self) -> str:
        return ""


def test_a_lost_job_is_submitted_again_and_again_but_not_for_ever() -> None:
    lost = Ended(1, "was lost with its node", again=True)
    backend = Scripted({1: lost, 2: Ended()}, {1: lost, 3: lost}, {3: Ended()}, {1: lost})
    notes: list[str] = []
    failures = launch.run(parse(["J=1:3", "J.log", "x"]), backend, note=notes.append)
    assert backend.submitted == [[1, 2, 3], [1], [1, 3]]
    assert [(failure.job, failure.reason) for failure in failures] == [(1, "was lost with its node")]
    assert notes == [
        "job 1: was lost with its node; submitted again",
        "jobs 1, 3: was lost with its node; submitted again",
    ]
    assert backend.is_over


def test_what_would_end_all_jobs_ends_them_at_once() -> None:
    backend = Scripted({2: Ended(1, "needed more than its memory", ends_all=True)})
    failures = launch.run(parse(["J=1:3", "J.log", "x"]), backend)
    assert [failure.describe() for failure in failures] == ["job 2 needed more than its memory"]
    assert backend.is_over
