"""Cllr is a cost only of log-likelihood ratios: that of cosines is marked in its record, and views leave it out."""

from __future__ import annotations

from collections.abc import Iterable

from vpeval.records.record import Record

NO_COST = "no_cost"
"""The note of a Cllr that is no cost: why not."""


def marked(records: Iterable[Record]) -> list[Record]:
    """The records; a Cllr of scores that are no log-likelihood ratios, and were not made such, says so."""
    return [
        record.with_notes({NO_COST: "cosines are no log-likelihood ratios"})
        if record.metric == "cllr" and no_llrs(record)
        else record
        for record in records
    ]


def no_llrs(record: Record) -> bool:
    """Whether the scores behind a record are known to be no log-likelihood ratios."""
    return record.notes.get("scoring") == "cosine" and record.notes.get("calibration") == "none"


def costs(records: Iterable[Record]) -> list[Record]:
    """The records without a Cllr that is no cost."""
    return [record for record in records if NO_COST not in record.notes]
