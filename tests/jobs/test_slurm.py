"""What is given to Slurm and what its answers mean; a real cluster is used in tests/cluster."""

import getpass
import shlex
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.jobs import launch
from vpeval.jobs.backends import slurm_client
from vpeval.jobs.backends.base import NOT_VISIBLE, Attempt, Ended, left_behind, make_backend
from vpeval.jobs.backends.slurm_client import Entries, Entry
from vpeval.jobs.backends.slurm_control import Control
from vpeval.jobs.backends.slurm_tasks import (
    Request,
    Settings,
    Status,
    cancelled,
    end_of_task,
    end_without_status,
    sbatch_options,
    task_script,
)
from vpeval.jobs.launch import JobArray, parse

CONF = Path(__file__).resolve().parents[2] / "conf/slurm.conf"
REQUEST = Request(Path("/shared/log/.x.slurm"), visible_seconds=60, poll_seconds=5)


def settings(tmp_path: Path, **changes: str) -> Settings:
    lines = [line for line in CONF.read_text().splitlines() if line.split(":")[0] not in changes]
    (tmp_path / "slurm.conf").write_text("\n".join([*lines, *(f"{name}: {text}" for name, text in changes.items())]))
    return Settings.read(tmp_path / "slurm.conf")


def options_of(words: str, chosen: Settings) -> list[str]:
    array = parse(shlex.split(f"{words} x.log true"))
    return sbatch_options(array, chosen, chosen.mem_of(array), chosen.time_of(array))


def test_options_are_put_into_the_words_of_sbatch(tmp_path: Path) -> None:
    plain = options_of("", settings(tmp_path))
    assert plain == ["--cpus-per-task=1", "--nodes=1", "--ntasks-per-node=1", "--no-requeue"]
    chosen = settings(
        tmp_path, partition="cpu", account="me", gpu_partition="gpu", gpu_type="a100", mem="9G", extra="['--nice=9']"
    )
    assert options_of("--mem 1500M --num-threads 4 --gpu 2 --time 1-12 --num-nodes 3", chosen) == [
        *("--cpus-per-task=4", "--nodes=3", "--ntasks-per-node=1", "--mem=1536000K", "--time=1-12"),
        *("--gres=gpu:a100:2", "--partition=gpu", "--account=me", "--no-requeue", "--nice=9"),
    ]
    options = options_of("--gpu 1", settings(tmp_path, partition="cpu", mem="9G", time="'60'"))
    assert {"--gres=gpu:1", "--partition=cpu", "--mem=9437184K", "--time=60"} <= set(options)


def test_jobs_with_gpus_have_settings_of_their_own_and_the_others_where_there_are_none(tmp_path: Path) -> None:
    ours = {"account": "cpu-hours", "qos": "long", "constraint": "avx512", "time": "'60'", "extra": "['--nice=9']"}
    theirs = {"gpu_account": "gpu-hours", "gpu_qos": "gpu", "gpu_mem": "64G", "gpu_extra": "['--exclude=g7']"}
    chosen = settings(tmp_path, **ours, **theirs)
    assert options_of("", chosen)[3:] == [
        *("--time=60", "--account=cpu-hours", "--qos=long", "--constraint=avx512", "--no-requeue", "--nice=9")
    ]
    assert options_of("--gpu 1", chosen)[3:] == [
        *("--mem=67108864K", "--time=60", "--gres=gpu:1", "--account=gpu-hours", "--qos=gpu", "--constraint=avx512"),
        *("--no-requeue", "--nice=9", "--exclude=g7"),
    ]


def test_a_configuration_of_before_needs_no_new_lines(tmp_path: Path) -> None:
    kept = ("partition", "mem", "poll", "attempts", "growth", "hang", "visible", "patience")
    lines = [line for line in CONF.read_text().splitlines() if line.startswith(kept)]
    (tmp_path / "slurm.conf").write_text("\n".join(lines))
    assert options_of("--gpu 1", Settings.read(tmp_path / "slurm.conf"))[3:] == ["--gres=gpu:1", "--no-requeue"]


