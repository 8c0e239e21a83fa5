"""What a launcher asks of Slurm's controller, by its commands; seldom enough for a cluster that many use.

Slurm's own limits are met by asking for less: a submission that is refused because the queue is full raises `QueueFull`
at once, instead of the minutes that sbatch would wait.
"""

from __future__ import annotations

import getpass
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from vpeval.core.errors import InputError
from vpeval.jobs.backends.base import Clock
from vpeval.jobs.launch import Interrupted

T = TypeVar("T")
Call = Callable[[Sequence[str], Callable[[], int], float], "Answer"]
_OVER = {"BOOT_FAIL", "CANCELLED", "COMPLETED", "DEADLINE", "FAILED", "NODE_FAIL", "OUT_OF_MEMORY", "PREEMPTED"} | {
    "REVOKED",
    "TIMEOUT",
}
_SECONDS_PER_COMMAND = 60.0
_GONE_SECONDS = 300.0
_HURRY_SECONDS = 0.7  # for each of two commands
_BURST = 2.0
_WAITS = re.compile(rb"sleeping and retrying|temporarily unavailable", re.IGNORECASE)
_NO_ANSWER = re.compile(
    r"unable to contact slurm controller|socket timed out|connect(ion)? (failure|refused|timed out)|standby mode|"
    r"communication connection failure|zero bytes were transmitted|munge encode failed|was stopped",
    re.IGNORECASE,
)
_FULL = re.compile(
    r"violates accounting/QOS policy|MaxSubmit|too many jobs|maximum job count|queue full|temporarily una",
    re.IGNORECASE,
)
_REMEDIES = (
    (r"invalid partition|partition .*not", "see the partitions with sinfo and name one in conf/slurm.conf"),
    (r"account", "see your accounts with 'sacctmgr show associations user=$USER' and name one in conf/slurm.conf"),
    (r"qos", "see what you may use with 'sacctmgr show associations user=$USER format=qos'; change conf/slurm.conf"),
    (
        r"memory|node configuration is not available",
        "no node has that much: ask for less --mem, threads, GPUs or nodes",
    ),
    (r"feature", "see the features of nodes with 'sinfo -o \"%N %f\"' and change 'constraint' in conf/slurm.conf"),
    (r"processors|CPU count", "no node has that many cores: ask for less --num-threads"),
    (r"time limit", "see the limits with 'sinfo -o \"%P %l\"' and ask for less --time"),
    (r"gres|generic resource", "see the GPUs with 'sinfo -o \"%P %G\"', or leave --gpu out to use the CPU"),
)
_FIELDS = "%F|%K|%k|%T|%N|%m|%l|%r"
# Settings of the user or the site that sbatch and the others read. Other variables of this kind describe the job that
# this process may run in, or would change what the launcher relies on.
_KEPT = {"SLURM_CONF", "SLURM_CONF_SERVER", "SLURM_JWT", "SLURM_CLUSTERS"}
_OURS = re.compile("ARRAY_INX|ERROR|EXPORT|IMMEDIATE|INPUT|JOB_NAME|MEM_PER_.*|(NO_)?REQUEUE|OUTPUT|WAIT.*")
_FOREIGN = re.compile("(SLURM|SLURMD|SBATCH|SQUEUE|SCANCEL|SCONTROL)_(.*)")


class NoAnswer(Exception):
    """The controller is away: being restarted, or out of reach."""


class QueueFull(Exception):
    """There is a limit on queued jobs, and it is reached."""


class Refused(InputError):
    """Slurm will never run such a job."""


@dataclass(frozen=True)
class Entry:
    """What the scheduler knows about one task of an array, or about all that wait; memory and time as it has them."""

    array: str
    state: str
    reason: str
    node: str
    mem: str = ""
    time: str = ""
    throttle: int = 0

    @property
    def is_live(self) -> bool:
        """Whether the task waits, runs or is about to end."""
        return self.state not in _OVER

    @property
    def waits_for_nodes(self) -> bool:
        """Whether a task waits for nodes that may come back."""
        return self.state == "PENDING" and self.reason.startswith(
            ("ReqNodeNotAvail", "Nodes required for job are DOWN")
        )


