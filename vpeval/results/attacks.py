"""Which attack of the challenges a record is about."""

from __future__ import annotations

from vpeval.figures.labels import LAZY, SEMI, attack_model
from vpeval.records import Record

__all__ = ["LAZY", "SEMI", "attack"]


def attack(record: Record) -> str:
    """The attack model that a record states, else the one that its condition and the name of its attacker tell."""
    return str(record.params.get("attack_model") or attack_model(record))
