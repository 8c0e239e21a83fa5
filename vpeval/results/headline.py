"""Which of several estimators of one number a page speaks of: the one of the challenge, and of its edition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from vpeval.core.errors import InputError
from vpeval.records.record import Record

T = TypeVar("T")
EERS = ("eer_kaldi", "eer_threshold", "eer_rocch")
_OF_EDITION = {"2020": "eer_kaldi", "2022": "eer_kaldi", "2024": "eer_threshold", "2026": "eer_threshold"}


def eer_of(edition: str) -> str:
    """The estimator that an edition of the challenge means by EER.

    >>> eer_of("2020"), eer_of("2024")
    ('eer_kaldi', 'eer_threshold')
    """
    if edition not in _OF_EDITION:
        raise InputError(f"no edition '{edition}' of the challenge; there are {', '.join(_OF_EDITION)}")
    return _OF_EDITION[edition]


def headline_eer(metrics: Iterable[str], edition: str) -> str:
    """The EER that a page about some metrics speaks of: that of the edition, or the first of those that are there.

    A published results file has the EER of its own edition only; a page about it names the one that it takes.
    """
    present = set(metrics)
    wanted = eer_of(edition)
    return next((name for name in (wanted, *EERS) if name in present), wanted)


def with_one_eer(records: Iterable[Record], edition: str) -> list[Record]:
    """The records with one EER of every attack: that of the edition, or the one that a published file has instead."""
    records = list(records)
    has: dict[tuple[str, ...], set[str]] = {}
    for record in records:
        if record.metric in EERS:
            has.setdefault(_attack(record), set()).add(record.metric)
    return [r for r in records if r.metric not in EERS or r.metric == headline_eer(has[_attack(r)], edition)]


def in_challenge_mode(items: Iterable[T], record: Callable[[T], Record]) -> list[T]:
    """Of numbers with several modes (DeID, G_VD, pitch correlation) those in the challenge's, where there are any.

    `record` leads from an item to its record.
    """
    items = list(items)
    vpc = {_measured(record(item)) for item in items if record(item).params.get("mode") == "vpc"}
    return [i for i in items if _measured(record(i)) not in vpc or record(i).params.get("mode") == "vpc"]


def _measured(record: Record) -> tuple[str, str]:
    return record.metric, record.system


def _attack(record: Record) -> tuple[str, ...]:
    return record.system, record.condition, record.attacker
