"""The file ``results_legal.txt`` of singling out and linkability, which every edition has next to its own.

The challenges have no such file. It has the form of theirs: a block for every attack, whose header names the enrolled
and the attacked speech as that of a verification block does, then the attacker and what the challenge and the legal
paper call the attack; then a line for every number of speakers N and of utterances L::

    LEGAL-mini_all_anon-mini_all_anon ecapa_plda semi-informed/Informed
      Singling out (N=20, L=3, draws=5): 88.947% [80.013%, 93.842%], chance 37.735%
      Linkability (N=20, L=1, estimator=exact): 94.211% [84.560%, 98.127%], chance 5.000%

All attackers of a run stand in it. `read` and `render` are inverse to each other. The interval and the chance level are
absent where nobody knows them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from os import PathLike
from typing import Any
from urllib.parse import quote, unquote

from vpeval.core.errors import InputError
from vpeval.data.layout import first_few
from vpeval.editions.base import ResultFile
from vpeval.records.metrics import LEGAL, describe, known_metrics, rank
from vpeval.records.names import CONDITIONS, MARK, ORIGINAL, attack_model, result_lines
from vpeval.records.record import Record, fault

_SUFFIX = "_anon"
_NOBODY = "-"
_HEADER = re.compile(
    r"LEGAL-(?P<set>\S+?)(?P<enroll>_anon)?-(?P=set)(?P<test>_anon)? (?P<attacker>\S+) (?P<vpc>\S+)/(?P<legal>\S+)"
)
_PERCENT = r"(\d+\.\d{3})%"
_LINE = re.compile(
    rf"  (?P<title>.+?) \((?P<params>[^()]*)\): {_PERCENT}(?: \[{_PERCENT}, {_PERCENT}\])?(?:, chance {_PERCENT})?"
)


def _metrics() -> dict[str, str]:
    """The metrics of the file by their titles: those of legal criteria among N speakers."""
    found = [metric for metric in known_metrics().values() if metric.group == LEGAL and "N" in metric.identified_by]
    return {metric.title: metric.name for metric in found}


def render(records: Sequence[Record]) -> str:
    """The text of the file: original data and one system, all attackers."""
    shown = set(_metrics().values())
    chosen = [record for record in records if record.metric in shown and record.condition in CONDITIONS]
    systems = sorted({record.system for record in chosen} - {ORIGINAL})
    if len(systems) > 1:
        raise InputError(f"records of several systems ({', '.join(systems)}); choose one with --system")
    if not chosen:
        return f"{MARK}neither singling out nor linkability was measured (stage 8)\n"
    attackers = list(dict.fromkeys(record.attacker for record in chosen))
    blocks: dict[str, dict[str, Record]] = {}
    for record in sorted(chosen, key=lambda r: (CONDITIONS.index(r.condition), attackers.index(r.attacker), _order(r))):
        block, line = blocks.setdefault(_header(record), {}), _label(record)
        if line in block:
            raise InputError(f"two values of {record.metric} for {_header(record)}; was a file given twice?")
        block[line] = record
    return "".join(
        f"{header}\n" + "".join(f"  {label}: {_numbers(record)}\n" for label, record in block.items())
        for header, block in blocks.items()
    )


def read(path: str | PathLike[str], system: str = "") -> list[Record]:
    """The records of the file; anonymised data are those of `system`."""
    records: dict[str, Record] = {}
    block: Mapping[str, Any] | None = None
    for line, text in result_lines(path):
        if header := _HEADER.fullmatch(text):
            if header["enroll"] and not header["test"]:
                raise InputError("enrolled and attacked speech are no pair o-o, o-a or a-a", path, line)
            block = _tags(header, system)
            continue
        match = _LINE.fullmatch(text)
        metric = _metrics().get(match["title"]) if match else None
        if block is None or match is None or metric is None:
            raise InputError("is no line of a results_legal.txt; is this the right file, and whole?", path, line)
        record = _record(metric, match, block)
        if wrong := fault(vars(record)):
            raise InputError(wrong, path, line)
        if records.setdefault(record.identity, record) is not record:
            raise InputError(f"a second {metric} of the same attack, N and L; keep one", path, line)
    if not records:
        raise InputError("is empty; was the run that wrote it completed?", path, 1)
    return list(records.values())


def _header(record: Record) -> str:
    enroll, test = (_SUFFIX if side == "a" else "" for side in record.condition)
    names = "/".join(_word(name) for name in (attack_model(record), record.notes.get("attack_model_legal")))
    return f"LEGAL-{record.set}{enroll}-{record.set}{test} {_word(record.attacker)} {names}"


def _word(name: object) -> str:
    return str(name or _NOBODY).replace(" ", "_")


def _tags(header: re.Match[str], system: str) -> dict[str, Any]:
    condition = "".join("a" if header[side] else "o" for side in ("enroll", "test"))
    names = {"attack_model": header["vpc"], "attack_model_legal": header["legal"]}
    return {
        "system": (system or _SUFFIX[1:]) if "a" in condition else ORIGINAL,
        "set": header["set"],
        "condition": condition,
        "attacker": "" if header["attacker"] == _NOBODY else header["attacker"],
        "notes": {name: value for name, value in names.items() if value != _NOBODY},
    }


def _label(record: Record) -> str:
    params = ", ".join(f"{name}={quote(str(value), safe=' +./_-')}" for name, value in record.params.items())
    return f"{describe(record.metric).title} ({params})"


def _numbers(record: Record) -> str:
    text = _percent(record.value)
    if record.lower is not None and record.upper is not None:
        text += f" [{_percent(record.lower)}, {_percent(record.upper)}]"
    return text + (f", chance {_percent(record.notes['chance'])}" if "chance" in record.notes else "")


def _percent(value: float) -> str:
    return f"{100 * value:.3f}%"


def _record(metric: str, match: re.Match[str], block: Mapping[str, Any]) -> Record:
    # Decimal, so that 8.665 % becomes 0.08665 and not a neighbour of it.
    value, lower, upper, chance = (float(Decimal(text) / 100) if text else None for text in match.groups()[2:])
    assert value is not None, "the pattern of a line requires a value"
    notes = {**block["notes"], **({"chance": chance} if chance is not None else {})}
    params = dict(_param(pair) for pair in match["params"].split(", ") if pair)
    return Record(metric, value, lower, upper, params=params, **{**block, "notes": notes})


def _param(pair: str) -> tuple[str, int | str]:
    name, _, value = pair.partition("=")
    return name, int(value) if re.fullmatch(r"[0-9]{1,12}", value) else unquote(value)


def _order(record: Record) -> tuple[Any, ...]:
    """Metrics in the order of tables; then by N and L, all utterances last, then as the records come."""
    sizes = (record.params.get(name) for name in ("N", "L"))
    return rank(record.metric), *(size if isinstance(size, int) else float("inf") for size in sizes)


OF_THE_PAPER = ("ecapa_scratch_original", "ecapa_scratch_similar", "ecapa_scratch")
"""The attackers of the paper: an ECAPA-TDNN trained from scratch on train-clean-360, and cosines."""


def remarks(records: Sequence[Record]) -> list[str]:
    """Where attackers are not those of the paper."""
    shown = set(_metrics().values())
    others = sorted({r.attacker for r in records if r.recipe and r.metric in shown and r.condition in CONDITIONS})
    others = [name for name in others if name not in OF_THE_PAPER]
    if not others:
        return []
    return [
        f"attackers: {first_few(others, 4)}; those of the legal paper are an ECAPA-TDNN trained on train-clean-360, "
        f"compared by cosines: --attackers '{' '.join(OF_THE_PAPER)}'"
    ]


def _is_own(line: str) -> bool:
    return bool(_HEADER.fullmatch(line))


RESULT_FILE = ResultFile(
    "results_legal.txt", _is_own, read, render, "results_legal", every_attacker=True, remarks=remarks
)
