"""Attacks in words: who the attacker is, what it has and knows, and what it was trained on."""

from __future__ import annotations

from collections.abc import Iterable

from vpeval.records.metrics import INFERENCE, describe
from vpeval.records.names import IGNORANT, INFORMED, LAZY, LEGAL_NAMES, SEMI, SIMILAR, UNPROTECTED, attack_model
from vpeval.records.record import Record

TRAINED_ON = {
    UNPROTECTED: "original speech",
    IGNORANT: "original speech",
    LAZY: "original speech",
    SIMILAR: "speech of a similar, older system",
    SEMI: "speech of the same system",
}
"""What the attackers of verification were trained on, always of other speakers."""
_HAVE = {
    UNPROTECTED: "has original recordings of the speakers and compares them with original speech",
    IGNORANT: "has original recordings of the speakers and does not know that the other speech is anonymised",
}
_ANONYMISES = "has recordings of the speakers, knows the anonymiser and applies it to them before it compares"
_LEARNT = {
    IGNORANT: "learnt the attributes from original speech of other persons and does not know of the anonymiser",
    INFORMED: "learnt the attributes from speech of other persons, anonymised by the same system",
}
_SCORES = {"cosine": "their cosine", "plda": "PLDA", "euclidean": "their distance"}


def attack_in_words(record: Record) -> str:
    """``semi-informed ecapa_plda``."""
    return " ".join(filter(None, (attack_model(record), record.attacker)))


def define_attacks(records: Iterable[Record]) -> list[str]:
    """A sentence about the attacker of every record, each once."""
    return list(dict.fromkeys(filter(None, map(_definition, records))))


def _definition(record: Record) -> str:
    model = attack_model(record)
    if describe(record.metric).group == INFERENCE:
        does = _LEARNT.get(model, "learnt the attributes from original speech of other persons")
    elif model in TRAINED_ON:
        trained = f"it was trained on other speakers, with {TRAINED_ON[model]},"
        does = f"{_HAVE.get(model, _ANONYMISES)}; {trained}{_method(record)}".rstrip(",")
    else:
        return ""
    framework = f" ({LEGAL_NAMES[model]} in the legal framework)" if model in LEGAL_NAMES else ""
    return f"The {model} attacker {record.attacker}".rstrip() + f"{framework} {does}."


def _method(record: Record) -> str:
    scoring = str(record.notes.get("scoring") or record.params.get("similarity") or "")
    if scoring == "fusion":
        return " and joins the scores of several attackers"
    return f" and compares voices as vectors by {_SCORES[scoring]}" if scoring in _SCORES else ""
