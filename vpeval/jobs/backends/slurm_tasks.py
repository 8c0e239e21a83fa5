"""The tasks of a Slurm array: conf/slurm.conf, what sbatch is given, and how a task has ended.

A task finds its job in the list of its submission, runs the command of that job and leaves a status file,
``<code> <seconds> <node>``, which appears with one rename. All of it is plain bash: starting Python would cost an empty
task more than Slurm does.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.jobs.backends.base import NOT_VISIBLE, Ended
from vpeval.jobs.backends.slurm_client import Entry
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
code=0
{setup}
[ "$code" != 0 ] || {{ bash -o pipefail -c "$line" </dev/null; code=$?; }}
printf '# Accounting: time=%d threads={threads}\n# Ended (code %d) at %(%c)T, elapsed time %d seconds\n' \
  "$SECONDS" "$code" -1 "$SECONDS"
status=$control/status/$1/$job
printf '%d %d %s\n' "$code" "$SECONDS" "$SLURMD_NODENAME" >"$status.$SLURM_JOB_ID.tmp" || exit 1
mv -f -- "$status.$SLURM_JOB_ID.tmp" "$status"
exit "$code"
"""
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
_SETUP = r"""{setup}
[ $? = 0 ] || {{ echo "'setup' of conf/slurm.conf failed on $SLURMD_NODENAME"; code={code}; }}"""
_OUT_OF_MEMORY = re.compile(rb"exceeded (job |step )?memory limit|oom.kill|out.of.memory handler", re.IGNORECASE)
_LOST = {
    "NODE_FAIL": "was lost with its node {node}",
    "BOOT_FAIL": "was lost: its node {node} could not be started",
    "PREEMPTED": "had to give way to another job on {node}",
    "REVOKED": "was revoked by the scheduler",
}


_DEFAULTS: dict[str, Any] = {"tuple[str, ...]": [], "str": ""}


@dataclass(frozen=True)
class Settings:
    """conf/slurm.conf."""

    partition: str
    account: str
    qos: str
    constraint: str
    mem: str
    time: str
    extra: tuple[str, ...]
    gpu_partition: str
    gpu_account: str
    gpu_qos: str
    gpu_constraint: str
    gpu_mem: str
    gpu_time: str
    gpu_extra: tuple[str, ...]
    gpu_type: str
    setup: str
    poll_seconds: float
    attempts: int
    growth: int
    hang_seconds: float
    visible_seconds: float
    patience_seconds: float

    @classmethod
    def read(cls, path: Path) -> Settings:
        """Read and check; texts may be left out."""
        kinds = {"int": int, "float": float, "str": str, "tuple[str, ...]": list}
        types = {field.name: str(field.type) for field in fields(cls)}
        optional = [name for name, kind in types.items() if kind in _DEFAULTS]
        found = read_config(path, *optional, **{name: kinds[kind] for name, kind in types.items()})
        found = {name: _DEFAULTS.get(kind) for name, kind in types.items()} | found
        for name in ("extra", "gpu_extra"):
            if not all(isinstance(option, str) and option.startswith("-") for option in found[name]):
                raise InputError(f"'{name}' must be a list of options of sbatch, such as ['--nice=100']", path)
            found[name] = tuple(found[name])
        settings = cls(**found)
        for name in ("poll_seconds", "attempts", "growth", "hang_seconds"):
            if getattr(settings, name) <= 0:
                raise InputError(f"'{name}' must be greater than 0", path)
        for name, parse in (("mem", parse_memory), ("time", parse_time)):
            for key in (name, f"gpu_{name}"):
                try:
                    if text := getattr(settings, key):
                        parse(text)
                except InputError as error:
                    raise InputError(str(error).replace(f"--{name}", key, 1), path) from None
        return settings

    def of(self, name: str, array: JobArray) -> str:
        """The setting `name` for an array."""
        return (array.gpus and getattr(self, f"gpu_{name}")) or getattr(self, name)

    def mem_of(self, array: JobArray) -> str:
        """The memory of a job; '' is the cluster's default."""
        return array.mem or self.of("mem", array)

    def time_of(self, array: JobArray) -> str:
        """The time of a job; '' is the limit of the partition."""
        return array.time or self.of("time", array)


def sbatch_options(array: JobArray, settings: Settings, mem: str, time: str) -> list[str]:
    """The request of an array as options of sbatch, with `mem` and `time` per job."""
    options = [f"--cpus-per-task={array.num_threads}", f"--nodes={array.num_nodes}", "--ntasks-per-node=1"]
    if mem:
        options.append(f"--mem={parse_memory(mem) >> 10}K")
    if time:
        options.append(f"--time={time}")
    if array.gpus:
        options.append(f"--gres=gpu:{settings.gpu_type}:{array.gpus}".replace("::", ":"))
    for name in ("partition", "account", "qos", "constraint"):
        if value := settings.of(name, array):
            options.append(f"--{name}={value}")
    # A job that was lost with its node is submitted again by the launcher; Slurm would do it silently, minutes later.
    return [*options, "--no-requeue", *settings.extra, *(settings.gpu_extra if array.gpus else ())]