class Entries:
    """The answer of one query: an entry for every task, by its submission and index."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._entries: dict[tuple[int, int], Entry] = {}
        self._rest: dict[int, Entry] = {}  # of a submission whose waiting tasks were cancelled all at once
        for line in lines:
            array, tasks, comment, state, node, mem, time, reason = line.split("|", 7)
            if not comment.isdecimal():
                continue
            tasks, _, throttle = tasks.partition("%")
            entry = Entry(array, state, reason, node, mem, time, int(throttle or 0))
            if not tasks[:1].isdecimal():
                self._rest[int(comment)] = entry
            elif tasks.isdecimal():
                self._entries[int(comment), int(tasks)] = entry
            else:
                for index in _members(tasks):
                    self._entries[int(comment), index] = entry

    def get(self, submission: int, index: int) -> Entry | None:
        """The entry of a task; None if the scheduler does not know it."""
        return self._entries.get((submission, index)) or self._rest.get(submission)

    @property
    def live(self) -> int:
        """How many tasks wait or run."""
        return sum(entry.is_live for entry in self._entries.values())

    @property
    def submissions(self) -> set[int]:
        """Those of which the scheduler knows something."""
        return {submission for submission, _ in self._entries} | self._rest.keys()


def _members(tasks: str) -> list[int]:
    """The numbers in such an expression of Slurm as ``1,4,7-9`` or ``1-9:2``.

    >>> _members("1,4,7-9"), _members("1-9:4")
    ([1, 4, 7, 8, 9], [1, 5, 9])
    """
    found: list[int] = []
    for part in tasks.split(","):
        ends, _, step = part.partition(":")
        first, _, last = ends.partition("-")
        found += range(int(first), int(last or first) + 1, int(step or 1))
    return found


@dataclass(frozen=True)
class Answer:
    """What a command of Slurm did."""

    code: int
    out: str
    errors: str


def call(command: Sequence[str], stops: Callable[[], int], seconds: float) -> Answer:
    """Run a command of Slurm; one that begins to wait for a better time, or is not to be waited for, is ended."""
    try:
        # In a session of its own: Ctrl-C must not stop a submission half-way.
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=variables(),
            start_new_session=True,
        )
    except FileNotFoundError:
        raise InputError(
            f"there is no {command[0]} on this machine; log in where Slurm is, or set backend=local in cmd.sh"
        ) from None
    clock = Clock()
    until = clock.now() + seconds
    while True:
        try:
            out, errors = child.communicate(timeout=0.1)
            return Answer(child.returncode, out.decode(errors="replace"), errors.decode(errors="replace"))
        except subprocess.TimeoutExpired as waiting:
            said = waiting.stderr or b""
            if _WAITS.search(said) or stops() or clock.now() > until:
                child.kill()
                out, errors = child.communicate()
                why = (
                    "" if _WAITS.search(said) else f"\n{command[0]} did not end within {seconds:.1f} s and was stopped"
                )
                return Answer(child.returncode, out.decode(errors="replace"), errors.decode(errors="replace") + why)


def variables() -> dict[str, str]:
    """The environment for Slurm's commands, and so for the jobs."""
    ours = dict(os.environ)
    for name in os.environ:
        if (
            (match := _FOREIGN.fullmatch(name))
            and name not in _KEPT
            and (match[1] != "SBATCH" or _OURS.fullmatch(match[2]))
        ):
            del ours[name]
    return ours | {"SLURM_BITSTR_LEN": "0"}  # squeue would cut the numbers of waiting tasks short


