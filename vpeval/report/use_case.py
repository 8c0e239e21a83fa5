"""What remains of a risk for so many speakers and so much speech as somebody has: measured, extrapolated or unknown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from vpeval.figures.data import Entry
from vpeval.records.metrics import describe
from vpeval.records.record import Record

MEASURED, EXTRAPOLATED, UNKNOWN = "measured", "extrapolated", "not known"


@dataclass(frozen=True)
class UseCase:
    """A number of speakers and of utterances at a time; 0 is one that was not given."""

    population: int = 0
    utterances: int = 0


NO_CASE = UseCase()


@dataclass(frozen=True)
class Risk:
    """A number for a use case: what it is, the number itself, whether it was measured, and what to know about it."""

    what: str
    number: str
    kind: str
    remark: str


def risks(entries: Sequence[Entry], metric: str, case: UseCase) -> list[Risk]:
    """The residual risk by the most successful attack, for the speakers and the speech of a use case."""
    records = [e.record for e in entries]
    models = {id(e.record): e.model for e in entries}
    measured = [r for r in records if r.metric == metric]
    if not measured or not (case.population or case.utterances):
        return []
    most = max(int(r.params["N"]) for r in measured)
    wanted = case.population or most
    title = f"{describe(metric).title} among {wanted} speakers"
    length, about_length = _length(measured, case)
    here = [r for r in measured if r.params["N"] == wanted and r.params["L"] == length]
    beyond = [r for r in records if r.metric == f"{metric}_extrapolated" and _is(r, wanted, length)]
    if here or beyond:
        worst = max(here or beyond, key=lambda r: r.value)
        kind = MEASURED if here else EXTRAPOLATED
        remark = "" if here else _extrapolation(worst)
        return [Risk(f"{title}, {models[id(worst)]}", _number(worst), kind, f"{about_length}{remark}".strip())]
    if wanted > most:
        errors = [r for r in records if r.metric == f"{metric}_extrapolation_error" and r.params["L"] == length]
        return [Risk(title, "", UNKNOWN, f"{about_length}{_refusal(errors, wanted, most)}")]
    remark = f"It was not measured among {wanted} speakers; run ./run.sh --stage 8 --population {wanted}."
    return [Risk(title, "", UNKNOWN, f"{about_length}{remark}")]


def inference_risks(entries: Sequence[Entry], case: UseCase) -> list[Risk]:
    """Bits about every attribute, and how often all of them together find the person."""
    if not (case.population or case.utterances):
        return []
    records = [e.record for e in entries]
    models = {id(e.record): e.model for e in entries}
    found = []
    for attribute in dict.fromkeys(str(r.params["attribute"]) for r in records if r.metric == "inference_bits"):
        own = [r for r in records if r.metric == "inference_bits" and r.params["attribute"] == attribute]
        length, about_length = _length(own, case)
        worst = max((r for r in own if r.params["L"] == length), key=lambda r: r.value)
        what = f"Information about {attribute}, {models[id(worst)]}"
        found.append(Risk(what, _number(worst), MEASURED, about_length.strip()))
    crowds = [r for r in records if r.metric == "attributes_found"]
    if crowds:
        length, about_length = _length(crowds, case)
        wanted = case.population or max(int(r.params["N"]) for r in crowds if r.params["estimator"] == "exact")
        here = [r for r in crowds if _is(r, wanted, length)]
        if here:
            worst = max(here, key=lambda r: r.value)
            is_exact = worst.params["estimator"] == "exact"
            remark = "" if is_exact else "Attributes are taken to be as frequent there as in this corpus."
            what = f"Found by inferred {worst.params['attributes']} among {wanted} speakers, {models[id(worst)]}"
            kind = MEASURED if is_exact else EXTRAPOLATED
            found.append(Risk(what, _number(worst), kind, f"{about_length}{remark}".strip()))
    return found


def _length(records: Iterable[Record], case: UseCase) -> tuple[Any, str]:
    """The number of utterances to speak of, and what to say where it is not the one that was asked for."""
    lengths = {r.params["L"] for r in records}
    numbers = sorted(n for n in lengths if isinstance(n, int))
    if case.utterances in lengths:
        return case.utterances, f"{case.utterances} utterance{'s' * (case.utterances != 1)} at a time. "
    longest = "all" if "all" in lengths else numbers[-1]
    said = "all utterances of a speaker" if longest == "all" else f"{longest} utterances at a time"
    if not case.utterances:
        return longest, f"{said[0].upper()}{said[1:]}. "
    if numbers and case.utterances < numbers[-1]:
        longest = min(n for n in numbers if n > case.utterances)
        return longest, f"{longest} utterances at a time, the next number to {case.utterances} that was measured. "
    return longest, f"Measured with {said}, as speakers have too few for {case.utterances}: more speech tells more. "


def _is(record: Record, n: int, length: Any) -> bool:
    return bool(record.params["N"] == n and record.params["L"] == length)


def _number(record: Record) -> str:
    kind = describe(record.metric)
    limits = ""
    if record.lower is not None and record.upper is not None:
        limits = f" ({kind.typeset(record.lower)}–{kind.typeset(record.upper)})"
    return f"{kind.typeset(record.value)} {kind.unit}{limits}, chance {kind.typeset(float(record.notes['chance']))}"


def _extrapolation(record: Record) -> str:
    notes = record.notes
    return (
        f"Extrapolated from {record.params['from']} speakers, {_times(notes['factor'])} as many: not measured. "
        f"Carried {_times(notes['held_out_factor'])} as far to the largest number measured, which was left out, it was "
        f"off by {100 * float(notes['held_out_error']):+.1f} points."
    )


def _refusal(errors: Sequence[Record], wanted: int, most: int) -> str:
    failed = [r for r in errors if not r.notes["holds"]]
    if failed:
        worst = max(failed, key=lambda r: abs(r.value))
        return (
            f"Not extrapolated: without the largest number measured ({most}), it is missed by "
            f"{100 * worst.value:+.1f} points."
        )
    return (
        f"Measured among at most {most}; run ./run.sh --stage 8 --population {wanted} to see whether more can be said."
    )


def _times(factor: Any) -> str:
    return f"{float(factor):.3g} times"