def task_script(array: JobArray, control: Path, setup: str = "") -> str:
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
        setup=_SETUP.format(setup=setup, code=NOT_VISIBLE) if setup else "",
    )


@dataclass(frozen=True)
class Status:
    """The status file of a task that has ended."""

    job: int
    submission: int
    code: int
    seconds: int
    node: str


@dataclass(frozen=True)
class Request:
    """What matters of a request when a job ends: the directory shared with the launcher, and waits for its files."""

    shared: Path
    visible_seconds: float
    poll_seconds: float
    num_nodes: int = 1


def why_never(entry: Entry) -> str:
    """Why a waiting task will never run; empty if it may."""
    waits = entry.state in ("PENDING", "REQUEUE_HOLD", "SPECIAL_EXIT") or entry.reason == "BadConstraints"
    return _NEVER.get(entry.reason, "") if waits else ""


def end_of_task(entry: Entry | None, status: Status | None, logs: Iterable[Path], request: Request) -> Ended | None:
    """How a task has failed; None while it lives, or while more has to be known.

    `entry` is None if the scheduler does not know the task, `status` if the task has written none that is visible here.
    The scheduler's reason comes first: a command that was ended also has an exit code.
    """
    state, node = (entry.state, entry.node) if entry else ("", status.node if status else "")
    place = node if request.num_nodes == 1 else ""
    if entry and (why := why_never(entry)):
        return Ended(1, f"{why} (Slurm: {entry.reason})", ends_all=True)
    if entry and (entry.is_live or state == "CANCELLED"):
        return None
    if state == "OUT_OF_MEMORY" or (state != "COMPLETED" and any(map(_is_out_of_memory, logs))):
        had = f" ({entry.mem})" if entry and entry.mem else ""
        return Ended(1, f"needed more than its memory{had} on {node}", place, lacks="mem", remedy="give it more --mem")
    if state in ("TIMEOUT", "DEADLINE"):
        had = f" ({entry.time})" if entry and entry.time else ""
        remedy = "give it more --time, or have shorter tasks (VPEVAL_TASK_SECONDS)"
        return Ended(1, f"was ended after its time{had} on {node}", place, lacks="time", remedy=remedy)
    if state in _LOST:
        blamed = "" if state in ("PREEMPTED", "REVOKED") else place
        return Ended(1, _LOST[state].format(node=node or "?"), blamed, again=True)
    if status and status.code == NOT_VISIBLE:
        return Ended(status.code, f"did not find its work on {node} (see its log)", place, again=True)
    if status and status.code > 128 and request.num_nodes > 1:
        # A process on one of several nodes: whichever it was, the training goes on from its checkpoint.
        return Ended(status.code, f"lost a process on one of its nodes (exit code {status.code})", again=True)
    return Ended(status.code, place=place) if status else None


def end_without_status(entry: Entry | None, waited: float, request: Request) -> Ended | None:
    """How a task has ended that has shown no status for `waited` seconds; None: wait longer."""
    state, node = (entry.state, entry.node) if entry else ("", "")
    if state == "FAILED" and waited >= min(request.visible_seconds, request.poll_seconds):
        why = f"ended on {node} without a status, before or while it ran its command; does {node} see {request.shared}?"
        return Ended(1, why, node if request.num_nodes == 1 else "", again=True)
    if waited < request.visible_seconds:
        return None
    if not state:
        return Ended(1, "is not known to Slurm any more and has left no status", again=True)
    seconds = f"{request.visible_seconds:.0f} s"
    why = f"ended well on {node}, says Slurm, but its status has not shown within {seconds}; do all nodes share "
    return Ended(1, f"{why}{request.shared}?", ends_all=True)


def cancelled(entries: Mapping[int, Entry | None], more_to_come: bool) -> dict[int, Ended]:
    """Jobs that somebody cancelled, of all that are submitted: single ones are started again, all of them are not."""
    gone = [job for job, entry in entries.items() if entry and entry.state == "CANCELLED"]
    # A task that was running when all were cancelled is about to end; its state does not show why.
    going_on = any(entry is None or (entry.is_live and entry.state != "COMPLETING") for entry in entries.values())
    if going_on or (more_to_come and len(entries) == 1):
        return dict.fromkeys(gone, Ended(1, "was cancelled", again=True))
    why = "was cancelled, and no other is left (scancel); run the same command again to go on"
    return dict.fromkeys(gone, Ended(1, why, ends_all=True))


def _is_out_of_memory(log: Path) -> bool:
    """Whether Slurm says so in the log; it calls a job FAILED whose use of memory it has only sampled."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, log.stat().st_size - 2000))
            lines = file.read().splitlines()
    except FileNotFoundError:
        return False
    return any(_OUT_OF_MEMORY.search(line) for line in lines if line.startswith(b"slurmstepd"))
