"""Bars of systems (supplement, Figures 1, 2 and 13-16) and of the inference of attributes.

Systems stand on the x axis, attack models are colours, sets and genders are panels. A figure is as wide as a page: the
more systems, the fewer panels are in a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter
from statistics import fmean
from typing import Any, TypeVar

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from vpeval.editions.headline import in_challenge_mode
from vpeval.figures.drawing import (
    INK,
    MUTED,
    NEUTRAL,
    PAGE,
    PAPER,
    grid,
    legend,
    model_colour,
    model_rank,
    note,
)
from vpeval.figures.run_results import Entry, Results, length_order, length_title
from vpeval.figures.system_axis import TICK_SIZE, Names, attacker_notes, order_of
from vpeval.records.metrics import Metric, describe
from vpeval.records.names import GENDERS, ORIGINAL, UNPROTECTED, partition_of, set_title

T = TypeVar("T")
_HALO = [withStroke(linewidth=1.8, foreground=PAPER)]
"""An outline that keeps whiskers visible on dark bars."""
_CHANCE: Mapping[str, Any] = {"color": MUTED, "lw": 1, "ls": (0, (1, 1.5))}
_LEVEL: Mapping[str, Any] = {"color": INK, "lw": 1, "ls": (0, (4, 1.5))}
_GAP, _LEAST, _WHOLE = 0.6, 1.6, 5.0  # between systems, of a system, and of a panel at least; a unit is a bar's width
_HEIGHT, _MARGIN = 1.5, 0.6  # of a panel without names, and of the y axis, in inches
_VALUE_SIZE = 7.0  # points


@dataclass(frozen=True)
class Panel:
    """Entries that share an axis, the systems on it from left to right, and a level to draw across."""

    title: str
    entries: Sequence[Entry]
    systems: Sequence[str]
    level: float | None = None


@dataclass(frozen=True)
class Chart:
    """What the bars of a figure are: what they stand for, in which colours, and how they are drawn.

    Bars are side by side, or `nested` in one bar per system. Those of several sets are their `means`, with a dot per
    set.
    """

    metric: Metric
    part: Callable[[Entry], str]
    colours: Mapping[str, str]
    nested: bool = False
    means: bool = False
    level: str = ""

    def parts(self, entries: Iterable[Entry]) -> list[str]:
        """What the bars of some entries stand for, in their order."""
        present = {self.part(entry) for entry in entries}
        return [part for part in self.colours if part in present]


def eer_bars(results: Results, eer: str) -> Figure | None:
    """EER of every system, set and gender under every attack model, with intervals over speakers."""
    return _verification_bars(results, eer)


def min_cllr_bars(results: Results) -> Figure | None:
    """Min Cllr of every system, set and gender under every attack model, with intervals over speakers."""
    return _verification_bars(results, "min_cllr")


def _verification_bars(results: Results, metric: str) -> Figure | None:
    measured = _reported(results.select(metric, kind=None))
    if not measured:
        return None
    entries = results.strongest(measured)
    order = order_of(results, entries, gender="f")
    figure = _draw(results, _set_panels(entries, order.of_set), _by_model(metric, entries))
    note(figure, [order.words, *attacker_notes(results, measured)])
    return figure


def attack_bars(results: Results, eer: str) -> Figure | None:
    """EER of the systems that the strongest attack was made on, one bar inside the other; a line is original speech."""
    measured = _reported(results.select(eer, kind=None))
    entries = results.strongest([entry for entry in measured if entry.record.system != ORIGINAL])
    models = sorted({entry.attack_model for entry in entries}, key=model_rank)
    if len(models) < 2 or len(results.anonymised) < 2:
        return None
    attacked = _unique(entry.record.system for entry in entries if entry.attack_model == models[-1])
    shown = [entry for entry in entries if entry.record.system in attacked]
    order = order_of(results, shown, "f", models[-1])
    original = {e.record.set: e.record.value for e in results.strongest(measured) if e.record.system == ORIGINAL}
    panels = [
        Panel(panel.title, panel.entries, panel.systems, original.get(panel.entries[0].record.set))
        for panel in _set_panels(shown, order.of_set)
    ]
    figure = _draw(results, panels, _by_model(eer, shown, nested=True, level="original speech"))
    left_out = [name for name in results.anonymised if name not in attacked]
    missing = f"Not shown, as no {models[-1]} attack was made on them: {', '.join(left_out)}." if left_out else ""
    note(figure, [order.words, missing, *attacker_notes(results, measured)])
    return figure


def mean_bars(results: Results, eer: str) -> Figure | None:
    """Mean EER over all sets for every system and attack model, female and male apart; a dot is a set."""
    measured = results.select(eer, kind=None)
    entries = results.strongest(measured)
    if not {entry.attack_model for entry in entries} - {UNPROTECTED}:
        return None
    genders = [gender for gender in GENDERS if any(e.record.gender == gender for e in entries)] or [""]
    order = order_of(results, entries, gender="f")
    panels = [
        Panel(_gender_title(gender), [e for e in entries if e.record.gender == gender], order.of_set())
        for gender in genders
    ]
    figure = _draw(results, panels, _by_model(eer, entries, means=True))
    note(figure, [order.words, *attacker_notes(results, measured)])
    return figure


def gain_bars(results: Results) -> Figure | None:
    """Gain of voice distinctiveness of every system, set and gender, with intervals over speakers."""
    return _similarity_bars(results, "g_vd")


def deid_bars(results: Results) -> Figure | None:
    """De-identification of every system, set and gender, with intervals over speakers."""
    return _similarity_bars(results, "deid")


def _similarity_bars(results: Results, metric: str) -> Figure | None:
    entries = _reported(in_challenge_mode(results.select(metric), attrgetter("record")))
    if not entries:
        return None
    order = order_of(results, entries, gender="m")
    chart = Chart(describe(metric), attrgetter("attack_model"), {"": NEUTRAL})
    figure = _draw(results, _set_panels(entries, order.of_set), chart)
    note(figure, [order.words, *attacker_notes(results, entries)])
    return figure


def inference_bars(results: Results) -> Figure | None:
    """Bits about every attribute by every attack model, a panel per attribute and number of utterances."""
    metric = describe("inference_bits")
    attributes = _unique(str(e.record.params["attribute"]) for e in results.select(metric.name))
    # The strongest attacker may differ from attribute to attribute.
    entries = [e for name in attributes for e in results.strongest(results.select(metric.name, attribute=name))]
    if not entries:
        return None
    lengths = sorted({e.record.params["L"] for e in entries}, key=length_order)
    panels = []
    for name in attributes:
        for length in (lengths[0], lengths[-1])[: len(lengths)]:
            own = [e for e in entries if (e.record.params["attribute"], e.record.params["L"]) == (name, length)]
            most = max((float(e.record.notes["entropy"]) for e in own), default=None)
            panels.append(Panel(f"{name}, {length_title(length)}", own, results.systems, most))
    return _draw(results, panels, _by_model(metric.name, entries, level="entropy of the attribute"))


def _reported(entries: Sequence[Entry]) -> list[Entry]:
    """The entries of test sets, as papers show them; of all sets where there are none."""
    return [e for e in entries if partition_of(e.record.set) == "test"] or list(entries)


def _by_model(metric: str, entries: Iterable[Entry], **options: Any) -> Chart:
    """Bars that stand for attack models."""
    models = sorted({entry.attack_model for entry in entries}, key=model_rank)
    return Chart(describe(metric), attrgetter("attack_model"), {name: model_colour(name) for name in models}, **options)


def _set_panels(entries: Sequence[Entry], systems: Callable[[str], Sequence[str]]) -> list[Panel]:
    """A panel per set and gender; those of a set have the same order of systems."""
    panels = []
    for title in _unique(set_title(entry.record.set, gender=False) for entry in entries):
        own = [entry for entry in entries if set_title(entry.record.set, gender=False) == title]
        for gender in sorted({entry.record.gender for entry in own}):
            chosen = [entry for entry in own if entry.record.gender == gender]
            panels.append(Panel(set_title(chosen[0].record.set), chosen, systems(title)))
    return panels


def _gender_title(gender: str) -> str:
    return GENDERS.get(gender, "all speakers")


def _draw(results: Results, panels: Sequence[Panel], chart: Chart) -> Figure:
    """All panels with the names of systems, limits, chance and legend."""
    entries = [entry for panel in panels for entry in panel.entries]
    systems = _unique(name for panel in panels for name in panel.systems)
    places = {name: chart.parts(e for e in entries if e.record.system == name) for name in systems}
    rooms = {name: max(_LEAST, 1 if chart.nested else len(parts)) for name, parts in places.items()}
    units = max(_WHOLE, *(sum(rooms[name] + _GAP for name in panel.systems) for panel in panels))
    distance = min([(rooms[a] + rooms[b]) / 2 + _GAP for p in panels for a, b in pairwise(p.systems)], default=units)
    columns = _columns([panel.title for panel in panels], units, distance)
    bar = _panel_width(columns) / units
    names = Names.of(results, systems)
    angle = names.angle(distance * bar)
    height = _HEIGHT + 0.2 + names.height(angle)
    figure, axes = grid(-(-len(panels) // columns), columns, height=height, sharey=True)
    cells = [axis for row in axes for axis in row]
    for axis in cells[len(panels) :]:
        axis.set_axis_off()
    for axis, panel in zip(cells, panels, strict=False):
        middles = _middles(panel.systems, rooms, units)
        names.draw(axis, panel.systems, list(middles.values()), angle)
        for name, middle in middles.items():
            for place, part in enumerate(places[name]):
                own = [e for e in panel.entries if e.record.system == name and chart.part(e) == part]
                shift = place - (len(places[name]) - 1) / 2
                width = 1 - 0.22 * place if chart.nested else 0.9
                _bar(axis, own, chart, middle + (0 if chart.nested else shift), width, bar)
        if panel.level is not None:
            axis.axhline(chart.metric.scale * panel.level, **_LEVEL)
        if chart.metric.chance is not None:
            axis.axhline(chart.metric.scale * chart.metric.chance, **_CHANCE)
        axis.set_xlim(0, units)
        axis.grid(False, axis="x")
        axis.set_title(panel.title)
    cells[0].set_ylim(*_limits(panels, chart))
    for row in axes:
        row[0].set_ylabel(f"Mean {chart.metric.axis}" if chart.means else chart.metric.axis)
    if handles := _handles(chart, panels):
        legend(figure, handles)
    return figure


def _columns(titles: Sequence[str], units: float, distance: float) -> int:
    """How many panels are in a row: titles need room, and names of systems that are `distance` bars apart."""
    for columns in (4, 2):
        width = _panel_width(columns)
        named = distance * width / units >= 1.25 * TICK_SIZE / 72 and width >= 0.085 * max(map(len, titles))
        if columns <= len(titles) and named:
            return columns
    return 1


def _panel_width(columns: int) -> float:
    return (PAGE - _MARGIN) / columns - 0.12


def _middles(systems: Sequence[str], rooms: Mapping[str, float], units: float) -> dict[str, float]:
    """Where systems stand on an axis of so many units."""
    middles, left = {}, (units - sum(rooms[name] for name in systems) - _GAP * (len(systems) - 1)) / 2
    for name in systems:
        middles[name] = left + rooms[name] / 2
        left += rooms[name] + _GAP
    return middles


def _bar(axis: Axes, entries: Sequence[Entry], chart: Chart, x: float, width: float, inches: float) -> None:
    """A bar of one number, or of the mean of several, with its whisker or dots, and its value where it fits."""
    if not entries:
        return
    values = [chart.metric.scale * entry.record.value for entry in entries]
    value, record = fmean(values), entries[0].record
    ends = [chart.metric.scale * end for end in (record.lower, record.upper) if end is not None and math.isfinite(end)]
    if math.isfinite(value):
        axis.bar(x, value, width, color=chart.colours[chart.part(entries[0])])
    if chart.means:
        ends, size = values, min(4.0, 0.6 * 72 * inches)
        axis.plot([x] * len(values), values, "o", ms=size, mfc=PAPER, mec=INK, mew=0.2 * size)
    elif len(ends) == 2 and not chart.nested:
        axis.plot([x, x], ends, color=INK, lw=min(1, 10 * inches), path_effects=_HALO)
    text = f"{value:.{1 if chart.metric.scale > 1 else 2}f}".replace("inf", "∞").replace("-", "−")
    if not math.isfinite(value) or (not chart.nested and len(text) * 0.62 * _VALUE_SIZE < 72 * inches):
        # G_VD is -inf if all voices are alike: it has a label and no bar.
        tip = max([value, *ends]) if value >= 0 else min([value, *ends])
        shift, align = (-3, "top") if value < 0 else (3, "bottom")
        place = x, tip if math.isfinite(tip) else 0
        axis.annotate(text, place, (0, shift), textcoords="offset points", ha="center", va=align, fontsize=_VALUE_SIZE)


def _limits(panels: Sequence[Panel], chart: Chart) -> tuple[float, float]:
    """Limits that hold 0, chance, all bars, whiskers and levels, and the values at their ends."""
    ends = [0.0, chart.metric.chance or 0.0]
    for panel in panels:
        ends += [] if panel.level is None else [panel.level]
        for record in (entry.record for entry in panel.entries):
            whisker = () if chart.means or chart.nested else (record.lower, record.upper)
            ends += [end for end in (record.value, *whisker) if end is not None]
    low, high = (chart.metric.scale * edge(filter(math.isfinite, ends)) for edge in (min, max))
    if low == high:
        high = low + chart.metric.scale
    room = 0.13 * (high - low)
    return low - room * (low < 0), high + room * (high > 0)


def _handles(chart: Chart, panels: Sequence[Panel]) -> list[Artist]:
    """Colours, and the lines across."""
    handles: list[Artist] = []
    if any(chart.colours):
        handles += [
            Patch(color=colour, label=ORIGINAL if part == UNPROTECTED else part)
            for part, colour in chart.colours.items()
        ]
    if any(panel.level is not None for panel in panels):
        handles.append(Line2D([], [], **_LEVEL, label=chart.level))
    if chart.metric.chance is not None:
        handles.append(Line2D([], [], **_CHANCE, label="chance"))
    return handles


def _unique(items: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(items))
