"""The summary on the screen at the end of a run: fixed-width tables, systems side by side, 100 columns."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from vpeval.errors import InputError
from vpeval.records import TAGS, Record
from vpeval.results.names import BOOKKEEPING, CONDITIONS, ORIGINAL, SetName

WIDTH = 100
_GAP = "  "
_ABSENT = "-"

Row = tuple[str, ...]
Column = tuple[str, ...]


@dataclass(frozen=True)
class _Kind:
    """How a metric is printed: its title, the factor to the printed unit, and the digits."""

    title: str
    scale: float = 1
    digits: int = 3


_VERIFICATION = {"eer_kaldi": _Kind("EER %", 100, 2), "min_cllr": _Kind("min Cllr"), "cllr": _Kind("Cllr")}
_RECOGNITION = {"wer": _Kind("WER %", digits=2), "cer": _Kind("CER %", digits=2)}
_LEGEND = """\
o-o: original enrolment and trials; o-a: anonymised trials; a-a: both anonymised.
EER: eer_kaldi, the one of the VoicePrivacy results files. Brackets: interval over speakers.
Chance level of the EER: 50 %. Higher EER = better privacy; lower WER = better utility.
"""


def render(records: Sequence[Record]) -> str:
    """Verification, recognition and all other measures, each as a table with a column per system and condition."""
    if not records:
        raise InputError("no records to summarise; run the scoring stages first")
    systems = [ORIGINAL, *dict.fromkeys(r.system for r in records if r.system != ORIGINAL)]
    parts = {
        "Privacy: speaker verification": [r for r in records if r.metric in _VERIFICATION],
        "Utility: speech recognition": [r for r in records if r.metric in _RECOGNITION],
        "Other measures": [r for r in records if r.metric not in _VERIFICATION | _RECOGNITION],
    }
    tables = [_table(title, part, systems) for title, part in parts.items() if part]
    return "\n".join([*tables, _LEGEND])


def _table(title: str, records: Sequence[Record], systems: Sequence[str]) -> str:
    attackers = sorted({record.attacker for record in records if record.attacker})
    if len(attackers) == 1:
        title += f" (attacker {attackers[0]})"
    telling = _telling_params(records)
    cells: dict[tuple[Row, Column], str] = {}
    rows: dict[Row, Any] = {}
    columns: dict[Column, Any] = {}
    for record in records:
        params = {name: record.params[name] for name in telling[record.metric] if name in record.params}
        row = (
            _set_label(record),
            " ".join([_kind(record).title, *(f"{name}={value}" for name, value in params.items())]),
        )
        column = (record.system, _dashed(record.condition), *([record.attacker] if len(attackers) > 1 else []))
        if (row, column) in cells:
            raise InputError(f"two values of {record.metric} for {' '.join(filter(None, row + column))}")
        rows[row] = record.set, record.gender, _metric_rank(record), [_sortable(value) for value in params.values()]
        columns[column] = systems.index(record.system), record.attacker, _condition_rank(record)
        cells[row, column] = _cell(record)
    text = _grid(sorted(rows, key=rows.__getitem__), sorted(columns, key=columns.__getitem__), cells)
    return f"{title}\n{text}"


def _set_label(record: Record) -> str:
    """The set, and the gender where the name of the set does not tell it."""
    name = SetName.parse(record.set)
    return record.set if name and name.gender == record.gender else f"{record.set} {record.gender}".strip()


def _kind(record: Record) -> _Kind:
    known = _VERIFICATION | _RECOGNITION
    if record.metric in known:
        return known[record.metric]
    return _Kind(f"{record.metric} %", 100, 2) if record.metric.startswith("eer_") else _Kind(record.metric)


def _metric_rank(record: Record) -> tuple[int, str]:
    known = [*_VERIFICATION, *_RECOGNITION]
    return (known.index(record.metric) if record.metric in known else len(known)), record.metric


def _condition_rank(record: Record) -> tuple[int, str]:
    known = [*CONDITIONS, "o", "a"]
    return (known.index(record.condition) if record.condition in known else len(known)), record.condition


def _telling_params(records: Sequence[Record]) -> dict[str, list[str]]:
    """Per metric the parameters without which two of its numbers could not be told apart."""
    values: defaultdict[tuple[str, ...], defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for record in records:
        for name, value in record.params.items():
            if name in BOOKKEEPING:
                continue
            values[record.metric, *(getattr(record, tag) for tag in TAGS)][name].add(repr(value))
    telling: defaultdict[str, list[str]] = defaultdict(list)
    for (metric, *_), params in values.items():
        telling[metric] += [name for name, seen in params.items() if len(seen) > 1 and name not in telling[metric]]
    return telling


def _sortable(value: Any) -> tuple[float, str]:
    """Numbers by size, before everything else by its text."""
    return (value, "") if isinstance(value, int | float) else (float("inf"), str(value))


def _dashed(condition: str) -> str:
    return "-".join(condition) if condition in CONDITIONS else condition


def _cell(record: Record) -> str:
    kind = _kind(record)
    value, *ends = (
        f"{kind.scale * number:.{kind.digits}f}"
        for number in (record.value, record.lower, record.upper)
        if number is not None
    )
    return f"{value} [{', '.join(ends)}]" if len(ends) == 2 else value


def _grid(rows: Sequence[Row], columns: Sequence[Column], cells: Mapping[tuple[Row, Column], str]) -> str:
    """Rows by columns; columns that do not fit into the width continue below, under the same row labels."""
    widths = [max(map(len, [*column, *(cells.get((row, column), "") for row in rows)])) for column in columns]
    labels = _labels(rows)
    left = max(map(len, labels))
    panels: list[list[int]] = []
    room = 0
    for i, width in enumerate(widths):
        room -= len(_GAP) + width
        if room < 0 or not panels:
            panels.append([])
            room = WIDTH - left - len(_GAP) - width
        panels[-1].append(i)
    return "\n".join(
        "".join(
            _GAP.join(
                [label.ljust(left), *(text.rjust(widths[i]) for i, text in zip(panel, texts, strict=True))]
            ).rstrip()
            + "\n"
            for label, texts in _lines(labels, rows, [columns[i] for i in panel], cells)
        )
        for panel in panels
    )


def _lines(
    labels: Sequence[str], rows: Sequence[Row], columns: Sequence[Column], cells: Mapping[tuple[Row, Column], str]
) -> list[tuple[str, list[str]]]:
    """The heads of the columns, line by line, then the rows."""
    heads = [("", list(texts)) for texts in zip(*columns, strict=True) if any(texts)]
    body = [
        (label, [cells.get((row, column), _ABSENT) for column in columns])
        for label, row in zip(labels, rows, strict=True)
    ]
    return heads + body


def _labels(rows: Sequence[Row]) -> list[str]:
    """Row labels in aligned parts; the first part is not repeated from row to row."""
    width = max(len(row[0]) for row in rows)
    previous = [("", ""), *rows]
    return [
        f"{row[0] if row[0] != before[0] else '':{width}}{_GAP}{row[1]}"
        for row, before in zip(rows, previous, strict=False)
    ]
