"""The tasks of a Slurm array: what sbatch is given, what squeue answers, and how a task has ended.

A task finds its job in the list of its submission, runs the command of that job and leaves a status file,
``<code> <seconds> <node>``, which appears with one rename. All of it is plain bash: starting Python would cost an empty
task more than Slurm does.
"""

from __future__ import annotations

import getpass
import os
import re
import shlex
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.jobs.backends.base import Ended
from vpeval.jobs.launch import JobArray, parse_memory, parse_time

_SCRIPT = r"""#!/bin/bash
# One task of a job array: the job whose number is in line $SLURM_ARRAY_TASK_ID of the list of submission $1.
control={control}
cd -- {directory} || exit 1
mapfile -t -s "$((SLURM_ARRAY_TASK_ID - 1))" -n 1 job <"$control/$1.jobs"
[ -n "$job" ] || {{ echo "$control/$1.jobs has no line $SLURM_ARRAY_TASK_ID on $SLURMD_NODENAME"; exit 1; }}
line={line}
log={log}
{fill}
# What Slurm itself says, such as why it ends a task, comes to this output as well, and so into the log.
mv -f -- "$control/out/$1.$SLURM_ARRAY_TASK_ID" "$log" || exit 1
export OMP_NUM_THREADS={threads} OPENBLAS_NUM_THREADS={threads} MKL_NUM_THREADS={threads}
# Scratch of the node: what the site gives a job, or what there is.
VPEVAL_SCRATCH=${{SLURM_TMPDIR:-${{TMPDIR:-/tmp}}}}
[ -d "$VPEVAL_SCRATCH" ] || VPEVAL_SCRATCH=/tmp
export VPEVAL_SCRATCH TMPDIR=$VPEVAL_SCRATCH
printf '# %s\n# Started at %(%c)T on %s as Slurm job %s_%s\n#\n' "$line" -1 \
  "$SLURMD_NODENAME" "$SLURM_ARRAY_JOB_ID" "$SLURM_ARRAY_TASK_ID"
bash -o pipefail -c "$line" </dev/null
code=$?
printf '# Accounting: time=%d threads={threads}\n# Ended (code %d) at %(%c)T, elapsed time %d seconds\n' \
  "$SECONDS" "$code" -1 "$SECONDS"
status=$control/status/$job.$1
printf '%d %d %s\n' "$code" "$SECONDS" "$SLURMD_NODENAME" >"$status.$SLURM_JOB_ID.tmp" || exit 1
mv -f -- "$status.$SLURM_JOB_ID.tmp" "$status"
exit "$code"
"""
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
_GONE_SECONDS = 300.0
_OUT_OF_MEMORY = re.compile(rb"exceeded (job |step )?memory limit|oom.kill|out.of.memory handler", re.IGNORECASE)
_LOST = {
    "NODE_FAIL": "was lost with its node {node}",
    "BOOT_FAIL": "was lost: its node {node} could not be started",
    "PREEMPTED": "had to give way to another job on {node}",
    "REVOKED": "was revoked by the scheduler",
}


