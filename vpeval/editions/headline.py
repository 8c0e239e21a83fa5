"""Which of several estimators of one number a page shows: the one of the challenge, and of its edition."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from vpeval.editions.base import edition_of
from vpeval.records.metrics import EER, describe, estimators_of
from vpeval.records.names import by_main_encoder
from vpeval.records.record import Record

T = TypeVar("T")


def eer_of(edition: str) -> str:
    """The estimator that an edition of the challenge means by EER.

    >>> eer_of("2020"), eer_of("2024")
    ('eer_kaldi', 'eer_threshold')
    """
    return edition_of(edition).eer


def is_eer(metric: str) -> bool:
    """Whether a metric is an estimator of the EER."""
    return describe(metric).estimator_of == EER


def headline_eer(metrics: Iterable[str], edition: str) -> str:
    """The EER that a page about some metrics shows: that of the edition, or the first of those that are there.

    A published results file has the EER of its own edition only; a page about it names the EER that it shows.
    """
    present = set(metrics)
    wanted = eer_of(edition)
    return next((name for name in (wanted, *estimators_of(EER)) if name in present), wanted)


def with_one_eer(records: Iterable[Record], edition: str) -> list[Record]:
    """The records with one EER of every attack: that of the edition, or the one that a published file has instead."""
    records = list(records)
    has: dict[tuple[str, ...], set[str]] = {}
    for record in records:
        if is_eer(record.metric):
            has.setdefault(_attack(record), set()).add(record.metric)
    chosen = {attack: headline_eer(metrics, edition) for attack, metrics in has.items()}
    return [r for r in records if not is_eer(r.metric) or r.metric == chosen[_attack(r)]]


def in_challenge_mode(items: Iterable[T], record: Callable[[T], Record]) -> list[T]:
    """Of numbers with several modes (DeID, G_VD, pitch correlation) those in the challenge's, where there are any.

    Of voice similarity, they are those of the main encoder. `record` leads from an item to its record.
    """
    items = by_main_encoder(items, record)
    vpc = {_measured(record(item)) for item in items if record(item).params.get("mode") == "vpc"}
    return [i for i in items if _measured(record(i)) not in vpc or record(i).params.get("mode") == "vpc"]


def _measured(record: Record) -> tuple[str, str]:
    return record.metric, record.system


def _attack(record: Record) -> tuple[str, ...]:
    return record.system, record.condition, record.attacker
