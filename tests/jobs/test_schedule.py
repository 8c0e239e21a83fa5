"""The launcher on a simulated cluster: how long a study takes with a node that fails all, and what Slurm is asked."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.jobs.simulated_slurm import Machine, Simulation, ideal, study

LIMIT = 1.05


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


def test_a_job_that_gets_no_more_memory_fails_and_the_others_go_on(tmp_path: Path) -> None:
    gpus = [Machine(f"n{node}", 1.0) for node in range(4)]
    simulation = Simulation(gpus, dict.fromkeys(range(1, 41), 100.0), frozenset({7}), most_mem=1)
    (failure,) = simulation.run(tmp_path, 4, [])
    assert failure.job == 7
    assert failure.reason.startswith("needed more memory than --mem=1048576K, and more is not to be had: Slurm refuses")
    assert sum(simulation.starts.values()) == 40


def test_on_a_single_node_a_job_that_failed_is_repeated_there(tmp_path: Path) -> None:
    simulation = Simulation([Machine("n1", 1.0, broken=True)], {1: 10.0, 2: 10.0})
    notes: list[str] = []
    failures = simulation.run(tmp_path, 2, notes)
    assert [(failure.job, failure.code, failure.place) for failure in failures] == [(1, 1, "n1"), (2, 1, "n1")]
    assert simulation.starts == {"n1": 4}
