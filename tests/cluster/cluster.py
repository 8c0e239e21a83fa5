"""A real Slurm of three nodes on the loopback interface, run by whoever runs the tests.

Every daemon is a child of this process in the foreground, so that it can be killed by its number. Each node is a slurmd
with a name, a port and a spool directory of its own; munge has a private key and socket.
"""

from __future__ import annotations

import getpass
import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from vpeval.core.processes import parent_death_hook

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "squeue", "scancel", "scontrol", "srun", "munged")
SYSTEM_PATH = f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"
NODES = ("n1", "n2", "n3")
PRIVATE_MOUNTS = ("unshare", "--mount", "--propagation", "private")
CONFIGURATION = """\
ClusterName=loopback
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={work_dir}/munge.socket
CredType=cred/munge
SlurmctldPort={port}
SlurmctldPidFile={work_dir}/slurmctld.pid
SlurmdPidFile={work_dir}/slurmd.%n.pid
StateSaveLocation={work_dir}/state
SlurmdSpoolDir={work_dir}/spool.%n
SlurmctldLogFile={work_dir}/slurmctld.log
SlurmdLogFile={work_dir}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SlurmdParameters=config_overrides
EnforcePartLimits=ALL
ReturnToService=2
SlurmdTimeout=5
MessageTimeout=5
KillWait=2
MinJobAge=60
CompleteWait=0
SchedulerParameters=defer_batch,sched_interval=2,batch_sched_delay=0,sched_min_interval=0,bf_interval=1
MaxArraySize={array_size}
MaxJobCount={most_jobs}
DefMemPerCPU=500
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
JobCompType=jobcomp/none
AccountingStorageType=accounting_storage/none
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
NodeName=n[1-3] NodeHostname=localhost NodeAddr=127.0.0.1 Port=[{first_node}-{last_node}] CPUs={cpus} RealMemory=4000 State=UNKNOWN
PartitionName=main Nodes=n[1-3] Default=YES MaxTime=60 State=UP
PartitionName=closed Nodes=n[1-3] MaxTime=60 State=DOWN
"""


def missing_programs() -> list[str]:
    """What of Slurm is not installed."""
    return [program for program in PROGRAMS if not shutil.which(program, path=SYSTEM_PATH)]


