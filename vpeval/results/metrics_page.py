"""The tables of docs/metrics.md, from the descriptions of the metrics: one for every group, between markers."""

from __future__ import annotations

import re
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.records.metrics import GROUPS, METRICS, OTHER, Metric

_BETTER = {+1: "higher", -1: "lower", 0: ""}
_TABLE = re.compile(r"(<!-- metrics: (?P<group>[^\n]+?) -->\n).*?(<!-- end of metrics -->)", re.DOTALL)


def with_tables(page: str, path: Path) -> str:
    """The page with its tables as they should be; it must have a place for every group."""
    places = [match["group"] for match in _TABLE.finditer(page)]
    wanted = [group for group in GROUPS if group != OTHER]
    if sorted(places) != sorted(wanted):
        missing = ", ".join(sorted(set(wanted) ^ set(places))) or "a group twice"
        raise InputError(
            "must have lines '<!-- metrics: GROUP -->' and '<!-- end of metrics -->' for every group of "
            f"vpeval/records/metrics.py, once; look at {missing}",
            path,
        )
    return _TABLE.sub(lambda match: match[1] + _table(match["group"]) + match[3], page)


def _table(group: str) -> str:
    rows = [_row(metric) for metric in METRICS.values() if metric.group == group]
    heads = ["metric", "shown as", "better", "chance", "what it is"]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [heads, ["---"] * len(heads), *rows])


def _row(metric: Metric) -> list[str]:
    """Where a record states its chance level, the page cannot."""
    chance = "" if metric.chance is None else f"{metric.scale * metric.chance:g}"
    return [f"`{metric.name}`", metric.label, _BETTER[metric.better], chance, metric.explanation]