class Client:
    """The commands of Slurm for one launcher; `call` runs them, and is another function in a simulation."""

    def __init__(self, poll_seconds: float, clock: Clock, run: Call = call) -> None:
        self.clock, self._run, self._poll_seconds = clock, run, poll_seconds
        self.stops: Callable[[], int] = lambda: 0
        self._asks, self._counted = _BURST, clock.now()

    def may_ask(self, spare: float = 1.0) -> bool:
        """Whether a query is due: one every `poll_seconds`, and one more for the end."""
        now = self.clock.now()
        self._asks = min(_BURST, self._asks + (now - self._counted) / self._poll_seconds)
        self._counted = now
        return self._asks >= 1.0 + spare

    def entries(self, name: str, patient: bool = True, seconds: float = _SECONDS_PER_COMMAND) -> Entries:
        """All tasks of the jobs called `name`, ended ones too as long as Slurm remembers them: one query."""
        while patient and not self.may_ask(0.0):
            self.wait(self._poll_seconds / 10)
        self._asks = max(0.0, self._asks - 1.0)
        command = ["squeue", "-h", "-t", "all", "-u", getpass.getuser(), "-n", name, "-o", _FIELDS]
        return Entries(self._call(command, seconds).out.splitlines())

    def submit(self, options: Sequence[str], script: str, arguments: Sequence[str]) -> None:
        """Submit a job array."""
        done = self._run(["sbatch", "--parsable", *options, script, *arguments], self.stops, _SECONDS_PER_COMMAND)
        if done.code == 0:
            return
        message = " ".join(re.sub(r"^sbatch: (error: )?", "", line) for line in done.errors.strip().splitlines())
        if _FULL.search(message):
            raise QueueFull(message)
        if _NO_ANSWER.search(message):
            raise NoAnswer(message)
        remedy = next((remedy for pattern, remedy in _REMEDIES if re.search(pattern, message, re.IGNORECASE)), "")
        raise Refused(f"Slurm refuses the jobs ({message}); {remedy or 'change the options or conf/slurm.conf'}")

    def cancel(self, name: str, seconds: float = _SECONDS_PER_COMMAND) -> None:
        """End all jobs called `name`."""
        self._call(["scancel", f"--user={getpass.getuser()}", f"--name={name}"], seconds)

    def cancel_task(self, array: str, index: int) -> None:
        """End one task."""
        self._call(["scancel", f"{array}_{index}"])

    def update(self, array: str, change: str) -> None:
        """Change an array; what of it runs or has ended stays as it is, and Slurm counts that as an error."""
        self._run(["scontrol", "update", f"JobId={array}", change], self.stops, _SECONDS_PER_COMMAND)

    def largest_array(self) -> int:
        """How many tasks a job array may have: half of what the queue of the cluster takes is left to others."""
        text = self._call(["scontrol", "show", "config"]).out
        found = {name: int(count) for name, count in re.findall(r"^(Max\w+)\s*=\s*(\d+)", text, re.MULTILINE)}
        return max(1, min(found.get("MaxArraySize", 1001) - 1, found.get("MaxJobCount", 10000) // 2))

    def end_jobs(self, name: str) -> int:
        """Cancel all jobs called `name`, wait until they are gone, and return how many there were."""
        deadline = self.clock.now() + _GONE_SECONDS
        first = live = self.entries(name).live
        while live:
            if self.clock.now() > deadline:
                raise NoAnswer(f"{live} of its jobs do not end")
            self.cancel(name)
            self.wait(min(1.0, self._poll_seconds))
            live = self.entries(name).live
        return first

    def end_soon(self, name: str) -> bool:
        """Cancel all jobs called `name`; whether they are known to be gone within a second."""
        self.stops = lambda: 0
        self.cancel(name, _HURRY_SECONDS)
        self.wait(_HURRY_SECONDS / 2)
        return self.may_ask(0.0) and not self.entries(name, patient=False, seconds=_HURRY_SECONDS).live

    def patiently(self, ask: Callable[[], T], seconds: float, note: Callable[[NoAnswer], None]) -> T:
        """Ask the controller, and wait if it does not answer."""
        deadline = self.clock.now() + seconds
        while True:
            try:
                return ask()
            except NoAnswer as error:
                if self.clock.now() > deadline:
                    raise InputError(
                        f"Slurm does not answer ({error}); is its controller running (scontrol ping)?"
                    ) from None
                note(error)
                self.wait(min(1.0, self._poll_seconds))

    def wait(self, seconds: float) -> None:
        """Sleep; a signal to stop raises `Interrupted`."""
        if number := self.clock.wait(seconds, self.stops):
            raise Interrupted(number)

    def _call(self, command: Sequence[str], seconds: float = _SECONDS_PER_COMMAND) -> Answer:
        done = self._run(command, self.stops, seconds)
        if done.code:
            raise NoAnswer(done.errors.strip().splitlines()[-1] if done.errors.strip() else f"{command[0]} failed")
        return done