def test_variables_of_a_site_reach_slurm_and_those_of_a_job_around_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = {"SLURM_CONF": "/etc/x", "SLURM_JWT": "ey", "SBATCH_ACCOUNT": "me", "SBATCH_PARTITION": "p", "HOME": "/h"}
    dropped = {"SLURM_JOB_ID": "1", "SLURM_MEM_PER_NODE": "9", "SLURMD_NODENAME": "n", "SBATCH_MEM_PER_CPU": "1"}
    dropped |= {"SBATCH_OUTPUT": "x", "SBATCH_WAIT": "1", "SBATCH_REQUEUE": "1", "SQUEUE_FORMAT": "%i"}
    for name, value in (kept | dropped).items():
        monkeypatch.setenv(name, value)
    ours = slurm_client.variables()
    assert kept.items() <= ours.items() and not dropped.keys() & ours.keys()


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"extra": "'--qos=long'"}, "'extra' must be of type list"),
        ({"extra": "[qos]"}, "'extra' must be a list of options of sbatch"),
        ({"gpu_extra": "[qos]"}, "'gpu_extra' must be a list of options of sbatch"),
        ({"growth": "0"}, "'growth' must be greater than 0"),
        ({"gpu_time": "soon"}, "slurm.conf: gpu_time soon: expected minutes"),
        ({"poll_seconds": "0"}, "'poll_seconds' must be greater than 0"),
        ({"attempts": "0"}, "'attempts' must be greater than 0"),
        ({"mem": "lots"}, "slurm.conf: mem lots: expected a number with K, M, G or T"),
        ({"time": "soon"}, "slurm.conf: time soon: expected minutes"),
        ({"queue": "''"}, "unknown key 'queue'"),
    ],
)
def test_a_wrong_configuration_is_explained(tmp_path: Path, changes: dict[str, str], complaint: str) -> None:
    with pytest.raises(InputError) as caught:
        settings(tmp_path, **changes)
    assert complaint in str(caught.value)


def run_task(
    array_words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, index: int, setup: str = ""
) -> Control:
    """Run one task as Slurm would."""
    monkeypatch.chdir(tmp_path)
    array = parse(array_words)
    array.log_of(1).parent.mkdir(exist_ok=True)
    control = Control.for_log(array.log_of("array"))
    control.begin(array, task_script(array, control.path, setup))
    number = control.add_submission([1, 5, 7])
    variables = {"SLURM_ARRAY_TASK_ID": str(index), "SLURM_ARRAY_JOB_ID": "9", "SLURM_JOB_ID": "11"}
    for name, value in (variables | {"SLURMD_NODENAME": "n2", "SLURM_TMPDIR": str(tmp_path)}).items():
        monkeypatch.setenv(name, value)
    out = control.path / "out" / f"{number}.{index}"
    with open(out, "w") as file:
        subprocess.run(["bash", control.path.resolve() / "task.sh", str(number)], cwd="/", stdout=file, stderr=file)
    return control


