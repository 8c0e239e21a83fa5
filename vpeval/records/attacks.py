"""Attack models: which one a record is about, and what the challenges and the legal framework call it."""

from __future__ import annotations

from vpeval.asv import attackers
from vpeval.asv.attackers import Attacker
from vpeval.records.names import CONDITIONS
from vpeval.records.record import Record

UNPROTECTED, IGNORANT, LAZY, SEMI = "unprotected", "ignorant", "lazy-informed", "semi-informed"
SIMILAR = "similar-system"
ATTACK_MODELS = (UNPROTECTED, IGNORANT, LAZY, SIMILAR, SEMI)
"""From the weakest to the strongest, in the vocabulary of the VoicePrivacy challenges, which has none for SIMILAR."""

TRAINED = ("original", "anonymised")
INFORMED = attackers.INFORMED[0]
LEGAL_NAMES = {
    UNPROTECTED: "Original",
    IGNORANT: "Ignorant",
    SIMILAR: "Semi-Informed",
    SEMI: "Informed",
    INFORMED: attackers.INFORMED[1],
}
"""The names of the same attack models in the legal framework; it has none for the lazy-informed one."""


def attack_model(record: Record, attacker: Attacker | None = None) -> str:
    """Which attack a record is about; empty where it is about none (utility, similarity matrices).

    It is the one that the record states, else that of its `attacker` where that is known, else what condition and name
    of the attacker tell (``ASV_eval_anon`` was trained on anonymised speech).
    """
    if record.condition not in CONDITIONS:
        return ""
    if stated := record.notes.get("attack_model"):
        name = str(stated)
    elif attacker:
        name, _ = attacker.attack(record.condition, record.system)
    else:
        informed = SEMI if "anon" in record.attacker.lower() else LAZY
        name = {"oo": UNPROTECTED, "oa": IGNORANT, "aa": informed}[record.condition]
    return SIMILAR if name == "none" else name


def representation(record: Record) -> str:
    """What of speech the attacker of a record uses, such as embeddings or F0; its name where that is not stated."""
    return str(record.notes.get("representation") or record.attacker)


def trained_on(record: Record) -> str:
    """The speech that the attacker of a record was trained on, one of `TRAINED`."""
    return TRAINED[attack_model(record) in (SEMI, SIMILAR)]
