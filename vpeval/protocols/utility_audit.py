"""Is the recogniser to be believed? On original speech it must work, or its numbers say nothing about anonymisation.

A word error rate on original speech of 50 % or more means that more goes wrong than right before anything was
anonymised: the wrong recogniser, the wrong language or the wrong text rules. An emotion recogniser whose UAR on
original speech is not above chance, beyond its interval, has nothing to lose.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from vpeval.protocols.findings import Finding
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record
from vpeval.records.remarks import WARNING

_HIGHEST_WER = 50.0
_METRICS = ("wer", "uar")


def audit_utility(records: Iterable[Record]) -> list[Finding]:
    """One finding for every recogniser and set of original speech."""
    return [_check(record) for record in _on_original(records)]


def with_warnings(records: Sequence[Record]) -> list[Record]:
    """The records, those of recognisers that fail on original speech with a warning: of any system, on the same set."""
    failed = {_key(record): _check(record).sentence for record in _on_original(records) if _check(record).flagged}
    return [
        record.with_notes({WARNING: failed[_key(record)]})
        if record.metric in (*_METRICS, "cer", "emotion_accuracy") and _key(record) in failed
        else record
        for record in records
    ]


def _on_original(records: Iterable[Record]) -> list[Record]:
    return [
        record
        for record in records
        if record.metric in _METRICS
        and record.system == ORIGINAL
        and not record.gender
        and record.params.get("lm", "large") == "large"
    ]


def _key(record: Record) -> tuple[str, str, str]:
    kind = "uar" if record.metric in ("uar", "emotion_accuracy") else "wer"
    return kind, record.set, record.attacker


def _check(record: Record) -> Finding:
    name = f"{record.attacker or 'the recogniser'} on original speech of {record.set}"
    numbers: dict[str, float | str] = {"set": record.set, "recogniser": record.attacker, "value": record.value}
    if record.metric == "wer":
        flagged = record.value >= _HIGHEST_WER
        sentence = f"{name}: word error rate {record.value:.1f} %"
        if flagged:
            sentence += (
                ", so that nothing can be said about anonymised speech; choose a recogniser (asr) and text rules "
                "(text_rules) that fit the corpus"
            )
        return Finding("recogniser", flagged, sentence + ".", numbers)
    chance = float(record.notes.get("chance", 0))
    floor = record.value if record.lower is None else record.lower
    flagged = floor <= chance
    sentence = f"{name}: unweighted average recall {record.value:.1f} %, chance {chance:.1f} %"
    if flagged:
        sentence += (
            ", so that nothing can be said about anonymised speech; train with more data or another recogniser (ser)"
        )
    return Finding("emotion recogniser", flagged, sentence + ".", {**numbers, "chance": chance})