def test_a_task_does_the_job_of_its_line_and_leaves_a_status(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["JOB=1:9", "log/x.JOB.log", "bash", "-c", "echo this is JOB in $VPEVAL_SCRATCH; exit 3"]
    control = run_task(words, tmp_path, monkeypatch, 2)
    assert f"\nthis is 5 in {tmp_path}\n" in (tmp_path / "log/x.5.log").read_text()
    assert "# Ended (code 3) at " in (tmp_path / "log/x.5.log").read_text()
    control.read_statuses([1])
    ((found,),) = control.statuses.values()
    assert replace(found, seconds=0) == Status(5, 1, 3, 0, "n2")
    assert list((control.path / "out").iterdir()) == []


def test_a_task_runs_the_lines_of_the_site_first_and_does_not_begin_if_they_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["JOB=1:9", "log/x.JOB.log", "bash", "-c", "echo found $SITE; exit 3"]
    for setup, code, said in (
        ("module() { export SITE=$2; }\nmodule load cuda", 3, "found cuda"),
        ("module load cuda", NOT_VISIBLE, "'setup' of conf/slurm.conf failed on n2"),
    ):
        control = run_task(words, tmp_path, monkeypatch, 2, setup)
        log = (tmp_path / "log/x.5.log").read_text().splitlines()
        assert said in log and ("found cuda" in log) == (code == 3)
        control.read_statuses([1])
        assert [status.code for status in control.statuses[5]] == [code]
        control.remove()


def test_a_status_counts_by_what_is_in_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    control = run_task(["JOB=1:9", "log/x.JOB.log", "true"], tmp_path, monkeypatch, 1)
    half = control.path / "status/1/7"
    half.write_text("0 1")
    (control.path / "status/1/5.33.tmp").write_text("0 12 n1\n")
    control.read_statuses([1])
    assert control.statuses.keys() == {1}
    half.write_text("0 12 n1\n")
    control.read_statuses([1])
    control.read_statuses([1])
    assert control.statuses.keys() == {1, 7} and control.statuses[7] == [Status(7, 1, 0, 12, "n1")]


def test_a_run_is_known_by_its_logs_and_its_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    array = parse(["JOB=1:9", "log/x.JOB.log", "true", "JOB"])
    control = Control.for_log(array.log_of("array"))
    assert control.name == "" and not left_behind(tmp_path / "log/x.array.log")
    control.begin(array, "script")
    assert left_behind(tmp_path / "log/x.array.log")
    assert Control.for_log(parse(["n=1:9", "log/x.n.log", "true"]).log_of("array")).name == control.name
    assert control.belongs_to(array)
    assert not control.belongs_to(parse(["JOB=1:8", "log/x.JOB.log", "true", "JOB"]))
    assert (control.add_submission([4, 5]), control.add_submission([5])) == (1, 2)
    assert control.submissions() == {1: [4, 5], 2: [5]}
    (control.path / "run.json").write_text("{")
    with pytest.raises(InputError, match="is damaged; end its jobs with scancel, then remove the directory"):
        left_behind(tmp_path / "log/x.array.log")


SQUEUE = """#!/usr/bin/env bash
[ -e cancelled ] || echo "7|1|1|RUNNING|n1|500M|1:00:00|None"
"""


def leave_behind(array: JobArray, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a launcher that was killed leaves, and a Slurm with one job of it; returns the log of the array."""
    monkeypatch.chdir(tmp_path)
    control = Control.for_log(array.log_of("array"))
    control.begin(array, "script")
    control.add_submission([1])
    for name, script in (("squeue", SQUEUE), ("scancel", "#!/usr/bin/env bash\necho $* >>cancelled\n")):
        write_text(tmp_path / "bin" / name, script)
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=":")
    return array.log_of("array")


def test_jobs_that_were_left_behind_are_cancelled_and_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = leave_behind(parse(["JOB=1:2", "log/x.JOB.log", "true"]), tmp_path, monkeypatch)
    notes: list[str] = []
    jobs, name = left_behind(log), Control.for_log(log).name
    assert jobs
    jobs.clear(notes.append)
    assert (tmp_path / "cancelled").read_text() == f"--user={getpass.getuser()} --name={name}\n"
    (note,) = notes
    assert note.startswith("1 jobs of an earlier, different call were still there (x-")
    assert left_behind(log) is None and not list((tmp_path / "log").iterdir())


def test_jobs_that_cannot_be_cancelled_are_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = leave_behind(parse(["JOB=1:2", "log/x.JOB.log", "true"]), tmp_path, monkeypatch)
    (tmp_path / "bin/squeue").write_text("#!/usr/bin/env bash\necho Unable to contact slurm controller >&2; exit 1\n")
    jobs = left_behind(log)
    assert jobs
    with pytest.raises(InputError, match="jobs of an earlier call cannot be cancelled: Unable to contact"):
        jobs.clear(print)
    assert left_behind(log)


def entry(state: str, reason: str = "None") -> Entry:
    return Entry("12", state, reason, "n2", "2G", "1:00:00")


def test_waiting_tasks_are_known_from_one_line() -> None:
    lines = ["7|1|2|RUNNING|n1|500M|1:00:00|None", "7|3,5-6%4|2|PENDING||500M|1:00:00|Resources"]
    lines += ["8|N/A|3|CANCELLED||500M|1:00:00|Resources", "9|4|(null)|RUNNING|n1|500M|1:00:00|None"]
    found = Entries(lines)
    assert found.live == 4 and found.submissions == {2, 3}
    first, waiting, gone = found.get(2, 1), found.get(2, 6), found.get(3, 17)
    assert first and (first.state, first.node, first.throttle) == ("RUNNING", "n1", 0)
    assert waiting and (waiting.state, waiting.reason, waiting.throttle) == ("PENDING", "Resources", 4)
    assert gone and gone.state == "CANCELLED" and found.get(2, 4) is None


def status(code: int) -> Status:
    return Status(3, 1, code, 7, "n2")


def test_a_command_that_failed_has_its_own_exit_code_also_when_slurm_has_forgotten_it() -> None:
    assert end_of_task(entry("FAILED"), status(7), [], REQUEST) == Ended(7, place="n2")
    assert end_of_task(None, status(7), [], REQUEST) == Ended(7, place="n2")


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "A_STATE_OF_THE_FUTURE"])
def test_nothing_is_said_before_the_scheduler_has_ended_a_task(state: str) -> None:
    assert end_of_task(entry(state), status(137), [], REQUEST) is None


def test_the_reason_of_the_scheduler_comes_before_the_code_of_a_command_that_it_ended() -> None:
    memory = end_of_task(entry("OUT_OF_MEMORY"), status(137), [], REQUEST)
    assert memory == Ended(
        1, "needed more than its memory (2G) on n2", place="n2", lacks="mem", remedy="give it more --mem"
    )
    late = end_of_task(entry("TIMEOUT"), status(143), [], REQUEST)
    assert late and late.lacks == "time"
    assert late.reason == "was ended after its time (1:00:00) on n2" and late.remedy.startswith("give it more --time")
    lost = end_of_task(entry("NODE_FAIL"), None, [], REQUEST)
    assert lost == Ended(1, "was lost with its node n2", place="n2", again=True)
    assert end_of_task(entry("PREEMPTED"), None, [], REQUEST) == Ended(
        1, "had to give way to another job on n2", again=True
    )


def test_a_job_that_does_not_see_its_work_may_see_it_on_another_node() -> None:
    end = end_of_task(entry("FAILED"), status(NOT_VISIBLE), [], REQUEST)
    assert end == Ended(NOT_VISIBLE, "did not find its work on n2 (see its log)", place="n2", again=True)


def test_a_process_of_a_training_on_several_nodes_that_is_killed_is_like_a_lost_node() -> None:
    nodes = replace(REQUEST, num_nodes=2)
    end = end_of_task(entry("FAILED"), status(137), [], nodes)
    assert end == Ended(137, "lost a process on one of its nodes (exit code 137)", again=True)
    assert end_of_task(entry("FAILED"), status(1), [], nodes) == Ended(1)
    assert end_of_task(entry("FAILED"), status(137), [], REQUEST) == Ended(137, place="n2")


@pytest.mark.parametrize(
    ("line", "is_memory"),
    [
        ("slurmstepd: error: Detected 1 oom-kill event(s) in StepId=1.batch cgroup.", True),
        ("slurmstepd-n1: error: StepId=1.batch exceeded memory limit (3 > 2), being killed", True),
        ("my own words about an oom-kill", False),
        ("slurmstepd: error: *** JOB 1 CANCELLED ***", False),
    ],
)
def test_memory_is_known_from_the_words_of_slurm_in_the_log(tmp_path: Path, line: str, is_memory: bool) -> None:
    log = tmp_path / "x.log"
    log.write_text(f"# x\nprogress: 1/2\n{line}\n")
    end = end_of_task(entry("FAILED"), status(137), [tmp_path / "nowhere", log], REQUEST)
    assert end and (end.lacks == "mem") is is_memory and (is_memory or end == Ended(137, place="n2"))


@pytest.mark.parametrize("reason", ["JobHeldUser", "JobHeldAdmin", "PartitionDown", "PartitionTimeLimit", "InvalidQOS"])
def test_a_task_that_will_never_run_ends_all(reason: str) -> None:
    end = end_of_task(entry("PENDING", reason), None, [], REQUEST)
    assert end and end.ends_all and end.reason.endswith(f"(Slurm: {reason})")


@pytest.mark.parametrize("reason", ["Resources", "Priority", "Dependency", "JobArrayTaskLimit", "ReqNodeNotAvail, n1"])
def test_a_task_that_waits_for_its_turn_is_waited_for(reason: str) -> None:
    assert end_of_task(entry("PENDING", reason), None, [], REQUEST) is None


def test_a_status_has_the_time_to_become_visible() -> None:
    assert end_of_task(entry("COMPLETED"), None, [], REQUEST) is None
    assert end_without_status(entry("COMPLETED"), 59, REQUEST) is None
    end = end_without_status(entry("COMPLETED"), 60, REQUEST)
    assert end and end.ends_all
    assert end.reason.endswith("its status has not shown within 60 s; do all nodes share /shared/log/.x.slurm?")
    assert end_without_status(entry("FAILED"), 4, REQUEST) is None
    failed = end_without_status(entry("FAILED"), 5, REQUEST)
    assert failed and failed.again and failed.reason.endswith("does n2 see /shared/log/.x.slurm?")
    forgotten = end_without_status(None, 61, REQUEST)
    assert forgotten and forgotten.again


def test_one_cancelled_job_is_tried_again_and_all_of_them_are_not() -> None:
    gone = entry("CANCELLED")
    assert cancelled({1: gone, 2: entry("RUNNING")}, False) == {1: Ended(1, "was cancelled", again=True)}
    assert cancelled({1: gone}, True)[1].again  # the only one that the limit allows to run
    assert cancelled({1: gone, 2: gone}, True)[1].ends_all
    assert cancelled({1: entry("RUNNING")}, False) == {}
    # Those that ran are about to end; their state does not show why yet.
    both = cancelled({1: gone, 2: entry("COMPLETING")}, False)
    assert both.keys() == {1} and both[1].ends_all


SLURM = {
    "scontrol": "echo MaxArraySize = 3",  # two tasks in an array
    "squeue": "true",  # has forgotten all tasks
    "scancel": "true",
    "sbatch": """
for word; do
  case $word in
    --array=*) last=${word##*-} ;;
    --output=*) out=${word#*=} ;;
    --*) ;;
    *) break ;;
  esac
  shift
