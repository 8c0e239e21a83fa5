"""Which jobs are tried again, elsewhere or with more, and which places are left out."""

from __future__ import annotations

import pytest

from vpeval.jobs.backends.base import Attempt, Ended, Snapshot
from vpeval.jobs.retries import Retries

NODES = frozenset({"n1", "n2", "n3", "n4"})


class History:
    """Polls of a launcher on four nodes, and what it said."""

    def __init__(self, attempts: int = 3, growth: int = 4) -> None:
        self.notes: list[str] = []
        self.retries = Retries(attempts, growth, self.notes.append)
        self.excluded: frozenset[str] = frozenset()

    def poll(self, *ended: tuple[int, Ended]) -> tuple[list[int], list[Attempt]]:
        """Jobs that ended for good, and those to start again."""
        verdict = self.retries.judge(Snapshot(ended=dict(ended), places=NODES))
        self.excluded = self.excluded if verdict.excluded is None else verdict.excluded
        return sorted(verdict.ended), list(verdict.again)


def done(place: str) -> Ended:
    return Ended(place=place)


def bad(place: str, code: int = 1) -> Ended:
    return Ended(code, place=place)


def test_a_job_that_fails_is_tried_once_more_elsewhere_and_then_it_is_at_fault() -> None:
    history = History()
    assert history.poll((1, bad("n2", 7)), (2, done("n2"))) == ([2], [Attempt(1, frozenset({"n2"}))])
    assert history.poll((1, bad("n3"))) == ([1], [])
    assert history.notes == ["job 1: failed with exit code 7 on n2; tried once more elsewhere"]


def test_a_job_that_fails_on_the_only_machine_is_not_repeated() -> None:
    assert History().poll((1, Ended(1))) == ([1], [])


def test_a_node_that_fails_three_jobs_in_a_row_is_left_out_and_what_failed_there_does_not_count() -> None:
    history = History()
    history.poll((9, done("n1")), (1, bad("n2")), (2, bad("n2")))
    assert history.excluded == frozenset()
    history.poll((3, bad("n2")))
    assert history.excluded == {"n2"}
    assert history.notes[-1] == "n2 gets no more jobs: jobs 1, 2, 3 failed there in a row"
    # Job 3 was at n2 once more before it was left out, and has one failure that counts; then it succeeds.
    assert history.poll((3, bad("n2")))[1] == [Attempt(3, frozenset({"n2"}))]
    assert history.poll((3, bad("n4")))[1] == [Attempt(3, frozenset({"n2", "n4"}))]
    assert history.poll((3, done("n1"))) == ([3], [])
    history.retries.summarize()
    assert history.notes[-1] == "left out because jobs failed there in a row: n2"


def test_a_node_that_does_jobs_well_in_between_is_not_left_out() -> None:
    history = History()
    for job in range(1, 9):
        history.poll((2 * job, bad("n2")), (2 * job + 1, done("n2")))
    assert history.excluded == frozenset()


def test_a_node_gets_jobs_again_if_what_failed_there_fails_elsewhere_too() -> None:
    history = History()
    history.poll((9, done("n1")))
    history.poll((1, bad("n2")), (2, bad("n2")), (3, bad("n2")))
    assert history.excluded == {"n2"}
    for job in (1, 2, 3):
        history.poll((job, bad("n1")), (10 + job, done("n1")))
        ended, _ = history.poll((job, bad("n3")), (20 + job, done("n3")))
        assert job in ended
    assert history.excluded == frozenset()
    assert history.notes[-1] == "n2 gets jobs again: what failed there fails elsewhere, too"


def test_at_most_half_of_the_nodes_are_left_out() -> None:
    history = History()
    for number, node in enumerate(sorted(NODES)):
        history.poll(*((10 * number + job, bad(node)) for job in range(3)))
    assert history.excluded == {"n1", "n2"}


def test_a_command_that_fails_on_every_node_is_not_repeated_for_every_job() -> None:
    history = History()
    starts = 0
    waiting = [Attempt(job) for job in range(100)]
    while waiting:
        attempt, *waiting = waiting
        node = next(node for node in sorted(NODES - attempt.avoid - history.excluded))
        starts += 1
        waiting += history.poll((attempt.job, bad(node)))[1]
    assert starts < 300
    late = History()
    for job in range(3):
        late.poll((job, bad("n1")))
        late.poll((job, bad("n3")))
    assert late.poll((50, bad("n4"))) == ([50], [])


def test_a_lost_job_is_started_as_often_as_allowed_and_its_node_is_avoided() -> None:
    lost = Ended(1, "was lost with its node n1", place="n1", again=True)
    preempted = Ended(1, "had to give way", again=True)
    history = History(attempts=3)
    assert history.poll((1, lost))[1] == [Attempt(1, frozenset({"n1"}))]
    assert history.poll((1, preempted))[1] == [Attempt(1, frozenset({"n1"}))]
    assert history.poll((1, lost)) == ([1], [])


def test_a_job_gets_twice_the_memory_or_time_until_the_limit() -> None:
    memory = Ended(1, "needed more than its memory (1G) on n1", place="n1", lacks="mem", remedy="give it more --mem")
    time = Ended(1, "was ended after its time", place="n1", lacks="time")
    history = History(growth=4)
    assert history.poll((1, memory), (2, time)) == ([], [Attempt(1, mem=2), Attempt(2, time=2)])
    assert history.poll((1, memory), (2, memory)) == ([], [Attempt(1, mem=4), Attempt(2, mem=2, time=2)])
    assert history.poll((1, memory)) == ([1], [])
    assert history.notes[0] == "job 1: needed more than its memory (1G) on n1; submitted again with 2 times as much"
    assert history.excluded == frozenset()


@pytest.mark.parametrize("kind", [bad("n2"), Ended(1, "lost", place="n2", again=True)])
def test_no_job_is_started_for_ever(kind: Ended) -> None:
    history, starts = History(), 1
    while history.poll((1, kind))[1]:
        starts += 1
    assert starts <= 9


def test_what_ends_all_is_final() -> None:
    assert History().poll((1, Ended(1, "is held", ends_all=True))) == ([1], [])
