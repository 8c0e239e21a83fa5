"""The table of all numbers of a report."""

from __future__ import annotations

from collections.abc import Iterable

from vpeval.figures.data import Entry, Results
from vpeval.figures.labels import GROUPS, METRICS, metric, set_title
from vpeval.report.markup import definitions, scrollable, tag, text
from vpeval.results.records import Record

_HEADS = ("Measure", "System", "Data", "Attack", "Details", "Value", "95 % interval", "Chance", "Rests on")
_NUMERIC = ("Value", "95 % interval", "Chance")
_SHOWN_NOTES = ("scoring", "calibration")
_BETTER = {+1: "higher is better", -1: "lower is better", 0: ""}


def numbers(results: Results) -> str:
    """Filter, table and glossary."""
    entries = sorted(results.entries, key=lambda e: _place(e.record.metric))
    nulls = {(e.record.set, e.series): e.record for e in results.of("dsys_null")}
    rows = "".join(_row(entry, nulls.get((entry.record.set, entry.series))) for entry in entries)
    head = "".join(
        tag("th", tag("button", text(name), type="button"), scope="col", class_="number" if name in _NUMERIC else None)
        for name in _HEADS
    )
    body = tag("table", tag("thead", tag("tr", head)) + tag("tbody", rows), id="all-numbers")
    return _filter(results, entries) + scrollable(body, "All numbers", "all") + _glossary(entries)


def _place(name: str) -> tuple[int, int]:
    known = list(METRICS)
    return GROUPS.index(metric(name).group), known.index(name) if name in known else len(known)


def _row(entry: Entry, null: Record | None) -> str:
    record, kind = entry.record, metric(entry.record.metric)
    unit = f" {kind.unit}" if kind.unit else ""
    category = f" ({record.notes['tag']})" if "tag" in record.notes else ""
    value = kind.number(record.value) + unit + category
    interval = ""
    if record.lower is not None and record.upper is not None:
        interval = f"{kind.number(record.lower)} – {kind.number(record.upper)}"
    attack = f"{entry.model} ({record.condition})" if entry.model else record.condition
    attacker = f", {record.attacker}" if record.attacker else ""
    shown = {**record.params, **{name: record.notes[name] for name in _SHOWN_NOTES if name in record.notes}}
    details = ", ".join(f"{name} {value}" for name, value in shown.items())
    counts = ", ".join(f"{n} {name.replace('_', ' ')}" for name, n in record.counts.items() if n)
    cells = [
        tag("th", text(kind.title), scope="row"),
        tag("td", text(record.system)),
        tag("td", text(set_title(record.set))),
        tag("td", text(attack + attacker)),
        tag("td", tag("small", text(details))),
        tag(
            "td",
            text(value),
            class_="number strong",
            data_sort=kind.scale * record.value,
        ),
        tag("td", text(interval), class_="number", data_sort=_number(record.lower and kind.scale * record.lower)),
        tag("td", text(_chance(record, null)), class_="number"),
        tag("td", tag("small", text(counts))),
    ]
    return tag("tr", "".join(cells), data_group=kind.group, data_system=record.system)


def _number(value: float | None) -> str | None:
    """A number as JavaScript reads it."""
    return None if value is None else repr(value).replace("inf", "Infinity")


def _chance(record: Record, null: Record | None) -> str:
    """The level at which nothing is disclosed, with what a finite sample measures there."""
    kind = metric(record.metric)
    if record.metric == "dsys" and null:
        return f"≈ {kind.number(null.value)}"
    chance = record.notes.get("chance", kind.chance)
    if "floor" in record.notes:
        return f"≈ {kind.number(record.notes['floor'])}"
    return "" if chance is None else kind.number(chance)


def _filter(results: Results, entries: Iterable[Entry]) -> str:
    used = {metric(entry.record.metric).group for entry in entries}
    groups = [group for group in GROUPS if group in used]
    fields = [
        tag("label", "Search" + '<input type="search" id="search" placeholder="e.g. EER test female">'),
        _select("Kind", "group", groups),
        _select("System", "system", results.systems),
        tag("output", "", id="count", aria_live="polite"),
    ]
    return tag("div", "".join(fields), class_="filter", hidden=True, role="search")


def _select(label: str, name: str, values: Iterable[str]) -> str:
    options = '<option value="">all</option>' + "".join(tag("option", text(value)) for value in values)
    return tag("label", text(label) + tag("select", options, name=name))


def _glossary(entries: Iterable[Entry]) -> str:
    """What every measure of the table is, and which end of it is better."""
    names = dict.fromkeys(entry.record.metric for entry in entries)
    items = []
    for name in names:
        kind = metric(name)
        words = [kind.explanation, _BETTER[kind.better]]
        items.append((kind.title, text("; ".join(filter(None, words)) or name)))
    summary = tag("summary", "What the measures mean, and which EER is which")
    note = tag(
        "p",
        "Intervals are 95 %, by bootstrap over speakers. Chance is the value without any information; ≈ marks what a "
        "sample of this size measures there.",
        class_="soft",
    )
    return note + tag("details", summary + definitions(items))
