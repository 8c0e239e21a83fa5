"""Slurm's commands: sbatch, squeue, scancel, scontrol; what they answer, and what that means to a participant."""

from __future__ import annotations

import getpass
import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

from vpeval.core.errors import InputError

_OVER = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"} | {
    "REVOKED",
    "TIMEOUT",
}
_SECONDS_PER_COMMAND = 60
_NO_ANSWER = re.compile(
    r"unable to contact slurm controller|socket timed out|connect(ion)? (failure|refused|timed out)|standby mode|"
    r"communication connection failure|zero bytes were transmitted|temporarily unable|munge encode failed",
    re.IGNORECASE,
)
_FULL = re.compile(
    r"violates accounting/QOS policy|MaxSubmit|too many jobs|maximum job count|queue full", re.IGNORECASE
)
_REMEDIES = (
    (r"invalid partition|partition .*not", "see the partitions with sinfo and name one in conf/slurm.conf"),
    (r"account", "see your accounts with 'sacctmgr show associations user=$USER' and name one in conf/slurm.conf"),
    (
        r"memory|node configuration is not available",
        "no node has that much: ask for less --mem, threads, GPUs or nodes",
    ),
    (r"processors|CPU count", "no node has that many cores: ask for less --num-threads"),
    (r"time limit", "see the limits with 'sinfo -o \"%P %l\"' and ask for less --time"),
    (r"gres|generic resource", "see the GPUs with 'sinfo -o \"%P %G\"', or leave --gpu out to use the CPU"),
)
# Reasons for waiting that do not go away by themselves.
_NEVER = {
    "JobHeldUser": "is held by its owner; run the same command again when it shall run",
    "JobHeldAdmin": "is held by an administrator; ask them why",
    "PartitionDown": "waits in a partition that is closed; choose another in conf/slurm.conf (sinfo lists them)",
    "PartitionInactive": "waits in a partition that is closed; choose another in conf/slurm.conf (sinfo lists them)",
    "PartitionNodeLimit": "asks for more nodes than its partition gives; ask for less, or choose another partition",
    "PartitionTimeLimit": "asks for more time than its partition gives; ask for less --time",
    "BadConstraints": "asks for what no node has; ask for less --mem, threads or GPUs",
    "AccountNotAllowed": "has an account that may not use its partition; change conf/slurm.conf",
    "InvalidAccount": "has an account that does not exist; change conf/slurm.conf",
    "InvalidQOS": "has a QOS that does not exist; change 'extra' in conf/slurm.conf",
    "QOSNotAllowed": "has a QOS that may not use its partition; change 'extra' in conf/slurm.conf",
    "DependencyNeverSatisfied": "waits for a job that will never end; run the same command again",
    "launch failed requeued held": "could not be started and is held; ask an administrator about its node",
    "JobLaunchFailure": "could not be started; ask an administrator about its node",
}


class NoAnswer(Exception):
    """The controller is away: being restarted, or out of reach."""


class QueueFull(Exception):
    """There is a limit on queued jobs, and it is reached."""


@dataclass(frozen=True)
class Entry:
    """What the scheduler says about one task of an array."""

    array: str
    index: int
    submission: int
    state: str
    reason: str
    node: str

    @property
    def is_live(self) -> bool:
        """Whether the task waits, runs or is about to end."""
        return self.state not in _OVER

    @property
    def never(self) -> str:
        """Why a waiting task will never run; empty if it may."""
        waits = self.state in ("PENDING", "REQUEUE_HOLD", "SPECIAL_EXIT") or self.reason == "BadConstraints"
        return _NEVER.get(self.reason, "") if waits else ""

    @property
    def waits_for_nodes(self) -> bool:
        """Whether a task waits for nodes that may come back."""
        return self.state == "PENDING" and self.reason.startswith(
            ("ReqNodeNotAvail", "Nodes required for job are DOWN")
        )


def submit(options: Sequence[str], script: str, arguments: Sequence[str]) -> str:
    """The number of a new job array; an InputError when Slurm will never run it."""
    done = _run(["sbatch", "--parsable", *options, script, *arguments])
    if done.returncode == 0:
        return done.stdout.split(";")[0].strip()
    said = " ".join(re.sub(r"^sbatch: (error: )?", "", line) for line in done.stderr.strip().splitlines())
    if _NO_ANSWER.search(said):
        raise NoAnswer(said)
    if _FULL.search(said):
        raise QueueFull(said)
    remedy = next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, said, re.IGNORECASE)), "")
    raise InputError(f"Slurm refuses the jobs ({said}); {remedy or 'change the options or conf/slurm.conf'}")


def entries(name: str) -> list[Entry]:
    """All tasks of the jobs called `name`, ended ones too as long as Slurm remembers them: one query."""
    done = _run(["squeue", "-h", "-r", "-t", "all", "-u", getpass.getuser(), "-n", name, "-o", "%F|%K|%k|%T|%r|%N"])
    if done.returncode:
        raise NoAnswer(_last_line(done.stderr))
    found = []
    for line in done.stdout.splitlines():
        array, index, comment, state, reason, node = line.split("|")
        if index.isdecimal() and comment.isdecimal():
            found.append(Entry(array, int(index), int(comment), state, reason, node))
    return found


def cancel(arrays: Sequence[str]) -> None:
    """End job arrays."""
    done = _run(["scancel", *arrays])
    if done.returncode and _NO_ANSWER.search(done.stderr):
        raise NoAnswer(_last_line(done.stderr))


def largest_array() -> int:
    """How many tasks a job array may have."""
    done = _run(["scontrol", "show", "config"])
    if done.returncode:
        raise NoAnswer(_last_line(done.stderr))
    match = re.search(r"^MaxArraySize\s*=\s*(\d+)", done.stdout, re.MULTILINE)
    return max(1, int(match[1]) - 1) if match else 1000


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    # What is set for a job that we may be running in must not be taken for the wishes of those we submit.
    ours = {key: value for key, value in os.environ.items() if not re.match("(SLURM|SBATCH|SQUEUE|SCANCEL)_", key)}
    if "SLURM_CONF" in os.environ:
        ours["SLURM_CONF"] = os.environ["SLURM_CONF"]
    try:
        # In a session of its own: Ctrl-C is ours to deal with, and must not stop a submission half-way.
        return subprocess.run(
            command, env=ours, capture_output=True, text=True, timeout=_SECONDS_PER_COMMAND, start_new_session=True
        )
    except FileNotFoundError:
        raise InputError(
            f"there is no {command[0]} on this machine; log in where Slurm is, or set backend=local in cmd.sh"
        ) from None
    except subprocess.TimeoutExpired:
        raise NoAnswer(f"{command[0]} has not ended within {_SECONDS_PER_COMMAND} s") from None


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["no reason given"])[-1]
