"""What became of a task: the word of the task itself and the word of the scheduler, made into one sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from vpeval.jobs.backends.base import Ended
from vpeval.jobs.backends.slurm_control import Status
from vpeval.jobs.backends.slurm_queue import Entry

_OUT_OF_MEMORY = re.compile(rb"exceeded (job |step )?memory limit|oom.kill|out.of.memory handler", re.IGNORECASE)
_LOST = {
    "NODE_FAIL": "was lost with its node {node}",
    "BOOT_FAIL": "was lost: its node {node} could not be started",
    "PREEMPTED": "had to give way to another job on {node}",
    "REVOKED": "was revoked by the scheduler",
}


@dataclass(frozen=True)
class Request:
    """What the jobs asked for, as a message calls it, and the directory that they share with the launcher."""

    mem: str
    time: str
    shared: Path
    visible_seconds: float
    poll_seconds: float


def verdict(entry: Entry | None, status: Status | None, logs: Iterable[Path], request: Request) -> Ended | None:
    """How a task has ended that did not end well; None while it lives, or while more has to be known.

    `entry` is what the scheduler says, None if it does not know the task; `status` is what the task says, None if that
    cannot be seen. The scheduler's reason comes first: a command that was ended also has an exit code.
    """
    state, node = (entry.state, entry.node) if entry else ("", status.node if status else "")
    if entry and entry.never:
        return Ended(1, f"{entry.never} (Slurm: {entry.reason})", ends_all=True)
    if (entry and entry.is_live) or state == "CANCELLED":
        return None
    if state == "OUT_OF_MEMORY" or (state != "COMPLETED" and any(map(_says_out_of_memory, logs))):
        return Ended(1, f"needed more than its memory ({request.mem}) on {node}; give it more --mem", ends_all=True)
    if state in ("TIMEOUT", "DEADLINE"):
        remedy = "give it more --time, or have shorter tasks (VPEVAL_TASK_SECONDS)"
        return Ended(1, f"was ended after its time ({request.time}) on {node}; {remedy}", ends_all=True)
    if state in _LOST:
        return Ended(1, _LOST[state].format(node=node or "?"), again=True)
    return Ended(status.code) if status else None


def silence(entry: Entry | None, waited: float, request: Request) -> Ended | None:
    """The end of a task that is over and whose status has not been seen for `waited` seconds; None: wait longer."""
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
    """Jobs that somebody cancelled, of all that have not ended: a single one is tried again, all of them are not."""
    gone = [job for job, entry in entries.items() if entry and entry.state == "CANCELLED"]
    # A task that was running when all were cancelled is about to end; its state does not tell of what.
    going_on = any(entry is None or (entry.is_live and entry.state != "COMPLETING") for entry in entries.values())
    if going_on or more_to_come:
        return dict.fromkeys(gone, Ended(1, "was cancelled", again=True))
    why = "was cancelled, and no other is left (scancel); run the same command again to go on"
    return dict.fromkeys(gone, Ended(1, why, ends_all=True))


def _says_out_of_memory(log: Path) -> bool:
    """Whether Slurm says in a log that it has ended the job for its memory; not every cluster has a state for it."""
    try:
        with open(log, "rb") as file:
            file.seek(max(0, log.stat().st_size - 2000))
            lines = file.read().splitlines()
    except FileNotFoundError:
        return False
    return any(_OUT_OF_MEMORY.search(line) for line in lines if line.startswith(b"slurmstepd"))
