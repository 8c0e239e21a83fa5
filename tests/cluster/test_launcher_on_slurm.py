"""The launcher on a real Slurm: what it runs, and what it does and reports when something fails."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cluster.cluster import Cluster, wait_until
from tests.cluster.conftest import POLL_SECONDS, Launcher

pytestmark = pytest.mark.e2e

# A job that ends when a file `go` appears; it creates a file when it begins.
WAIT = "touch begun.JOB; until [ -e go ]; do sleep 0.1; done; echo done >JOB.out"
LOG = ("JOB=1:4", "log/x.JOB.log")


def outputs(work_dir: Path) -> list[str]:
    return sorted(path.name for path in work_dir.glob("*.out"))


def task_ids(cluster: Cluster) -> list[str]:
    """Ids of the tasks that have not ended, in the order of their jobs."""
    return [line.split()[0] for line in sorted(cluster.jobs())]


def test_jobs_run_on_the_cluster_and_logs_look_as_on_one_machine(launcher: Launcher) -> None:
    odd = ["a b", "it's", "$HOME", "x|y", "*", "", "é"]
    words = ("--num-threads", "2", *LOG, "printf", "<%s>\\n", "job JOB", *odd, "2>&1", "|", "cat", ">", "JOB.out")
    assert launcher.run(*words) == (0, "")
    assert (launcher.work_dir / "3.out").read_text() == "".join(f"<{word}>\n" for word in ("job 3", *odd))
    clock = r"\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4}"
    assert re.fullmatch(
        rf"# printf .* > 3.out\n# Started at {clock} on n[123] as Slurm job \d+_3\n#\n"
        rf"# Accounting: time=\d+ threads=2\n# Ended \(code 0\) at {clock}, elapsed time \d+ seconds\n",
        (launcher.work_dir / "log/x.3.log").read_text(),
    )
    assert launcher.left() == [] and launcher.cluster.jobs() == []


def test_a_failing_command_is_reported_with_the_end_of_its_log_and_the_others_go_on(launcher: Launcher) -> None:
    code, output = launcher.run(*LOG, "bash", "-c", "echo job JOB says no; touch JOB.out; ((JOB != 2)) || exit 7")
    assert (code, outputs(launcher.work_dir)) == (1, [f"{job}.out" for job in (1, 2, 3, 4)])
    found = re.fullmatch(
        r"run.py: job 2: failed with exit code 7 on (n[123]); tried once more elsewhere\n"
        r"run.py: job 2 failed with exit code 7 on (n[123]); the end of log/x.2.log is:\n  \| job 2 says no\n"
        r"run.py: 1 / 4 failed, log is in log/x.\*.log\n",
        output,
    )
    assert found and found[1] != found[2]


def test_on_a_single_node_failures_are_repeated_there_and_the_node_is_named(launcher: Launcher) -> None:
    launcher.settings["extra"] = "['--nodelist=n1']"
    code, output = launcher.run(*LOG, "bash", "-c", "echo x >>JOB.tries; ((JOB % 2))")
    assert code == 1 and "run.py: 2 / 4 failed, all on n1, log is in log/x.*.log" in output
    assert [len((launcher.work_dir / f"{job}.tries").read_text().split()) for job in (1, 2, 3, 4)] == [1, 2, 1, 2]
    assert launcher.cluster.jobs() == [] and launcher.left() == []


def test_more_jobs_than_an_array_may_have_go_into_several(make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    launcher = Launcher(make_cluster(cpus=8, array_size=4), tmp_path)
    assert launcher.run("NR=11:18", "log/x.NR.log", "bash", "-c", "echo $SLURM_ARRAY_JOB_ID >NR.out") == (0, "")
    arrays = [path.read_text() for path in sorted(tmp_path.glob("*.out"))]
    assert len(arrays) == 8 and len(set(arrays)) == 3


def test_no_more_jobs_run_at_a_time_than_allowed(make_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    launcher = Launcher(make_cluster(array_size=5), tmp_path)
    job = "touch begun.JOB; ls | grep -c begun >seen.JOB; sleep 0.3; mv begun.JOB ended.JOB"
    assert launcher.run("--max-jobs-run", "2", "JOB=1:6", "log/x.JOB.log", "bash", "-c", job) == (0, "")
    assert max(int(path.read_text()) for path in tmp_path.glob("seen.*")) <= 2


def test_a_dry_run_prints_what_would_be_submitted_and_submits_nothing(launcher: Launcher) -> None:
    code, output = launcher.run("--dry-run", "--mem", "2G", "--time", "1:00:00", *LOG, "echo", "JOB")
    assert code == 0
    for word in ("4 jobs", "--array=1-4", "--mem=2097152K", "--time=1:00:00", "line='echo JOB'"):
        assert word in output
    assert launcher.cluster.run("squeue", "-h", "-t", "all") == "" and launcher.left() == []


@pytest.mark.parametrize(
    ("options", "settings", "sentence"),
    [
        (["--mem", "100G"], {}, "no node has that much: ask for less --mem"),
        (["--num-threads", "50"], {}, "no node has that many cores: ask for less --num-threads"),
        (["--time", "5-00:00:00"], {}, "ask for less --time"),
        (["--gpu", "1"], {}, "or leave --gpu out to use the CPU"),
        ([], {"partition": "nowhere"}, "see the partitions with sinfo and name one in conf/slurm.conf"),
        ([], {"partition": "closed"}, "job 1 waits in a partition that is closed; choose another in conf/slurm.conf"),
        ([], {"extra": "['--hold']"}, "is held by its owner; run the same command again when it shall run"),
    ],
)
def test_what_can_never_run_is_refused_within_a_poll(
    launcher: Launcher, options: list[str], settings: dict[str, str], sentence: str
) -> None:
    launcher.settings |= settings
    code, output = launcher.run(*options, *LOG, "touch", "JOB.out")
    assert code == 1 and sentence in output and "Traceback" not in output
    assert launcher.cluster.jobs() == [] and launcher.left() == [] and outputs(launcher.work_dir) == []


def test_a_single_cancelled_task_is_submitted_again(launcher: Launcher) -> None:
    child = launcher.start(*LOG, "bash", "-c", WAIT)
    launcher.wait_for("begun.*", 4)
    (launcher.work_dir / "begun.2").unlink()
    launcher.cluster.run("scancel", task_ids(launcher.cluster)[1])
    launcher.wait_for("begun.2")
    (launcher.work_dir / "go").touch()
    code, output = launcher.wait(child)
    assert (code, output) == (0, "run.py: job 2: was cancelled; submitted again\n")
    assert len(outputs(launcher.work_dir)) == 4 and launcher.cluster.jobs() == [] and launcher.left() == []


def test_cancelling_the_array_ends_the_launcher(launcher: Launcher) -> None:
    child = launcher.start("JOB=1:9", "log/x.JOB.log", "bash", "-c", WAIT)
    launcher.wait_for("begun.*", 4)
    launcher.cluster.run("scancel", task_ids(launcher.cluster)[0].split("_")[0])
    code, output = launcher.wait(child, 2 * POLL_SECONDS + 10)
    assert code == 1
    assert "was cancelled, and no other is left (scancel); run the same command again to go on" in output
    assert launcher.cluster.jobs() == [] and launcher.left() == []


HUNGRY = "[ JOB = 2 ] && exec python3 -c 'import time; x = bytearray(150 << 20); time.sleep(4)'; touch JOB.out"


def test_a_task_beyond_its_memory_is_tried_with_more_and_ends_no_other(launcher: Launcher) -> None:
    code, output = launcher.run("--mem", "50M", *LOG, "bash", "-c", HUNGRY)
    assert code == 0 and len(outputs(launcher.work_dir)) == 3
    assert re.fullmatch(
        r"run.py: job 2: needed more than its memory \(50M\) on n[123]; submitted again with 2 times as much\n"
        r"run.py: job 2: needed more than its memory \(100M\) on n[123]; submitted again with 4 times as much\n",
        output,
    )
    assert launcher.cluster.jobs() == [] and launcher.left() == []


def test_a_task_beyond_all_memory_is_named_with_the_remedy_when_the_others_have_ended(launcher: Launcher) -> None:
    launcher.settings["growth"] = 2
    code, output = launcher.run("--mem", "50M", *LOG, "bash", "-c", HUNGRY)
    assert code == 1 and len(outputs(launcher.work_dir)) == 3
    assert re.search(r"run.py: job 2 needed more than its memory \(100M\) on n[123]; give it more --mem", output)
    assert launcher.cluster.jobs() == [] and launcher.left() == []


def test_jobs_of_a_lost_node_run_elsewhere(launcher: Launcher) -> None:
    child = launcher.start(*LOG, "bash", "-c", WAIT)
    launcher.wait_for("begun.*", 4)
    node = launcher.cluster.node_of(task_ids(launcher.cluster)[0])
    launcher.cluster.kill_node(node)
    (launcher.work_dir / "go").touch()
    code, output = launcher.wait(child)
    assert code == 0 and f"was lost with its node {node}; submitted again" in output
    assert len(outputs(launcher.work_dir)) == 4
    assert launcher.cluster.jobs() == [] and launcher.left() == []


def test_a_drained_node_takes_no_more_jobs_and_the_others_do(launcher: Launcher) -> None:
    child = launcher.start("JOB=1:8", "log/x.JOB.log", "bash", "-c", WAIT)
    launcher.wait_for("begun.*", 6)
    launcher.cluster.run("scontrol", "update", "NodeName=n1", "State=DRAIN", "Reason=test")
    (launcher.work_dir / "go").touch()
    assert launcher.wait(child) == (0, "")
    assert len(outputs(launcher.work_dir)) == 8 and launcher.cluster.jobs() == []


def test_a_restart_of_the_controller_is_survived(launcher: Launcher) -> None:
    child = launcher.start("JOB=1:8", "log/x.JOB.log", "bash", "-c", WAIT)
    launcher.wait_for("begun.*", 6)
    launcher.cluster.stop_controller(signal.SIGTERM)
    # Two of the jobs are still waiting: they need the controller to come back.
    (launcher.work_dir / "go").touch()
    launcher.wait_for("*.out", 6)
    launcher.cluster.start_controller()
    code, output = launcher.wait(child)
    assert code == 0 and len(outputs(launcher.work_dir)) == 8
    assert re.match(r"(run.py: Slurm's controller does not answer .*\nrun.py: .* answers again after \d+ s\n)?", output)
    assert launcher.cluster.jobs() == [] and launcher.left() == []


def test_a_submission_waits_for_a_controller_that_is_being_restarted(launcher: Launcher) -> None:
    launcher.cluster.stop_controller(signal.SIGTERM)
    child = launcher.start(*LOG, "touch", "JOB.out")
    assert child.stderr and "Slurm's controller does not answer" in child.stderr.readline()
    launcher.cluster.start_controller()
    assert launcher.wait(child)[0] == 0
    assert len(outputs(launcher.work_dir)) == 4


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_launcher_cancels_its_jobs_and_no_others(launcher: Launcher, number: signal.Signals) -> None:
    other = launcher.cluster.run("sbatch", "--parsable", "-o", "/dev/null", "--wrap", "sleep 100").strip()
    child = launcher.start("JOB=1:9", "log/x.JOB.log", "bash", "-c", WAIT)
    launcher.wait_for("begun.*", 4)
    child.send_signal(number)
    assert launcher.wait(child) == (
        128 + number,
        f"run.py: stopped by signal {number.value}; the jobs were stopped, too\n",
    )
    assert launcher.cluster.jobs() == [f"{other} RUNNING"] and launcher.left() == []


def test_a_full_queue_is_met_by_submitting_less_and_a_signal_does_not_wait_for_sbatch(
    make_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    launcher = Launcher(make_cluster(most_jobs=10), tmp_path)
    child = launcher.start("JOB=1:14", "log/x.JOB.log", "bash", "-c", WAIT)
    assert child.stderr and "Slurm takes no more jobs for now (" in child.stderr.readline()
    assert 5 <= len(launcher.cluster.jobs()) <= 10
    child.send_signal(signal.SIGINT)
    # By itself, sbatch would try for two minutes.
    assert launcher.wait(child, 20)[0] == 128 + signal.SIGINT
    wait_until(lambda: launcher.cluster.jobs() == [])


def test_a_signal_does_not_wait_for_a_controller_that_hangs_and_the_next_call_clears_up(launcher: Launcher) -> None:
    child = launcher.start(*LOG, "bash", "-c", WAIT)
    launcher.wait_for("begun.*", 4)
    assert launcher.cluster.controller
    launcher.cluster.controller.send_signal(signal.SIGSTOP)
    child.send_signal(signal.SIGINT)
    code, output = launcher.wait(child, 20)
    assert code == 128 + signal.SIGINT
    assert re.search(
        r"the jobs could not be cancelled \(.*\); run scancel -n x-[0-9a-f]+, or this command again", output
    )
    assert "the jobs were stopped, too" not in output
    launcher.cluster.controller.send_signal(signal.SIGCONT)
    (launcher.work_dir / "go").touch()
    assert launcher.run(*LOG, "bash", "-c", WAIT) == (0, "")
    assert launcher.cluster.jobs() == [] and launcher.left() == []


def test_a_launcher_that_died_is_resumed_by_the_same_command(launcher: Launcher) -> None:
    command = ("JOB=1:8", "log/x.JOB.log", "bash", "-c", f"echo $$ >>ids.JOB; {WAIT}")
    first = launcher.start(*command)
    launcher.wait_for("begun.*", 6)
    first.kill()
    first.communicate()
    before = task_ids(launcher.cluster)
    assert len(before) == 8
    second = launcher.start(*command)
    assert second.stderr
    assert re.fullmatch(
        r"run.py: resuming the jobs of a launcher that died \(x-[0-9a-f]+\): 0 are done, 8 are waiting or running, "
        r"0 are submitted\n",
        second.stderr.readline(),
    )
    assert task_ids(launcher.cluster) == before
    (launcher.work_dir / "go").touch()
    assert launcher.wait(second) == (0, "")
    assert len(outputs(launcher.work_dir)) == 8 and launcher.cluster.jobs() == [] and launcher.left() == []
    assert all(len(path.read_text().split()) == 1 for path in launcher.work_dir.glob("ids.*"))


def test_what_ended_while_no_launcher_ran_counts(launcher: Launcher) -> None:
    command = ("JOB=1:4", "log/x.JOB.log", "bash", "-c", f"echo $$ >>ids.JOB; {WAIT}")
    first = launcher.start(*command)
    launcher.wait_for("begun.*", 4)
    first.kill()
    first.communicate()
    (launcher.work_dir / "go").touch()
    wait_until(lambda: launcher.cluster.jobs() == [])
    code, output = launcher.run(*command)
    assert code == 0 and "4 are done, 0 are waiting or running, 0 are submitted" in output
    assert all(len(path.read_text().split()) == 1 for path in launcher.work_dir.glob("ids.*"))


def test_another_command_ends_what_a_dead_launcher_left(launcher: Launcher) -> None:
    first = launcher.start(*LOG, "bash", "-c", WAIT)
    launcher.wait_for("begun.*", 4)
    first.kill()
    first.communicate()
    code, output = launcher.run(*LOG, "touch", "new.JOB")
    assert code == 0 and "4 jobs of an earlier, different call were still there" in output
    assert outputs(launcher.work_dir) == [] and len(list(launcher.work_dir.glob("new.*"))) == 4
    assert launcher.cluster.jobs() == [] and launcher.left() == []


def test_a_second_launcher_on_the_same_logs_is_refused(launcher: Launcher) -> None:
    first = launcher.start(*LOG, "bash", "-c", WAIT)
    launcher.wait_for("begun.*", 4)
    code, output = launcher.run(*LOG, "bash", "-c", WAIT)
    assert code == 1
    assert re.fullmatch(
        rf"run.py: log/x.JOB.log: process {first.pid} on \S+ is working on this; wait for it, or end it there first\n",
        output,
    )
    assert len(launcher.cluster.jobs()) == 4
    (launcher.work_dir / "go").touch()
    assert launcher.wait(first) == (0, "")


def test_a_task_that_ends_without_a_status_is_tried_again_and_then_reported(launcher: Launcher) -> None:
    code, output = launcher.run("log/x.log", "bash", "-c", "echo x >>tries.out; kill -9 $PPID")
    assert code == 1 and (launcher.work_dir / "tries.out").read_text() == "x\n" * 3
    assert output.count("; submitted again") == 2
    assert re.search(
        r"run.py: job 1 ended on n[123] without a status, .*; does n[123] see \S+/log/\.x\.log\.slurm\?", output
    )
    assert launcher.cluster.jobs() == [] and launcher.left() == []


def test_the_scheduler_is_asked_as_often_for_many_jobs_as_for_few(
    make_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    counts = {}
    cluster = make_cluster(cpus=8)
    for jobs in (2, 60):
        work_dir = tmp_path / str(jobs)
        (work_dir / "bin").mkdir(parents=True)
        for program in ("squeue", "scontrol", "sbatch", "scancel"):
            shim = work_dir / "bin" / program
            shim.write_text(f'#!/bin/bash\necho {program} >>{work_dir}/calls\nexec /usr/bin/{program} "$@"\n')
            shim.chmod(0o755)
        launcher = Launcher(cluster, work_dir)
        environment = launcher.environment | {"PATH": f"{work_dir}/bin:{launcher.environment['PATH']}"}
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Launcher, "environment", environment)
            child = launcher.start(
                f"JOB=1:{jobs}", "log/x.JOB.log", "bash", "-c", "until [ -e go ]; do sleep 0.2; done"
            )
        calls = work_dir / "calls"
        wait_until(lambda calls=calls: calls.exists() and calls.read_text().count("squeue") >= 4)
        (work_dir / "go").touch()
        assert launcher.wait(child) == (0, "")
        called = calls.read_text().split()
        counts[jobs] = {program: called.count(program) for program in ("scontrol", "sbatch", "scancel")}
    assert counts[2] == counts[60] == {"scontrol": 1, "sbatch": 1, "scancel": 0}


def test_the_lock_of_a_launcher_that_was_killed_does_not_stay(launcher: Launcher) -> None:
    first = launcher.start(*LOG, "bash", "-c", WAIT)
    launcher.wait_for("begun.*", 4)
    os.kill(first.pid, signal.SIGKILL)
    first.communicate()
    (launcher.work_dir / "go").touch()
    assert launcher.run(*LOG, "bash", "-c", WAIT)[0] == 0
    assert launcher.left() == []
