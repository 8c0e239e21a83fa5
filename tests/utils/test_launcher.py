"""utils/run.py, the script: what it says, and that its jobs end with it."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vpeval.core.processes import alive as _alive
from vpeval.jobs import guard

ROOT = Path(__file__).resolve().parents[2]
RUN = [sys.executable, str(ROOT / "utils/run.py")]

# A job that is a pipeline with a process in the background: four processes, each of which notes its number.
JOB = (
    "bash -c 'echo $$ >JOB.1; exec sleep 100' | bash -c 'echo $$ >JOB.2; exec cat' & "
    "bash -c 'echo $$ >JOB.3; sleep 100 & echo $! >JOB.4; wait'"
)


def wait_until(condition: Callable[[], bool], seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.01)


@pytest.fixture
def environment() -> dict[str, str]:
    ours = {name: value for name, value in os.environ.items() if name != "VPEVAL_RUN_PID"}
    return ours | {"PYTHONPATH": str(ROOT)}


@pytest.fixture
def run(tmp_path: Path, environment: dict[str, str]):
    def call(*words: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*RUN, *words], cwd=tmp_path, env=environment, capture_output=True, text=True)

    return call


def test_a_failure_names_the_job_the_end_of_its_log_and_the_log_file(run) -> None:
    done = run("JOB=1:4", "log/x.JOB.log", "bash", "-c", "echo job JOB says no; ((JOB % 2))")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "run.py: job 2 failed with exit code 1; the end of log/x.2.log is:",
        "  | job 2 says no",
        "run.py: job 4 failed with exit code 1; the end of log/x.4.log is:",
        "  | job 4 says no",
        "run.py: 2 / 4 failed, log is in log/x.*.log",
    ]


def test_success_is_silent(run, tmp_path: Path) -> None:
    done = run("JOB=1:2", "log/x.JOB.log", "touch", "JOB.done")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert (tmp_path / "1.done").exists() and (tmp_path / "2.done").exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--jobs", "3", "x.log", "true"], "run.py: unknown option --jobs; there are --mem"),
        (["x.log"], "run.py: expected a log file and a command"),
        (["--backend", "pbs", "x.log", "true"], "run.py: --backend pbs: expected local or slurm"),
        (["--backend"], "run.py: --backend needs a value"),
        (["--backend", "slurm", "--conf", "no.conf", "x.log", "true"], "run.py: no.conf: no such configuration"),
        (["/dev/null/x.log", "true"], "run.py: /dev/null: File exists; check the path and its permissions"),
    ],
)
def test_a_mistake_is_one_line_and_nothing_is_run(run, tmp_path: Path, words: list[str], message: str) -> None:
    done = run(*words)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(message) and done.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_help_goes_to_standard_output(run) -> None:
    done = run("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert "Usage: utils/run.py [--backend local|slurm]" in done.stdout


class Jobs:
    """Two jobs that never end by themselves, and their eight processes."""

    def __init__(self, work_dir: Path, environment: dict[str, str], prefix: list[str]) -> None:
        command = [*prefix, *RUN, "JOB=1:2", "log.JOB", "bash", "-c", JOB]
        self.launcher = subprocess.Popen(command, cwd=work_dir, env=environment, stderr=subprocess.PIPE, text=True)
        self.notes = [work_dir / f"{job}.{process}" for job in (1, 2) for process in (1, 2, 3, 4)]
        wait_until(lambda: all(note.exists() and note.read_text().strip() for note in self.notes))
        self.pids = [int(note.read_text()) for note in self.notes]
        assert all(map(_alive, self.pids))

    def are_gone(self) -> bool:
        return not any(map(_alive, self.pids))


@pytest.fixture
def start(tmp_path: Path, environment: dict[str, str]) -> Iterator[Callable[..., Jobs]]:
    started: list[Jobs] = []

    def jobs(prefix: list[str] | None = None, **variables: str) -> Jobs:
        started.append(Jobs(tmp_path, environment | variables, prefix or []))
        return started[-1]

    yield jobs
    for job in started:
        for pid in filter(_alive, job.pids):
            os.kill(pid, signal.SIGKILL)
        job.launcher.kill()
        job.launcher.wait()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_the_jobs_and_all_that_they_started(start, number: signal.Signals) -> None:
    jobs = start()
    jobs.launcher.send_signal(number)
    _, message = jobs.launcher.communicate(timeout=60)
    assert jobs.are_gone()
    assert jobs.launcher.returncode == 128 + number
    assert message == f"run.py: stopped by signal {number.value}; the jobs were stopped, too\n"


def test_the_jobs_end_when_the_launcher_is_killed_outright(start) -> None:
    jobs = start()
    jobs.launcher.kill()
    wait_until(jobs.are_gone)


def test_the_jobs_end_when_the_run_that_they_belong_to_has_gone(start) -> None:
    recipe = subprocess.Popen(["sleep", "100"])
    jobs = start(VPEVAL_RUN_PID=str(recipe.pid))
    recipe.kill()
    wait_until(jobs.are_gone)
    recipe.wait()
    assert jobs.launcher.wait(timeout=60) == 128 + signal.SIGTERM


def test_the_jobs_end_when_the_caller_of_the_launcher_has_gone(start) -> None:
    jobs = start(prefix=["bash", "-c", '"$@"; exit', "caller"])
    jobs.launcher.kill()
    wait_until(jobs.are_gone)


def test_a_group_that_does_not_listen_is_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard, "PATIENCE_SECONDS", 0.05)
    deaf = subprocess.Popen(
        ["bash", "-c", "trap '' TERM; echo ready; while :; do sleep 100; done"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert deaf.stdout
    deaf.stdout.readline()
    guard.end_groups([deaf.pid])
    assert deaf.wait(timeout=60) == -signal.SIGKILL
    guard.end_groups([deaf.pid])  # nobody is left, which is fine
    deaf.stdout.close()
