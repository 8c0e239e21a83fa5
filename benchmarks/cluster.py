#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""What the launcher costs on a real Slurm, and what a corpus the size of Common Voice would take on a cluster.

Usage: benchmarks/cluster.py overhead [<jobs>]              # 1000 empty jobs against a bare sbatch; needs Slurm here
       benchmarks/cluster.py plan [<utterances> [<seconds per utterance> [<cores per node>]]]
       benchmarks/cluster.py study [<tasks> [<nodes of 4 GPUs>]]        # 34894 on 70; about 2 minutes

`overhead` starts three nodes on the loopback interface (tests/install_slurm.sh installs Slurm). `plan` measures what an
utterance costs on a core of this machine, cuts the work as the batches do, and deals the tasks out to 1, 10 and 100
nodes; it needs the models ecapa_voxceleb and whisper_base. `study` has the real launcher run tasks of ten minutes on a
simulated Slurm with nodes of different speed, one that fails every task, and five tasks that lack memory.
"""

import heapq
import math
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.cluster.cluster import Cluster, missing_programs
from tests.jobs.simulated_slurm import ideal, study
from vpeval.audio.io import RATE, read_audio
from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.jobs import tasks
from vpeval.jobs.shards import shard_seconds

ROOT = Path(__file__).resolve().parents[1]
AUDIO = ROOT / "egs/mini/corpus/audio"
LIMIT = 1.2
STUDY_LIMIT = 1.05
ROUNDS = 2
FILES_PER_TASK = 10  # at most: seven tables of a split and their directory, a log and a status


def main() -> None:
    what, *numbers = sys.argv[1:] or [""]
    if what not in ("overhead", "plan", "study") or not all(text.replace(".", "", 1).isdecimal() for text in numbers):
        raise InputError("expected 'overhead [jobs]', 'plan [utterances [seconds [cores]]]' or 'study'; see --help")
    if what == "overhead":
        overhead(*map(int, numbers))
    elif what == "study":
        simulate_study(*map(int, numbers))
    else:
        plan(*map(float, numbers))


def overhead(jobs: int = 1000) -> None:
    if missing := missing_programs():
        raise InputError(f"there is no {', '.join(missing)}; tests/install_slurm.sh installs it")
    with tempfile.TemporaryDirectory(prefix="vp-slurm-") as work_dir:
        cluster = Cluster(Path(work_dir, "0"), cpus=8, array_size=max(1001, jobs + 1)).start()
        try:
            bare, ours = [], []
            for number in range(ROUNDS):  # in turns, so that a busy machine slows both
                bare.append(time_bare(cluster, jobs, Path(work_dir)))
                ours.append(time_launcher(cluster, jobs, Path(work_dir, str(number + 1))))
        finally:
            cluster.stop()
    ratio = min(ours) / min(bare)
    verdict = "ok" if ratio <= LIMIT else "TOO SLOW"
    print(
        f"{jobs} empty jobs on three nodes: bare sbatch {min(bare):.1f} s, utils/run.py {min(ours):.1f} s, "
        f"ratio {ratio:.3f} (at most {LIMIT}: {verdict})"
    )


def time_bare(cluster: Cluster, jobs: int, work_dir: Path) -> float:
    """Seconds until an array of as many empty jobs has left the queue."""
    (work_dir / "empty.sh").write_text("#!/bin/bash\ntrue\n")
    start = time.perf_counter()
    options = [f"--array=1-{jobs}", "--output=/dev/null", "--mem=100", "--no-requeue"]
    cluster.run("sbatch", *options, str(work_dir / "empty.sh"))
    while cluster.run("squeue", "-h"):
        time.sleep(0.3)
    return time.perf_counter() - start


def time_launcher(cluster: Cluster, jobs: int, work_dir: Path) -> float:
    """The same through utils/run.py, from its start to its end."""
    work_dir.mkdir()
    (work_dir / "slurm.conf").write_text((ROOT / "conf/slurm.conf").read_text())
    command = [sys.executable, str(ROOT / "utils/run.py"), "--backend", "slurm", "--conf", str(work_dir / "slurm.conf")]
    command += ["--mem", "100M", f"JOB=1:{jobs}", str(work_dir / "log/x.JOB.log"), "true"]
    start = time.perf_counter()
    subprocess.run(command, env={**os.environ, **cluster.environment}, check=True, cwd=work_dir)
    return time.perf_counter() - start


def plan(utts: float = 1e6, seconds: float = 5.0, cores: float = 32) -> None:
    target = tasks.task_seconds()
    print(f"{utts:,.0f} utterances of {seconds:g} s, nodes of {cores:.0f} cores, tasks of {target:.0f} s\n")
    print("| step | CPU s per utterance | nodes | tasks | wall time | of the ideal | files while it runs |")
    print("|---|---|---|---|---|---|---|")
    for name, (cost, start_up) in measure(seconds).items():
        work = np.full(int(utts), cost)
        for nodes in (1, 10, 100):
            workers = int(nodes * cores)
            ranges = tasks.cut(work.tolist(), workers, target)
            spent = deal_out([start_up + cost * len(items) for items in ranges], workers)
            results = sum(math.ceil(cost * len(items) / shard_seconds()) for items in ranges)
            files = (utts if name.startswith("anonymise") else 0) + results + len(ranges) * FILES_PER_TASK
            ideal = cost * utts / workers
            columns = (name, f"{cost:.3f}", nodes, f"{len(ranges):,}", describe(spent), f"{spent / ideal:.2f}")
            print(f"| {' | '.join(map(str, columns))} | {files:,.0f} |")


def simulate_study(count: int = 34894, nodes: int = 70) -> None:
    simulation, notes = study(count, nodes), list[str]()
    begun = time.process_time()
    with tempfile.TemporaryDirectory() as work_dir:
        failures = simulation.run(Path(work_dir), len(simulation.machines), notes)
    spent, least = time.process_time() - begun, ideal(simulation)
    ratio = simulation.time / least
    verdict = "ok" if ratio <= STUDY_LIMIT else "TOO SLOW"
    print("\n".join(f"  {note}" for note in notes))
    print(
        f"{len(simulation.work)} tasks on {len(simulation.machines)} GPUs: {simulation.time / 3600:.2f} h, ideal "
        f"{least / 3600:.2f} h, ratio {ratio:.3f} (at most {STUDY_LIMIT}: {verdict}); "
        f"{len(failures)} failed, {simulation.starts['n1']} starts on the broken node, squeue {len(simulation.asked)} "
        f"times, {len(simulation.arrays)} arrays; the launcher and the simulation took {spent:.0f} s"
    )


def measure(seconds: float) -> dict[str, tuple[float, float]]:
    """CPU seconds for an utterance of this length and to start a task, by step; on one core."""
    from vpeval.anon.mcadams import McAdams
    from vpeval.asr.recognizers import load_recognizer
    from vpeval.networks.encoders import load_encoder

    files = sorted(AUDIO.glob("[fm]03?/*-00[1-4].opus"))[:16]
    waves = [read_audio(str(path)) for path in files]
    speech = sum(map(len, waves)) / RATE
    makers: dict[str, Callable[[], Callable[[np.ndarray], object]]] = {
        "anonymise (mcadams)": lambda: lambda wave: McAdams(0.8)(wave, RATE),
        "embed (ecapa)": lambda: load_encoder(ROOT / "conf/asv/encoders/ecapa.yaml").embed,
        "decode (whisper_base)": lambda: load_recognizer(ROOT / "conf/asr/whisper_base.yaml").transcribe,
    }
    costs = {}
    for name, make in makers.items():
        begin = time.process_time()
        function = make()
        function(waves[0])
        ready = time.process_time()
        for wave in waves:
            function(wave)
        costs[name] = ((time.process_time() - ready) / speech * seconds, ready - begin + 2.0)  # 2 s of imports
    return costs


def deal_out(tasks: list[float], workers: int) -> float:
    """When the last of the tasks ends, each being given to the first worker that is free."""
    free = [0.0] * workers
    for task in tasks:
        heapq.heapreplace(free, free[0] + task)
    return max(free)


def describe(seconds: float) -> str:
    return f"{seconds / 3600:.1f} h" if seconds >= 3600 else f"{seconds / 60:.1f} min"


if __name__ == "__main__":
    if "--help" in sys.argv[1:2]:
        print((__doc__ or "").strip())
    else:
        script.main(main)
