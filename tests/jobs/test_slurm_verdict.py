"""What is said about a task; that Slurm's words mean what we think is tried on a real cluster in tests/cluster."""

from pathlib import Path

import pytest

from vpeval.jobs.backends.base import Ended
from vpeval.jobs.backends.slurm_control import Status
from vpeval.jobs.backends.slurm_queue import Entry
from vpeval.jobs.backends.slurm_verdict import Request, cancelled, silence, verdict

REQUEST = Request("2G", "1:00:00", Path("/shared/log/.x.slurm"), visible_seconds=60, poll_seconds=5)


def entry(state: str, reason: str = "None") -> Entry:
    return Entry("12", 3, 1, state, reason, "n2")


def status(code: int) -> Status:
    return Status(3, 1, code, "n2")


def test_a_command_that_failed_has_its_own_exit_code_also_when_slurm_has_forgotten_it() -> None:
    assert verdict(entry("FAILED"), status(7), [], REQUEST) == Ended(7)
    assert verdict(None, status(7), [], REQUEST) == Ended(7)


@pytest.mark.parametrize("state", ["PENDING", "RUNNING", "COMPLETING", "SUSPENDED", "A_STATE_OF_THE_FUTURE"])
def test_nothing_is_said_before_the_scheduler_has_ended_a_task(state: str) -> None:
    assert verdict(entry(state), status(137), [], REQUEST) is None


def test_the_reason_of_the_scheduler_comes_before_the_code_of_a_command_that_it_ended() -> None:
    memory = verdict(entry("OUT_OF_MEMORY"), status(137), [], REQUEST)
    assert memory == Ended(1, "needed more than its memory (2G) on n2; give it more --mem", ends_all=True)
    late = verdict(entry("TIMEOUT"), status(143), [], REQUEST)
    assert (
        late
        and late.ends_all
        and late.reason.startswith("was ended after its time (1:00:00) on n2; give it more --time")
    )
    lost = verdict(entry("NODE_FAIL"), None, [], REQUEST)
    assert lost == Ended(1, "was lost with its node n2", again=True)
    assert verdict(entry("PREEMPTED"), None, [], REQUEST) == Ended(
        1, "had to give way to another job on n2", again=True
    )


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
    end = verdict(entry("FAILED"), status(137), [tmp_path / "nowhere", log], REQUEST)
    assert end and end.ends_all is is_memory and (is_memory or end == Ended(137))


@pytest.mark.parametrize("reason", ["JobHeldUser", "JobHeldAdmin", "PartitionDown", "PartitionTimeLimit", "InvalidQOS"])
def test_a_task_that_will_never_run_ends_all(reason: str) -> None:
    end = verdict(entry("PENDING", reason), None, [], REQUEST)
    assert end and end.ends_all and end.reason.endswith(f"(Slurm: {reason})")


@pytest.mark.parametrize("reason", ["Resources", "Priority", "Dependency", "JobArrayTaskLimit", "ReqNodeNotAvail, n1"])
def test_a_task_that_waits_for_its_turn_is_waited_for(reason: str) -> None:
    assert verdict(entry("PENDING", reason), None, [], REQUEST) is None


def test_a_status_has_the_time_to_become_visible() -> None:
    assert verdict(entry("COMPLETED"), None, [], REQUEST) is None
    assert silence(entry("COMPLETED"), 59, REQUEST) is None
    end = silence(entry("COMPLETED"), 60, REQUEST)
    assert end and end.ends_all
    assert end.reason.endswith("its status has not shown within 60 s; do all nodes share /shared/log/.x.slurm?")
    assert silence(entry("FAILED"), 4, REQUEST) is None
    failed = silence(entry("FAILED"), 5, REQUEST)
    assert failed and failed.again and failed.reason.endswith("does n2 see /shared/log/.x.slurm?")
    forgotten = silence(None, 61, REQUEST)
    assert forgotten and forgotten.again


def test_one_cancelled_job_is_tried_again_and_all_of_them_are_not() -> None:
    gone = entry("CANCELLED")
    assert cancelled({1: gone, 2: entry("RUNNING")}, False) == {1: Ended(1, "was cancelled", again=True)}
    assert cancelled({1: gone}, True)[1].again
    assert cancelled({1: entry("RUNNING")}, False) == {}
    # Those that ran are about to end; their state does not yet tell of what.
    both = cancelled({1: gone, 2: entry("COMPLETING")}, False)
    assert both.keys() == {1} and both[1].ends_all
