"""Averages over the sets of a partition, with the weights of the VoicePrivacy challenges.

Corpora count the same; inside a corpus the genders do, and common prompts (``_common``) count a quarter of the other
speech next to them. For LibriSpeech and VCTK these are the weights of 2022 (per gender 0.25, 0.20 and 0.05), for
LibriSpeech alone the plain mean of 2024.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from vpeval.core.errors import InputError
from vpeval.records.names import OTHER_DATA, PUBLICATION, PUBLISHED, TRAINED_ON, SetName
from vpeval.records.record import TAGS, Record


def weights(sets: Iterable[str]) -> dict[str, Fraction]:
    """The weight of every set; they add up to 1.

    >>> {name: str(weight) for name, weight in weights(["libri_dev_asr", "vctk_dev_asr"]).items()}
    {'libri_dev_asr': '1/2', 'vctk_dev_asr': '1/2'}
    """
    names = {name: _parse(name) for name in sets}
    raw = {name: Fraction(1, 4 if parts.subset == "common" else 1) for name, parts in names.items()}
    totals: defaultdict[str, Fraction] = defaultdict(Fraction)
    for name, parts in names.items():
        totals[parts.corpus] += raw[name]
    return {name: weight / totals[names[name].corpus] / len(totals) for name, weight in raw.items()}


def average(printed: Mapping[str, str]) -> Fraction:
    """The weighted average of a printed number per set, exactly."""
    shares = weights(printed)
    return sum((shares[name] * Fraction(text) for name, text in printed.items()), Fraction(0))


def averages(records: Iterable[Record]) -> list[Record]:
    """One record per partition and kind of number, with the partition as its set; a set of no partition stays as it is.

    The interval is put together from those of the sets by squaring and adding the distances from the value (Zou and
    Donner, 2008), as sets of different speakers are independent; those that share their speakers just add up.
    """
    kinds: defaultdict[tuple[object, ...], dict[str, Record]] = defaultdict(dict)
    alone = []
    for record in records:
        name = SetName.parse(record.set)
        if not name or not name.partition:
            alone.append(record)
            continue
        params = tuple((key, repr(value)) for key, value in sorted(record.params.items()) if key != _OWN)
        tags = tuple(getattr(record, tag) for tag in TAGS if tag not in ("set", "gender"))
        of_kind = kinds[record.metric, name.partition, tags, params]
        if record.set in of_kind:
            raise InputError(f"two values of {record.metric} for {record.system} {record.set} {record.condition}")
        of_kind[record.set] = record
    return [_joined(list(of_kind.values()), str(partition)) for (_, partition, *_), of_kind in kinds.items()] + alone


def of_all_speakers(records: Iterable[Record]) -> list[Record]:
    """The records without those of a gender, where the same is known of all speakers of a set."""
    records = list(records)
    whole = {(r.metric, r.system, r.set) for r in records if not r.gender}
    return [r for r in records if not r.gender or (r.metric, r.system, r.set) not in whole]


_OWN = "enroll"
"""The parameter that a set has for itself."""
_COMMON = (
    *("attack_model", "attack_model_legal", "scoring", "calibration", "unit", "no_cost"),
    *(PUBLISHED, PUBLICATION, OTHER_DATA, TRAINED_ON),
)
"""Notes that hold for an average as for the sets that it is over, where they agree."""


def _joined(records: Sequence[Record], partition: str) -> Record:
    if len(records) == 1:
        return replace(records[0], set=partition, gender="")
    shares = weights(record.set for record in records)
    value = math.fsum(float(shares[record.set]) * record.value for record in records)
    lower, upper = _reach(records, shares, "lower"), _reach(records, shares, "upper")
    notes = {key: item for key, item in records[0].notes.items() if key in _COMMON and _agree(records, key)}
    notes["average"] = len(records)
    for level in ("chance", "floor"):
        if all(level in record.notes for record in records):
            notes[level] = math.fsum(float(shares[r.set]) * float(r.notes[level]) for r in records)
    return replace(
        records[0],
        value=value,
        lower=None if lower is None else value - lower,
        upper=None if upper is None else value + upper,
        params={key: item for key, item in records[0].params.items() if key != _OWN},
        notes=notes,
        counts={},
        set=partition,
        gender="",
    )


def _agree(records: Sequence[Record], note: str) -> bool:
    return all(record.notes.get(note) == records[0].notes[note] for record in records)


def _reach(records: Sequence[Record], shares: Mapping[str, Fraction], end: str) -> float | None:
    """How far the interval of the average reaches to one side."""
    same_speakers: defaultdict[tuple[str, str], float] = defaultdict(float)
    for record in records:
        bound = getattr(record, end)
        if bound is None:
            return None
        name = _parse(record.set)
        same_speakers[name.corpus, name.gender] += float(shares[record.set]) * abs(bound - record.value)
    return math.hypot(*same_speakers.values())


def _parse(name: str) -> SetName:
    parts = SetName.parse(name)
    if not parts:
        raise InputError(f"'{name}' is no set of a challenge (as libri_dev_trials_f)")
    return parts
