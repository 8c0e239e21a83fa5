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

from vpeval.editions.headline import in_challenge_mode
from vpeval.figures.drawing import INK, MUTED, PAPER, grid, legend, panels
from vpeval.figures.run_results import Entry, Results, length_order, length_title
from vpeval.records.metrics import Metric, describe
from vpeval.records.names import GENDERS, UNPROTECTED, set_title

T = TypeVar("T")
_HALO = [withStroke(linewidth=2.4, foreground=PAPER)]
"""An outline that keeps whiskers visible on dark bars."""


def eer_bars(results: Results, eer: str) -> Figure | None:
    """EER of every set under every attack model, with intervals over speakers."""
    return _verification_bars(results, eer)


def min_cllr_bars(results: Results) -> Figure | None:
    """Min Cllr of every set under every attack model, with intervals over speakers."""
    return _verification_bars(results, "min_cllr")


def _verification_bars(results: Results, metric: str) -> Figure | None:
    entries = results.strongest(results.select(metric))
    if not entries:
        return None
    kind = describe(metric)
    titles = _unique(set_title(entry.record.set, gender=False) for entry in entries)
    figure, axes = panels(len(titles), 3, height=2.7, sharey=True)
    for axis, title in zip(axes, titles, strict=True):
        chosen = [entry for entry in entries if set_title(entry.record.set, gender=False) == title]
        genders = _unique(entry.record.gender for entry in chosen)
        _bars(results, axis, chosen, genders, lambda entry: entry.record.gender)
        axis.set_xticks(range(len(genders)), [GENDERS.get(gender, "all speakers") for gender in genders])
        axis.set_title(title)
    _set_limits(axes, entries, kind)
    for axis in axes[::3]:
        axis.set_ylabel(kind.axis)
    _legend(figure, results, entries)
    return figure


def eer_by_attacker(results: Results, eer: str) -> Figure | None:
    """Mean EER over all sets for every system and attack model, female and male apart; a dot is a set."""
    entries, kind = results.strongest(results.select(eer)), describe(eer)
    genders = [gender for gender in GENDERS if any(e.record.gender == gender for e in entries)] or [""]
    if len({entry.attack_model for entry in entries} - {UNPROTECTED}) < 1:
        return None
    figure, axes = grid(1, len(genders), height=2.9, sharey=True)
    series = results.series(entries)
    # The bars of a system form a group.
    place = {each: number + 0.6 * results.systems.index(each.system) for number, each in enumerate(series)}
    middles = {
        name: fmean(place[each] for each in series if each.system == name)
        for name in _unique(each.system for each in series)
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
    _set_limits(axes[0], entries, kind)
    axes[0][0].set_ylabel(f"Mean {kind.axis}")
    _legend(figure, results, entries)
    return figure


def similarity_bars(results: Results) -> Figure | None:
    """Gain of voice distinctiveness and de-identification of every set, with intervals over speakers."""
    entries = in_challenge_mode(results.select("g_vd", "deid"), attrgetter("record"))
    if not entries:
        return None
    sets = _unique(entry.record.set for entry in entries)
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
    attributes = _unique(str(e.record.params["attribute"]) for e in results.select(kind.name))
    # The strongest attacker may differ from attribute to attribute: a bar stands for an attack model.
    strongest = [e for name in attributes for e in results.strongest(results.select(kind.name, attribute=name))]
    entries = [replace(entry, record=replace(entry.record, attacker="")) for entry in strongest]
    if not entries:
        return None
    lengths = sorted({e.record.params["L"] for e in entries}, key=length_order)
    shown = [lengths[0], lengths[-1]][: len(lengths)]
    figure, axes = grid(1, len(shown), height=2.7, sharey=True)
    for axis, length in zip(axes[0], shown, strict=True):
        chosen = [e for e in entries if e.record.params["L"] == length]
        _bars(results, axis, chosen, attributes, lambda e: str(e.record.params["attribute"]))
        axis.set_xticks(range(len(attributes)), attributes)
        axis.set_title(length_title(length))
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
    """Groups of bars, with one bar per series in each group."""
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
            # G_VD is -inf if all voices are alike: it has a label and no bar.
            tip = max([value, *ends]) if value >= 0 else min([value, *ends])
            text = f"{value:.{1 if kind.scale > 1 else 2}f}".replace("inf", "∞")
            _label(axis, left, tip if math.isfinite(tip) else 0, text, value < 0)
    axis.grid(False, axis="x")


def _label(axis: Axes, x: float, y: float, text: str, below: bool = False) -> None:
    shift, align = (-3, "top") if below else (3, "bottom")
    axis.annotate(
        text.replace("-", "−"), (x, y), (0, shift), textcoords="offset points", ha="center", va=align, fontsize=7.5
    )


def _set_limits(axes: Sequence[Axes], entries: Sequence[Entry], kind: Metric) -> None:
    """Limits from 0 to above chance and the highest whisker, and a line at chance."""
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
    """One patch per series."""
    series = results.series(entries)
    legend(figure, [Patch(color=results.colour(each), label=results.title(each)) for each in series])


def _unique(items: Iterable[T]) -> list[T]:
    return list(dict.fromkeys(items))
