"""The JSON files that records name (``notes.files``): what each kind holds, checked when it is read.

curves: DET points and ECE curves · ranks: how often the true speaker had which rank · matrices: voice similarity
matrices of the three conditions · listening: what listeners said, by groups.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeGuard

from vpeval.core.errors import InputError
from vpeval.records.names import CONDITIONS
from vpeval.records.record import is_number, is_word

_AGAIN = "run the scorer again"
Content = dict[str, Any]


def read_side_file(path: Path, what: str) -> Content:
    """The content of a side file of the kind `what`, which is of the shape that its views take for granted."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InputError(f"is missing, though the table names it; {_AGAIN}", path) from None
    except (ValueError, RecursionError):
        raise InputError(f"is not JSON; is the file cut short? {_AGAIN.capitalize()}", path) from None
    if not isinstance(content, dict):
        raise InputError(f"is not a JSON object; {_AGAIN}", path)
    if wrong := _KINDS[what](content):
        raise InputError(f"is no file of {what}: {wrong}; {_AGAIN}", path)
    return content


def _curves(content: Content) -> str:
    for name, rows in (("det", ("p_fa", "p_miss")), ("ece", ("prior_log_odds", "default", "actual", "minimum"))):
        curve = content.get(name)
        if not isinstance(curve, dict) or not all(_are_numbers(curve.get(row)) for row in rows):
            return f"'{name}' must have {', '.join(rows)}, each a list of numbers"
        if len({len(curve[row]) for row in rows}) > 1 or not curve[rows[0]]:
            return f"the rows of '{name}' must be of the same length"
    if not all(0 <= rate <= 1 for row in ("p_fa", "p_miss") for rate in content["det"][row]):
        return "the rates of 'det' must be from 0 to 1"
    return ""


def _ranks(content: Content) -> str:
    ranks = content.get("ranks")
    if not _are_numbers(ranks) or min(ranks, default=-1) < 0 or not sum(ranks):
        return "'ranks' must be a list of counts, not all of them 0"
    return ""


def _matrices(content: Content) -> str:
    speakers = content.get("speakers")
    if not isinstance(speakers, list) or not speakers or not all(map(is_word, speakers)):
        return "'speakers' must be a list of names"
    for condition in CONDITIONS:
        rows = content.get(condition)
        if not isinstance(rows, list) or len(rows) != len(speakers) or not all(_is_row(row, speakers) for row in rows):
            return f"'{condition}' must be a matrix with a row and a column for each of {len(speakers)} speakers"
    return ""


def _is_row(row: object, speakers: Sequence[str]) -> bool:
    return isinstance(row, list) and len(row) == len(speakers) and all(x is None or is_number(x) for x in row)


def _listening(content: Content) -> str:
    groups = content.get("groups")
    if not isinstance(content.get("simulated"), bool):
        return "'simulated' must be true or false"
    if not isinstance(groups, dict) or not all(_are_named_numbers(cells) for cells in groups.values()):
        return "'groups' must have lists of scores by groups and cells"
    distances = content.get("distances", {"same": [], "different": []})
    if not _are_named_numbers(distances) or not {"same", "different"} <= distances.keys():
        return "'distances' must have the lists 'same' and 'different'"
    return _map(content["map"]) if content.get("map") is not None else ""


def _map(content: object) -> str:
    points = content.get("points") if isinstance(content, dict) else None
    if not isinstance(content, dict) or not isinstance(points, list) or not isinstance(content.get("listeners"), int):
        return "'map' must have points, speakers and listeners"
    speakers = content.get("speakers")
    if not _are_numbers(speakers) or len(speakers) != len(points) or not all(isinstance(k, int) for k in speakers):
        return "'map' must have a speaker for every point"
    return "" if all(_are_numbers(point) and len(point) == 2 for point in points) else "points of 'map' must be pairs"


def _are_numbers(values: object) -> TypeGuard[list[float]]:
    return isinstance(values, list) and all(map(is_number, values))


def _are_named_numbers(cells: object) -> bool:
    return isinstance(cells, dict) and all(_are_numbers(values) for values in cells.values())


_KINDS: Mapping[str, Callable[[Content], str]] = {
    "curves": _curves,
    "ranks": _ranks,
    "matrices": _matrices,
    "listening": _listening,
}