done
echo "$last" >>"$SUBMITTED"
for ((task = 1; task <= last; task++)); do
  export SLURM_ARRAY_TASK_ID=$task SLURM_ARRAY_JOB_ID=9 SLURM_JOB_ID=$task SLURMD_NODENAME=n1
  bash "$@" >"${out/\\%a/$task}" 2>&1
done
echo 9
""",
}


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Programs that run every task at once; gives the file with the sizes of the arrays that were submitted."""
    monkeypatch.chdir(tmp_path)
    for name, script in SLURM.items():
        write_text(tmp_path / "bin" / name, f"#!/usr/bin/env bash\n{script}\n")
        (tmp_path / "bin" / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin", prepend=":")
    monkeypatch.setenv("SUBMITTED", str(tmp_path / "submitted"))
    return tmp_path / "submitted"


def launch_jobs(command: str, note=print) -> list[launch.Failure]:
    array = parse(["JOB=1:3", "log/x.JOB.log", "bash", "-c", command])
    backend = make_backend("slurm", array, CONF, note)
    return launch.run(array, backend, note=note)


def test_all_jobs_are_run_in_arrays_of_the_size_that_slurm_takes(slurm: Path, tmp_path: Path) -> None:
    assert launch_jobs("echo JOB >JOB.out") == []
    assert [(tmp_path / f"{job}.out").read_text() for job in (1, 2, 3)] == ["1\n", "2\n", "3\n"]
    assert slurm.read_text().split() == ["2", "1"]
    assert sorted(path.name for path in (tmp_path / "log").iterdir()) == ["x.1.log", "x.2.log", "x.3.log"]


def test_a_job_that_fails_on_a_node_has_its_own_exit_code(slurm: Path) -> None:
    (failure,) = launch_jobs("((JOB != 2)) || exit 7")
    assert (failure.job, failure.code) == (2, 7)


def test_a_launcher_resumes_the_jobs_of_one_that_died(slurm: Path, tmp_path: Path) -> None:
    command = "echo JOB >>JOB.out"
    array = parse(["JOB=1:3", "log/x.JOB.log", "bash", "-c", command])
    dead = make_backend("slurm", array, CONF, print)
    dead.submit([Attempt(job) for job in dead.begin([1, 2])])
    Control.for_log(array.log_of("array")).lock.unlink()  # as if its process had ended
    notes: list[str] = []
    assert launch_jobs(command, notes.append) == []
    (note,) = notes
    assert note.startswith("resuming the jobs of a launcher that died (x-") and "2 are done, 0 are" in note
    assert [(tmp_path / f"{job}.out").read_text() for job in (1, 2, 3)] == ["1\n", "2\n", "3\n"]
    assert not list((tmp_path / "log").glob(".*"))
