"""Bar charts with intervals: verification by set, by attack model, and voice similarity (supplement, 1-2 and 13-16)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from statistics import fmean
from typing import TypeVar

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch
from matplotlib.patheffects import withStroke

from vpeval.figures.data import Entry, Results
from vpeval.figures.style import INK, MUTED, PAPER, grid, legend
from vpeval.records.attacks import UNPROTECTED
from vpeval.records.metrics import Metric, describe
from vpeval.records.names import GENDERS, set_title
from vpeval.results.headline import in_challenge_mode

T = TypeVar("T")
_HALO = [withStroke(linewidth=2.4, foreground=PAPER)]
"""Around whiskers, which would not be seen on the dark bar of a strong attacker."""


def eer_bars(results: Results, eer: str) -> Figure | None:
    """EER of every set under every attack model, with intervals over speakers."""
    return _verification_bars(results, eer)


def min_cllr_bars(results: Results) -> Figure | None:
    """Min Cllr of every set under every attack model, with intervals over speakers."""
    return _verification_bars(results, "min_cllr")


def _verification_bars(results: Results, metric: str) -> Figure | None:
    entries = results.strongest(results.of(metric))
    if not entries:
        return None
    kind = describe(metric)
    panels = _in_order(set_title(entry.record.set, gender=False) for entry in entries)
    columns = min(len(panels), 3)
    figure, axes = grid(-(-len(panels) // columns), columns, height=2.7, sharey=True)
    cells = [axis for row in axes for axis in row]
    for axis, panel in zip(cells, panels, strict=False):
        chosen = [entry for entry in entries if set_title(entry.record.set, gender=False) == panel]
        genders = _in_order(entry.record.gender for entry in chosen)
        _bars(results, axis, chosen, genders, lambda entry: entry.record.gender)
        axis.set_xticks(range(len(genders)), [GENDERS.get(gender, "all speakers") for gender in genders])
        axis.set_title(panel)
    _room_for(cells[: len(panels)], entries, kind)
    for axis in cells[len(panels) :]:
        axis.set_axis_off()
    for row in axes:
        row[0].set_ylabel(kind.axis)
    _legend(figure, results, entries)
    return figure


def eer_by_attacker(results: Results, eer: str) -> Figure | None:
    """Mean EER over all sets for every system and attack model, women and men apart; a dot is a set."""
    entries, kind = results.strongest(results.of(eer)), describe(eer)
    genders = [gender for gender in GENDERS if any(e.record.gender == gender for e in entries)] or [""]
    if len({entry.model for entry in entries} - {UNPROTECTED}) < 1:
        return None
    figure, axes = grid(1, len(genders), height=2.9, sharey=True)
    series = results.series(entries)
    # Bars of one system stand together, with a gap to the next.
    place = {each: number + 0.6 * results.systems.index(each[0]) for number, each in enumerate(series)}
    middles = {
        name: fmean(place[each] for each in series if each[0] == name) for name in _in_order(each[0] for each in series)
    }
    for axis, gender in zip(axes[0], genders, strict=True):
        for each, x in place.items():
            values = [kind.scale * e.record.value for e in entries if e.series == each and e.record.gender == gender]
            if values:
                axis.bar(x, fmean(values), 0.9, color=results.colour(each))
                axis.plot([x] * len(values), values, "o", ms=4, mfc=PAPER, mec=INK, mew=0.8)
                _label(axis, x, max(values), f"{fmean(values):.1f}")
        axis.set_xticks(list(middles.values()), list(middles))
        axis.grid(False, axis="x")
        axis.set_title(GENDERS.get(gender, "all speakers"))
    _room_for(axes[0], entries, kind)
    axes[0][0].set_ylabel(f"Mean {kind.axis}")
    _legend(figure, results, entries)
    return figure


def similarity_bars(results: Results) -> Figure | None:
    """Gain of voice distinctiveness and de-identification of every set, with intervals over speakers."""
    entries = in_challenge_mode(results.of("g_vd", "deid"), attrgetter("record"))
    if not entries:
        return None
    sets = _in_order(entry.record.set for entry in entries)
    figure, axes = grid(1, 2, height=2.9)
    for axis, name in zip(axes[0], ("g_vd", "deid"), strict=True):
        chosen = [entry for entry in entries if entry.record.metric == name]
        _bars(results, axis, chosen, sets, lambda entry: entry.record.set)
        if len(sets) <= 4:
            axis.set_xticks(range(len(sets)), [set_title(each).replace(", ", "\n") for each in sets])
        else:
            axis.set_xticks(range(len(sets)), [set_title(each) for each in sets], rotation=90)
        axis.axhline(0, color=MUTED, lw=0.8)
        axis.set_ylabel(describe(name).axis)
        axis.margins(y=0.12)
    axes[0][0].set_title("Voice distinctiveness (0: as original)")
    axes[0][1].set_title("De-identification (100: perfect)")
    if len(results.series(entries)) > 1:
        _legend(figure, results, entries)
    return figure


def inference_bars(results: Results) -> Figure | None:
    """Bits about every attribute by every attack model, a panel per number of utterances, with intervals."""
    kind = describe("inference_bits")
    attributes = _in_order(str(e.record.params["attribute"]) for e in results.of(kind.name))
    # One encoder tells most of this attribute, another of the next: bars are those of attack models.
    strongest = [e for name in attributes for e in results.strongest(results.of(kind.name, attribute=name))]
    entries = [replace(entry, record=replace(entry.record, attacker="")) for entry in strongest]
    if not entries:
        return None
    lengths = sorted({e.record.params["L"] for e in entries}, key=lambda n: (isinstance(n, str), n))
    shown = [lengths[0], lengths[-1]][: len(lengths)]
    figure, axes = grid(1, len(shown), height=2.7, sharey=True)
    for axis, length in zip(axes[0], shown, strict=True):
        chosen = [e for e in entries if e.record.params["L"] == length]
        _bars(results, axis, chosen, attributes, lambda e: str(e.record.params["attribute"]))
        axis.set_xticks(range(len(attributes)), attributes)
        axis.set_title("all utterances" if length == "all" else f"L = {length}")
        for place, attribute in enumerate(attributes):
            most = next(e.record.notes["entropy"] for e in entries if e.record.params["attribute"] == attribute)
            axis.plot([place - 0.45, place + 0.45], [most, most], color=MUTED, lw=1)
    top = max(max(float(e.record.notes["entropy"]), e.record.upper or 0) for e in entries)
    axes[0][0].set_ylim(0, 1.12 * top)
    axes[0][0].set_ylabel(kind.axis)
    _legend(figure, results, entries)
    return figure


def _bars(
    results: Results, axis: Axes, entries: Sequence[Entry], groups: Sequence[T], group: Callable[[Entry], T]
) -> None:
    """Bars grouped by `group`, in a group one bar per series."""
    series = results.series(entries)
    width = 0.82 / len(series)
    for entry in entries:
        record, kind = entry.record, describe(entry.record.metric)
        left = groups.index(group(entry)) + (series.index(entry.series) - (len(series) - 1) / 2) * width
        value = kind.scale * record.value
        ends = [kind.scale * end for end in (record.lower, record.upper) if end is not None and math.isfinite(end)]
        if math.isfinite(value):
            axis.bar(left, value, width * 0.9, color=results.colour(entry.series))
        if len(ends) == 2:
            axis.plot([left, left], ends, color=INK, lw=1, path_effects=_HALO)
        if len(entries) <= 8:
            # G_VD is -inf where the voices cannot be told apart any more: there is no bar, but a label.
            tip = max([value, *ends]) if value >= 0 else min([value, *ends])
            text = f"{value:.{1 if kind.scale > 1 else 2}f}".replace("inf", "∞")
            _label(axis, left, tip if math.isfinite(tip) else 0, text, value < 0)
    axis.grid(False, axis="x")


def _label(axis: Axes, x: float, y: float, text: str, below: bool = False) -> None:
    shift, align = (-3, "top") if below else (3, "bottom")
    axis.annotate(
        text.replace("-", "−"), (x, y), (0, shift), textcoords="offset points", ha="center", va=align, fontsize=7.5
    )


def _room_for(axes: Sequence[Axes], entries: Sequence[Entry], kind: Metric) -> None:
    """From 0 to above chance and above the highest whisker with its label; a line at chance."""
    chance = kind.scale * (kind.chance or 0)
    ends = [kind.scale * max(e.record.value, e.record.upper or 0) for e in entries]
    top = max([chance, *filter(math.isfinite, ends)])
    for axis in axes:
        axis.set_ylim(0, 1.12 * top)
        _chance(axis, chance)


def _chance(axis: Axes, level: float) -> None:
    axis.axhline(level, color=MUTED, lw=1, ls=(0, (1, 1.5)))
    axis.annotate(
        "chance: no information",
        (0, level),
        (3, 2),
        xycoords=("axes fraction", "data"),
        textcoords="offset points",
        fontsize=7.5,
        color=MUTED,
    )


def _legend(figure: Figure, results: Results, entries: Sequence[Entry]) -> None:
    """One patch per series, under the panels."""
    series = results.series(entries)
    patches = [Patch(color=results.colour(each), label=results.title(each)) for each in series]
    legend(figure, patches)


def _in_order(items: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(items))
