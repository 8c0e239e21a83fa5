"""The launcher on a simulated cluster: how long a study takes with a node that fails all, and what Slurm is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.jobs.simulated_slurm import Machine, Simulation
from vpeval.jobs import tasks

LIMIT = 1.05


def study(count: int, nodes: int, hungry: int = 5) -> Simulation:
    """About `count` tasks as a batch cuts them, on nodes of four GPUs whose speeds differ, of which one fails all."""
    rng = np.random.default_rng(0)
    speeds = rng.uniform(0.8, 1.2, nodes)
    gpus = [Machine(f"n{node}", float(speeds[node]), broken=node == 1) for node in range(nodes) for _ in range(4)]
    seconds = np.full(count * 20, 600 / 20.77)
    lengths = [float(seconds[items.start : items.stop].sum()) for items in tasks.cut(seconds.tolist(), len(gpus), 600)]
    work = {job: length * float(rng.uniform(0.7, 1.3)) for job, length in enumerate(lengths, start=1)}
    chosen = frozenset(int(job) for job in rng.choice(len(work), hungry, replace=False) + 1)
    return Simulation(gpus, work, chosen)


def ideal(simulation: Simulation) -> float:
    """Seconds that the work takes if all GPUs that work are busy all the time."""
    return sum(simulation.work.values()) / sum(gpu.speed for gpu in simulation.machines if not gpu.broken)


def check(simulation: Simulation, path: Path) -> float:
    """Run a study; how many times the ideal it took."""
    notes: list[str] = []
    gpus = len(simulation.machines)
    assert simulation.run(path, gpus, notes) == []
    assert sum("needed more than its memory (1G)" in note for note in notes) == len(simulation.hungry)
    assert any(note.startswith("n1 gets no more jobs: jobs ") for note in notes)
    assert notes[-1] == "left out because jobs failed there in a row: n1"
    assert simulation.starts["n1"] < 10 * 4, "the broken node took tasks for more than two polls"
    assert simulation.most_running <= gpus
    asked = np.array(simulation.asked)
    busiest = max(np.searchsorted(asked, asked + 60) - np.arange(len(asked)))
    assert busiest <= 12, "squeue was called more often than 12 times in a minute"
    return simulation.time / ideal(simulation)


def test_a_study_takes_hardly_longer_than_the_work_on_the_nodes_that_work(tmp_path: Path) -> None:
    simulation = study(2000, 12)
    assert check(simulation, tmp_path) <= LIMIT


@pytest.mark.nightly
def test_a_study_of_34889_tasks_on_280_gpus_takes_hardly_longer_than_the_work(tmp_path: Path) -> None:
    simulation = study(34894, 70)
    assert len(simulation.work) == 34889 and len(simulation.machines) == 280
    assert check(simulation, tmp_path) <= LIMIT


def test_a_limit_of_queued_jobs_is_met_by_submitting_less(tmp_path: Path) -> None:
    gpus = [Machine(f"n{node}", 1.0) for node in range(10)]
    simulation = Simulation(gpus, dict.fromkeys(range(1, 301), 100.0), most_queued=12)
    notes: list[str] = []
    assert simulation.run(tmp_path, 10, notes) == []
    assert simulation.time / ideal(simulation) < 1.15  # a GPU waits for the next poll after every task
    assert [note for note in notes if "Slurm takes no more jobs for now (AssocMaxSubmitJobLimit" in note] == notes[:1]
    assert simulation.refused < simulation.time / 3


def test_no_array_waits_for_the_one_before_it(tmp_path: Path) -> None:
    rng = np.random.default_rng(1)
    gpus = [Machine(f"n{node}", 1.0) for node in range(10)]
    work = {job: float(length) for job, length in enumerate(rng.uniform(100, 1000, 400), start=1)}
    simulation = Simulation(gpus, work, array_size=21)
    assert simulation.run(tmp_path, 10, []) == []
    assert len(simulation.arrays) >= 20 and simulation.most_running == 10
    assert simulation.time / ideal(simulation) <= LIMIT
