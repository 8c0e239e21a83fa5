"""What of speech the attacker of a record hears, and on which speech it learnt to."""

from __future__ import annotations

from vpeval.records.attacks import SEMI, SIMILAR, attack_model
from vpeval.records.record import Record

TRAINED = ("original", "anonymised")


def representation(record: Record) -> str:
    """What of speech the attacker of a record hears; its name where that is not told."""
    return str(record.notes.get("representation") or record.attacker)


def trained_on(record: Record) -> str:
    """The speech that the attacker of a record was trained on."""
    return TRAINED[attack_model(record) in (SEMI, SIMILAR)]