@dataclass(frozen=True)
class Settings:
    """conf/slurm.conf."""

    partition: str
    account: str
    gpu_partition: str
    gpu_type: str
    mem: str
    time: str
    extra: tuple[str, ...]
    poll_seconds: float
    attempts: int
    visible_seconds: float
    patience_seconds: float

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Read and check."""
        kinds = {"int": int, "float": float, "str": str, "tuple[str, ...]": list}
        found = read_config(path, **{field.name: kinds[str(field.type)] for field in fields(cls)})
        if not all(isinstance(option, str) and option.startswith("-") for option in found["extra"]):
            raise InputError("'extra' must be a list of options of sbatch, such as ['--qos=long']", path)
        settings = cls(**{**found, "extra": tuple(found["extra"])})
        for name in ("poll_seconds", "attempts"):
            if getattr(settings, name) <= 0:
                raise InputError(f"'{name}' must be greater than 0", path)
        try:
            for text, parse in ((settings.mem, parse_memory), (settings.time, parse_time)):
                if text:
                    parse(text)
        except InputError as error:
            raise InputError(str(error).replace("--", "", 1), path) from None
        return settings


def sbatch_options(array: JobArray, settings: Settings) -> list[str]:
    """The request of an array as options of sbatch."""
    options = [f"--cpus-per-task={array.num_threads}", f"--nodes={array.num_nodes}", "--ntasks-per-node=1"]
    if mem := array.mem or settings.mem:
        options.append(f"--mem={parse_memory(mem) >> 10}K")
    if limit := array.time or settings.time:
        options.append(f"--time={limit}")
    if array.gpus:
        options.append(f"--gres=gpu:{settings.gpu_type}:{array.gpus}".replace("::", ":"))
    if partition := (array.gpus and settings.gpu_partition) or settings.partition:
        options.append(f"--partition={partition}")
    if settings.account:
        options.append(f"--account={settings.account}")
    # A job that was lost with its node is submitted again by the launcher; Slurm would do it silently, minutes later.
    return [*options, "--no-requeue", *settings.extra]


def task_script(array: JobArray, control: Path) -> str:
    """The script of every task of an array."""
    name = shlex.quote(array.name)
    fill = f"line=${{line//{name}/$job}} log=${{log//{name}/$job}}" if array.name else ""
    return _SCRIPT.format(
        control=shlex.quote(str(control.resolve())),
        directory=shlex.quote(str(Path.cwd())),
        line=shlex.quote(array.line),
        log=shlex.quote(array.log),
        fill=fill,
        threads=array.num_threads,
    )


class NoAnswer(Exception):
    """The controller is away: being restarted, or out of reach."""


class QueueFull(Exception):
    """There is a limit on queued jobs, and it is reached."""


@dataclass(frozen=True)
class Entry:
    """What the scheduler knows about one task of an array."""

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
    message = " ".join(re.sub(r"^sbatch: (error: )?", "", line) for line in done.stderr.strip().splitlines())
    if _NO_ANSWER.search(message):
        raise NoAnswer(message)
    if _FULL.search(message):
        raise QueueFull(message)
    remedy = next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, message, re.IGNORECASE)), "")
    raise InputError(f"Slurm refuses the jobs ({message}); {remedy or 'change the options or conf/slurm.conf'}")


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


def end_jobs(name: str) -> int:
    """Cancel all jobs called `name`, wait until they are gone, and return how many there were."""
    deadline, count = time.monotonic() + _GONE_SECONDS, 0
    while True:
        live = [entry for entry in entries(name) if entry.is_live]
        count = max(count, len(live))
        if not live:
            return count
        if time.monotonic() > deadline:
            raise NoAnswer(f"{len(live)} of its jobs do not end")
        if ending := sorted({entry.array for entry in live if entry.state != "COMPLETING"}):
            cancel(ending)
        time.sleep(0.2)


@dataclass(frozen=True)
class Status:
    """The status file of a task that has ended."""

    job: int
    submission: int
    code: int
    node: str


@dataclass(frozen=True)
class Request:
    """The request of the jobs, in the words of a message, and the directory that they share with the launcher."""

    mem: str
    time: str
    shared: Path
    visible_seconds: float
    poll_seconds: float


def end_of_task(entry: Entry | None, status: Status | None, logs: Iterable[Path], request: Request) -> Ended | None:
    """How a task has failed; None while it lives, or while more has to be known.

    `entry` is None if the scheduler does not know the task, `status` if the task has written none that is visible here.
    The scheduler's reason comes first: a command that was ended also has an exit code.
    """
    state, node = (entry.state, entry.node) if entry else ("", status.node if status else "")
    if entry and entry.never:
        return Ended(1, f"{entry.never} (Slurm: {entry.reason})", ends_all=True)
    if (entry and entry.is_live) or state == "CANCELLED":
        return None
    if state == "OUT_OF_MEMORY" or (state != "COMPLETED" and any(map(_is_out_of_memory, logs))):
        return Ended(1, f"needed more than its memory ({request.mem}) on {node}; give it more --mem", ends_all=True)
    if state in ("TIMEOUT", "DEADLINE"):
        remedy = "give it more --time, or have shorter tasks (VPEVAL_TASK_SECONDS)"
        return Ended(1, f"was ended after its time ({request.time}) on {node}; {remedy}", ends_all=True)
    if state in _LOST:
        return Ended(1, _LOST[state].format(node=node or "?"), again=True)
    return Ended(status.code) if status else None


def end_without_status(entry: Entry | None, waited: float, request: Request) -> Ended | None:
    """How a task has ended that has shown no status for `waited` seconds; None: wait longer."""
    state, node = (entry.state, entry.node) if entry else ("", "")
    if state == "FAILED" and waited >= min(request.visible_seconds, request.poll_seconds):
        why = f"ended on {node} without a status, before or while it ran its command; does {node} see {request.shared}?"
        return Ended(1, why, again=True)
    if waited < request.visible_seconds:
        return None
    if not state:
        return Ended(1, "is not known to Slurm any more and has left no status", again=True)
    seconds = f"{request.visible_seconds:.0f} s"
    why = f"ended well on {node}, says Slurm, but its status has not shown within {seconds}; do all nodes share "
    return Ended(1, f"{why}{request.shared}?", ends_all=True)


def cancelled(entries: Mapping[int, Entry | None], more_to_come: bool) -> dict[int, Ended]:
    """Jobs that somebody cancelled, of all that have not ended: a single one is started again, all of them are not."""
    gone = [job for job, entry in entries.items() if entry and entry.state == "CANCELLED"]
    # A task that was running when all were cancelled is about to end; its state does not show why.
    going_on = any(entry is None or (entry.is_live and entry.state != "COMPLETING") for entry in entries.values())
    if going_on or more_to_come:
        return dict.fromkeys(gone, Ended(1, "was cancelled", again=True))
    why = "was cancelled, and no other is left (scancel); run the same command again to go on"
    return dict.fromkeys(gone, Ended(1, why, ends_all=True))


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    # Variables of a job that this process may run in must not become options of the jobs it submits.
    ours = {key: value for key, value in os.environ.items() if not re.match("(SLURM|SBATCH|SQUEUE|SCANCEL)_", key)}
    if "SLURM_CONF" in os.environ:
        ours["SLURM_CONF"] = os.environ["SLURM_CONF"]
    try:
        # In a session of its own: Ctrl-C must not stop a submission half-way.
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


def _is_out_of_memory(log: Path) -> bool:
    """Whether a log has Slurm's message that it ended the job for its memory; not every cluster has a state for it."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, log.stat().st_size - 2000))
            lines = file.read().splitlines()
    except FileNotFoundError:
        return False
    return any(_OUT_OF_MEMORY.search(line) for line in lines if line.startswith(b"slurmstepd"))
