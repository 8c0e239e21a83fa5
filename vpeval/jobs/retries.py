"""Which jobs are tried again, and which places get no more of them.

- A job that was lost through no fault of its own is started again, up to `attempts` times.
- A job whose command failed is tried once more elsewhere: it or its node may be at fault. If it fails again, on a place
  that is not left out, the job is. When three jobs are and none has succeeded, the command is, and none is repeated.
- A job that lacked memory or time gets twice as much, up to `growth` times what was asked for.
- A place on which three jobs in a row failed gets no more, unless more than half of all places are like it. What failed
  there does not count against a job; and it does not count against a place if the job is at fault.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from vpeval.jobs.backends.base import Attempt, Ended, Snapshot

_IN_A_ROW = 3
_AT_FAULT = 3


@dataclass(frozen=True)
class Verdict:
    """Jobs that have ended for good, those to start again, and the places that get no more (None: no change)."""

    ended: Mapping[int, Ended]
    again: Sequence[Attempt]
    excluded: frozenset[str] | None


class Retries:
    """The history of the jobs of a launcher; `note` gets sentences about what is tried again."""

    def __init__(self, attempts: int, growth: int, note: Callable[[str], None]) -> None:
        self._attempts, self._growth, self._note = attempts, growth, note
        self._last: dict[int, Attempt] = {}
        self._starts = Counter[int]()
        self._lost = defaultdict[int, list[str]](list)  # where a job was lost, or '' if the place is not to blame
        self._failed = defaultdict[int, list[str]](list)  # where the command of a job failed
        self._in_a_row = defaultdict[str, dict[int, None]](dict)  # jobs that failed on a place since it did one well
        self._seen = set[str]()
        self._excluded = frozenset[str]()
        self._succeeded = self._at_fault = 0

    def judge(self, snapshot: Snapshot) -> Verdict:
        """What to do after a poll."""
        self._seen |= snapshot.places
        for job, end in snapshot.ended.items():
            self._count(job, end)
        before, self._excluded = self._excluded, self._bad_places()
        ended, again = dict[int, Ended](), dict[int, Attempt]()
        for job, end in snapshot.ended.items():
            if attempt := self._next(job, end):
                again[job] = self._last[job] = attempt
                self._starts[job] += 1
            else:
                ended[job] = end
        self._excluded = self._bad_places()  # without jobs that turned out to be at fault
        self._report_again({job: snapshot.ended[job] for job in again})
        self._report_places(before)
        changed = self._excluded if self._excluded != before else None
        return Verdict(ended, [again[job] for job in sorted(again)], changed)

    def summarize(self) -> None:
        """Name the places that were left out, at the end."""
        if self._excluded:
            self._note(f"left out because jobs failed there in a row: {', '.join(sorted(self._excluded))}")

    def _count(self, job: int, end: Ended) -> None:
        if not end.failed:
            self._succeeded += 1
            if end.place not in self._excluded:
                self._in_a_row.pop(end.place, None)
        elif end.lacks or end.ends_all:
            pass
        elif end.again:
            self._lost[job].append(end.place)
        elif end.place:
            self._failed[job].append(end.place)
        if end.place:
            self._seen.add(end.place)
            if end.failed and not end.lacks:
                self._in_a_row[end.place][job] = None

    def _bad_places(self) -> frozenset[str]:
        found = [place for place, jobs in self._in_a_row.items() if len(jobs) >= _IN_A_ROW]
        found.sort(key=lambda place: (place not in self._excluded, -len(self._in_a_row[place]), place))
        return frozenset(found[: len(self._seen) // 2])

    def _next(self, job: int, end: Ended) -> Attempt | None:
        """The next attempt of a job that has ended; None if there is none."""
        last = self._last.get(job, Attempt(job))
        if not end.failed or end.ends_all or self._starts[job] >= 3 * self._attempts:
            return None
        if end.lacks:
            more = replace(last, mem=2 * last.mem) if end.lacks == "mem" else replace(last, time=2 * last.time)
            return more if max(more.mem, more.time) <= self._growth else None
        avoid = frozenset({*self._failed[job], *self._lost[job]} - {""})
        if end.again:
            lost = sum(place not in self._excluded for place in self._lost[job])
            return replace(last, avoid=avoid) if lost < self._attempts else None
        if not end.place or self._is_at_fault(job):
            return None
        return replace(last, avoid=avoid)

    def _is_at_fault(self, job: int) -> bool:
        if sum(place not in self._excluded for place in self._failed[job]) > 1:
            self._at_fault += 1
            for jobs in self._in_a_row.values():
                jobs.pop(job, None)
            return True
        return self._at_fault >= _AT_FAULT and not self._succeeded

    def _report_again(self, ended: Mapping[int, Ended]) -> None:
        """One sentence for every way in which jobs ended that are started again."""
        ways: dict[str, list[int]] = defaultdict(list)
        for job, end in ended.items():
            if end.lacks:
                next_try = f"submitted again with {getattr(self._last[job], end.lacks)} times as much"
            else:
                next_try = "submitted again" if end.again else "tried once more elsewhere"
            how = end.reason or f"failed with exit code {end.code} on {end.place}"
            ways[f"{how}; {next_try}"].append(job)
        for way, jobs in ways.items():
            self._note(f"{name_jobs(jobs)}: {way}")

    def _report_places(self, before: frozenset[str]) -> None:
        for place in sorted(self._excluded - before):
            jobs = name_jobs(list(self._in_a_row[place]))
            self._note(f"{place} gets no more jobs: {jobs} failed there in a row")
        for place in sorted(before - self._excluded):
            self._note(f"{place} gets jobs again: what failed there fails elsewhere, too")


def name_jobs(jobs: Sequence[int]) -> str:
    """Some jobs in words.

    >>> name_jobs([3]), name_jobs([3, 5]), name_jobs(range(1, 10))
    ('job 3', 'jobs 3, 5', 'jobs 1, 2, 3 … 9 (9 of them)')
    """
    if len(jobs) == 1:
        return f"job {jobs[0]}"
    if len(jobs) < 5:
        return f"jobs {', '.join(map(str, jobs))}"
    return f"jobs {', '.join(map(str, jobs[:3]))} … {jobs[-1]} ({len(jobs)} of them)"
