"""One metric against another (supplement, 17-23): do they tell the same story?"""

from __future__ import annotations

import math
from operator import attrgetter

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vpeval.figures.data import Entry, Results
from vpeval.figures.style import MARKERS, grid, legend
from vpeval.records.attacks import IGNORANT
from vpeval.records.costs import NO_COST
from vpeval.records.metrics import describe
from vpeval.results.headline import in_challenge_mode


def pairs(eer: str, dsys: str) -> tuple[tuple[str, str], ...]:
    """The metrics that are set against each other; `eer` and `dsys` are what is meant by EER and D_sys."""
    return (
        (eer, "min_cllr"),
        (dsys, "min_cllr"),
        (eer, "cllr"),
        (eer, dsys),
        ("zebra_population", "min_cllr"),
        ("zebra_individual", "min_cllr"),
        ("deid", "g_vd"),
        ("deid", eer),
        ("deid", "min_cllr"),
    )


def metric_scatter(results: Results, eer: str) -> Figure | None:
    """A point per set, system and attack model; DeID is set beside the ignorant attacker's numbers."""
    points = {pair: _pairs(results, *pair) for pair in pairs(eer, results.dsys)}
    shown = [pair for pair, found in points.items() if found]
    if not shown:
        return None
    columns = min(3, len(shown))
    figure, axes = grid(-(-len(shown) // columns), columns, height=2.25)
    cells = [axis for row in axes for axis in row]
    for (x, y), axis in zip(shown, cells, strict=False):
        _draw(results, axis, points[x, y])
        note = ", ignorant" if x == "deid" and y != "g_vd" else ""
        axis.set_xlabel(describe(x).axis)
        axis.set_ylabel(describe(y).axis + note)
        axis.margins(0.08)
    for axis in cells[len(shown) :]:
        axis.set_axis_off()
    series = results.series(entry for found in points.values() for entry, _ in found if entry.model)
    handles = [
        Line2D([], [], ls="", marker=MARKERS.get(s[1], "o"), color=results.colour(s), label=results.title(s))
        for s in series
    ]
    legend(figure, handles)
    return figure


def _pairs(results: Results, x: str, y: str) -> list[tuple[Entry, Entry]]:
    """Entries of `x` and `y` for the same set, system and attacker; matched across attack models only for DeID."""
    others = {
        (entry.record.set, entry.series): entry for entry in in_challenge_mode(results.of(y), attrgetter("record"))
    }
    found = []
    for entry in in_challenge_mode(results.of(x), attrgetter("record")):
        system, model, attacker = entry.series
        wanted = IGNORANT if x == "deid" and y != "g_vd" else model
        other = others.get((entry.record.set, (system, wanted, attacker)))
        if (
            other
            and NO_COST not in other.record.notes
            and math.isfinite(entry.record.value)
            and math.isfinite(other.record.value)
        ):
            found.append((entry, other))
    return found


def _draw(results: Results, axis: Axes, points: list[tuple[Entry, Entry]]) -> None:
    for one, other in points:
        x, y = (describe(entry.record.metric).scale * entry.record.value for entry in (one, other))
        series = other.series
        axis.plot(x, y, marker=MARKERS.get(series[1], "o"), color=results.colour(series), ls="", alpha=0.9)