class Cluster:
    """Daemons of a controller and three nodes; `environment` makes Slurm's commands talk to them."""

    def __init__(self, work_dir: Path, cpus: int = 2, array_size: int = 1001, most_jobs: int = 10000) -> None:
        self.work_dir, self.cpus, self.array_size, self.most_jobs = work_dir, cpus, array_size, most_jobs
        self.nodes: dict[str, subprocess.Popen[bytes]] = {}
        self.controller: subprocess.Popen[bytes] | None = None
        self.munge: subprocess.Popen[bytes] | None = None

    @property
    def environment(self) -> Mapping[str, str]:
        """Beyond that of this process."""
        return {"SLURM_CONF": str(self.work_dir / "slurm.conf"), "PATH": SYSTEM_PATH}

    def start(self) -> Cluster:
        """Start everything and wait until the nodes take jobs."""
        # Munge and Slurm insist on directories that nobody else can write to.
        self.work_dir.mkdir(mode=0o755, parents=True, exist_ok=True)
        self.work_dir.chmod(0o755)
        (self.work_dir / "state").mkdir()
        controller, *nodes = _free_ports(1 + len(NODES))
        text = CONFIGURATION.format(
            user=getpass.getuser(),
            work_dir=self.work_dir,
            port=controller,
            first_node=nodes[0],
            last_node=nodes[-1],
            cpus=self.cpus,
            array_size=self.array_size,
            most_jobs=self.most_jobs,
        )
        (self.work_dir / "slurm.conf").write_text(text)
        key = self.work_dir / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o400)
        places = {"socket": "munge.socket", "pid-file": "munge.pid", "log-file": "munge.log", "seed-file": "munge.seed"}
        options = [f"--{name}={self.work_dir / place}" for name, place in places.items()]
        self.munge = self._start("munged", "--foreground", "--force", f"--key-file={key}", "--num-threads=2", *options)
        wait_until((self.work_dir / "munge.socket").exists, self._log)
        self.start_controller()
        for node in NODES:
            self.start_node(node)
        wait_until(lambda: self.states() == dict.fromkeys(NODES, "idle"), self._log)
        return self

    def start_controller(self) -> None:
        """Start slurmctld (again)."""
        self.controller = self._start("slurmctld", "-D")
        wait_until(lambda: "UP" in self.run("scontrol", "ping", check=False), self._log)

    def stop_controller(self, number: int = signal.SIGKILL) -> None:
        """End slurmctld."""
        assert self.controller
        self.controller.send_signal(number)
        self.controller.wait()

    def forget_jobs(self) -> None:
        """Start slurmctld again without what it knew, as after the loss of its disk."""
        self.stop_controller()
        shutil.rmtree(self.work_dir / "state")
        (self.work_dir / "state").mkdir()
        self.start_controller()

    def start_node(self, node: str, read_only: Path | None = None) -> None:
        """Start the slurmd of a node (again); it may see a directory that it cannot write."""
        (self.work_dir / f"spool.{node}").mkdir(mode=0o755, exist_ok=True)
        command = ["slurmd", "-D", "-N", node]
        if read_only:
            mount = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
            command = [*PRIVATE_MOUNTS, "sh", "-c", mount, str(read_only), *command]
        self.nodes[node] = self._start(*command)

    def kill_node(self, node: str) -> None:
        """kill -9 of a slurmd and of all that runs on its node, as when it loses its power."""
        self.nodes[node].kill()
        self.nodes[node].wait()
        for _ in range(3):  # what was being started while we looked
            for pid in self._processes_of(node):
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    def kill_slurmd(self, node: str) -> None:
        """kill -9 of a slurmd alone: what runs on its node goes on, unseen."""
        self.nodes[node].kill()
        self.nodes[node].wait()

    def revive(self) -> None:
        """Have all nodes take jobs again, and none of any test's left."""
        self.run("scancel", "-u", getpass.getuser(), check=False)
        if self.controller is None or self.controller.poll() is not None:
            self.start_controller()
        for node in NODES:
            if self.nodes[node].poll() is not None:
                self.start_node(node)
            self.run("scontrol", "update", f"NodeName={node}", "State=RESUME", check=False)
        wait_until(lambda: self.states() == dict.fromkeys(NODES, "idle"), self._log)

    def stop(self) -> None:
        """End everything."""
        with suppress(subprocess.SubprocessError):
            self.run("scancel", "-u", getpass.getuser(), check=False)
        for node in self.nodes:
            self.kill_node(node)
        for daemon in (self.controller, self.munge):
            if daemon and daemon.poll() is None:
                daemon.kill()
                daemon.wait()

    def states(self) -> dict[str, str]:
        """State of every node, such as idle, mixed, down."""
        lines = self.run("sinfo", "-h", "-N", "-p", "main", "-o", "%N %t", check=False).splitlines()
        return {node: state.rstrip("*") for node, state in (line.split() for line in lines)}

    def jobs(self) -> list[str]:
        """Jobs that have not ended: id and state."""
        return self.run("squeue", "-h", "-r", "-o", "%i %T").splitlines()

    def node_of(self, task: str) -> str:
        """Where a task runs, '' if it does not."""
        return self.run("squeue", "-h", "-r", "-j", task, "-o", "%N", check=False).strip()

    def run(self, *command: str, check: bool = True) -> str:
        """Output of one of Slurm's commands."""
        environment = {**os.environ, **self.environment}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)
        assert not check or done.returncode == 0, f"{command}: {done.stderr}"
        return done.stdout

    def _start(self, *command: str) -> subprocess.Popen[bytes]:
        with open(self.work_dir / f"{command[0]}.out", "ab") as out:
            environment = {**os.environ, **self.environment}
            return subprocess.Popen(
                command,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
                preexec_fn=parent_death_hook(),  # also when the tests are killed outright
            )

    def _processes_of(self, node: str) -> list[int]:
        """Step daemons of a node and all that was started for its jobs."""
        found = []
        for directory in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                environment = (directory / "environ").read_bytes().split(b"\0")
                conf = f"SLURM_CONF={self.work_dir}/slurm.conf".encode()
                ours = f"SLURMD_NODENAME={node}".encode() in environment and conf in environment
                line = (directory / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                if ours or (line.startswith("slurmstepd") and self._is_step_of(directory, node)):
                    found.append(int(directory.name))
        return found

    def _is_step_of(self, directory: Path, node: str) -> bool:
        """Whether a step daemon keeps its socket or log in the spool of the node."""
        spool, log = f"{self.work_dir}/spool.{node}/", f"{self.work_dir}/slurmd.{node}.log"
        places = [str(handle.readlink()) for handle in (directory / "fd").iterdir()]
        return any(place.startswith(spool) or place == log for place in places)

    def _log(self) -> str:
        return "\n".join(
            f"== {path.name}\n" + "\n".join(path.read_text(errors="replace").splitlines()[-15:])
            for path in sorted([*self.work_dir.glob("*.out"), *self.work_dir.glob("*.log")])
        )


def wait_until(condition: Callable[[], bool], explain: Callable[[], str] = str, seconds: float = 120) -> None:
    """Wait for what must happen."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"it did not happen in time\n{explain()}"
        time.sleep(0.05)


def _free_ports(count: int) -> list[int]:
    """Ports in a row that nobody listens on, below those that the system hands out by itself.

    Every process looks in blocks of its own first: two that start clusters at the same time would find the same free.
    """
    blocks = [(os.getpid() + number) % 800 for number in range(0, 800, 7)]
    for first in (17000 + 16 * block + offset for block in blocks for offset in range(0, 16 - count + 1, count)):
        try:
            for port in range(first, first + count):
                with socket.socket() as probe:
                    probe.bind(("127.0.0.1", port))
        except OSError:
            continue
        return list(range(first, first + count))
    raise AssertionError("no free ports")
