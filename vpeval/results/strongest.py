"""What is said of the strongest attack on a system: whose it is, among how many, and how sure its EER is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vpeval.records.metrics import describe
from vpeval.records.names import SetName
from vpeval.records.record import Record
from vpeval.results.headline import headline_eer
from vpeval.results.shown import show_interval

STRONGEST = "strongest_attack"
"""The metric of such records; which EER it is stands in ``params["eer"]``, the rest in their notes."""


def strongest_of(records: Iterable[Record], system: str, metric: str) -> Record | None:
    """The strongest attack on a system by the EER `metric`, on test data where there are such."""
    found = {
        parts.partition: record
        for record in records
        if record.metric == STRONGEST and record.system == system and record.params.get("eer") == metric
        if (parts := SetName.parse(record.set))
    }
    return found.get("test") or found.get("dev")


def attack_in_words(notes: Mapping[str, object]) -> str:
    """The attack that was chosen.

    >>> attack_in_words({"attack_model": "lazy-informed", "chosen": "ecapa", "chosen_condition": "aa"})
    'lazy-informed ecapa'
    """
    model = "similar-system" if notes["attack_model"] == "none" else notes["attack_model"]
    return f"{model} {notes['chosen']}"


def tried(notes: Mapping[str, object]) -> str:
    """Among how many an attack was chosen, in words.

    >>> tried({"attackers": 3, "attacks": 5}), tried({"attackers": 1, "attacks": 1})
    ('the strongest of 5 attacks by 3 attackers', 'the only attack')
    """
    attackers, attacks = int(str(notes["attackers"])), int(str(notes["attacks"]))
    if attacks == 1:
        return "the only attack"
    return f"the strongest of {attacks} attacks by {attackers} attacker{'s' * (attackers != 1)}"


def sets_in_words(record: Record) -> str:
    """What its mean is over: ``2 test sets``."""
    parts, sets = SetName.parse(record.set), record.notes["sets"]
    return f"{sets} {parts.partition if parts else record.set} set{'s' * (sets != 1)}"


def strongest_lines(records: Iterable[Record], edition: str) -> list[str]:
    """A line for every system about its strongest attack, by the EER of the edition."""
    records = [record for record in records if record.metric == STRONGEST]
    metric = headline_eer((str(record.params.get("eer")) for record in records), edition)
    lines = []
    for system in dict.fromkeys(record.system for record in records):
        if found := strongest_of(records, system, metric):
            number = f"{describe(STRONGEST).show(found.value)} {show_interval(found)}".rstrip()
            lines.append(
                f"{system}: {attack_in_words(found.notes)} is {tried(found.notes)}: {describe(metric).label} {number}, "
                f"mean of {sets_in_words(found)}"
            )
    return lines
