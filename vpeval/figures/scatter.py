"""One metric against another (supplement, 17-23), and privacy against utility of several systems."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vpeval.core.errors import InputError
from vpeval.editions.headline import in_challenge_mode, is_eer, with_one_eer
from vpeval.figures.drawing import MARKERS, MUTED, draw, grid, legend, model_rank, panels, system_colours
from vpeval.figures.run_results import Entry, Results
from vpeval.records.metrics import describe
from vpeval.records.names import IGNORANT, NO_COST, ORIGINAL, attack_model
from vpeval.records.record import Record
from vpeval.results.overview import means


def metric_pairs(eer: str, dsys: str) -> tuple[tuple[str, str], ...]:
    """The pairs of metrics to plot, with these estimators of EER and D_sys."""
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
    """A point per set, system and attack model; DeID is compared with the numbers of the ignorant attacker."""
    points = {pair: _pairs(results, *pair) for pair in metric_pairs(eer, results.dsys)}
    shown = [pair for pair, found in points.items() if found]
    if not shown:
        return None
    figure, axes = panels(len(shown), 3, height=2.25)
    for (x, y), axis in zip(shown, axes, strict=True):
        _draw(results, axis, points[x, y])
        note = ", ignorant" if x == "deid" and y != "g_vd" else ""
        axis.set_xlabel(describe(x).axis)
        axis.set_ylabel(describe(y).axis + note)
        axis.margins(0.08)
    series = results.series(entry for found in points.values() for entry, _ in found if entry.attack_model)
    handles = [
        Line2D([], [], ls="", marker=MARKERS.get(s.attack_model, "o"), color=results.colour(s), label=results.title(s))
        for s in series
    ]
    legend(figure, handles)
    return figure


def _pairs(results: Results, x: str, y: str) -> list[tuple[Entry, Entry]]:
    """Entries of `x` and `y` for the same set, system and attacker; for DeID also across attack models."""
    others = {(e.record.set, e.series): e for e in in_challenge_mode(results.select(y), attrgetter("record"))}
    found = []
    for entry in in_challenge_mode(results.select(x), attrgetter("record")):
        series = entry.series
        if x == "deid" and y != "g_vd":
            series = series._replace(attack_model=IGNORANT)
        other = others.get((entry.record.set, series))
        if other and NO_COST not in other.record.notes and _is_finite(entry) and _is_finite(other):
            found.append((entry, other))
    return found


def _is_finite(entry: Entry) -> bool:
    return math.isfinite(entry.record.value)


def _draw(results: Results, axis: Axes, points: list[tuple[Entry, Entry]]) -> None:
    for one, other in points:
        x, y = (describe(entry.record.metric).scale * entry.record.value for entry in (one, other))
        marker = MARKERS.get(other.attack_model, "o")
        axis.plot(x, y, marker=marker, color=results.colour(other.series), ls="", alpha=0.9)


def privacy_utility(records: Iterable[Record], edition: str, classes: Sequence[float] = ()) -> Figure:
    """A point per system and attack model: EER over WER, averages of the test sets (else dev), with intervals.

    The EER is that of the edition. Lines show chance and the minimum EERs of `classes`.
    """
    averages = means(records)
    tests = [r for r in averages if r.set == "test"] or [r for r in averages if r.set == "dev"]
    costs: dict[str, Record] = {}
    for record in tests:
        if record.metric == "wer":
            costs.setdefault(record.system, record)
    points = [record for record in _points(tests, edition) if record.system in costs]
    if not costs or not points:
        raise InputError("a privacy-utility plot needs EERs and word error rates of the same systems")
    return draw("privacy_utility", lambda: _plot(points, costs, classes))


def _plot(points: Sequence[Record], costs: Mapping[str, Record], classes: Sequence[float]) -> Figure:
    figure, [[axis]] = grid(1, 1, width=5.2, height=3.6)
    colours = system_colours(costs)
    kinds = [describe(name) for name in dict.fromkeys(record.metric for record in points)]
    chance = 100 * (kinds[0].chance or 0)
    for level in (*(100 * least for least in classes), chance):
        axis.axhline(level, color=MUTED, linewidth=0.8, linestyle="-" if level == chance else ":", zorder=1)
        label = "chance" if level == chance else f"{level:g} %"
        axis.annotate(
            label, (1, level), xycoords=("axes fraction", "data"), ha="right", va="bottom", fontsize=7, color=MUTED
        )
    for record in points:
        cost = costs[record.system]
        axis.errorbar(
            cost.value,
            100 * record.value,
            xerr=_distances(cost),
            yerr=_distances(record),
            fmt=MARKERS.get(attack_model(record), "o"),
            color=colours[record.system],
            elinewidth=0.8,
        )
    front = pareto_front([(costs[r.system].value, 100 * r.value) for r in _strongest(points)])
    if len(front) > 1:
        line: dict[str, Any] = {"color": MUTED, "linewidth": 1, "linestyle": (0, (4, 2)), "drawstyle": "steps-post"}
        axis.plot(*zip(*front, strict=True), **line, zorder=1)
    axis.set_xlabel(f"{describe('wer').axis} (lower is better)")
    axis.set_ylabel(f"{' / '.join(kind.title for kind in kinds)}, % (nearer to chance is better)")
    axis.set_ylim(bottom=0, top=max(chance + 5, *(105 * max(r.value, r.upper or 0) for r in points)))
    axis.set_xlim(left=0)
    systems = dict.fromkeys(record.system for record in points)
    models = dict.fromkeys(attack_model(record) for record in points)
    handles = [Line2D([], [], ls="", marker="s", markersize=6, color=colours[name], label=name) for name in systems]
    handles += [Line2D([], [], ls="", marker=MARKERS.get(m, "o"), color=MUTED, label=m) for m in models]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4))
    return figure


def pareto_front(points: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The points (cost, privacy) that no other point beats in both, sorted by cost.

    >>> pareto_front([(5, 10), (7, 30), (9, 20), (12, 40)])
    [(5, 10), (7, 30), (12, 40)]
    """
    front: list[tuple[float, float]] = []
    for cost, privacy in sorted(points, key=lambda point: (point[0], -point[1])):
        if not front or privacy > front[-1][1]:
            front.append((cost, privacy))
    return front


def _strongest(points: Sequence[Record]) -> list[Record]:
    """The points of one attack: the strongest of those that were made on most systems."""
    attacks: dict[tuple[str, str], list[Record]] = {}
    for record in points:
        if record.system != ORIGINAL:
            attacks.setdefault((record.attacker, record.condition), []).append(record)

    def strength(own: Sequence[Record]) -> tuple[object, ...]:
        mean = sum(record.value for record in own) / len(own)
        return len(own), model_rank(attack_model(own[0])), -mean

    return max(attacks.values(), key=strength, default=[])


def _points(tests: Sequence[Record], edition: str) -> list[Record]:
    """The EERs, weak attacks first."""
    eers = [record for record in with_one_eer(tests, edition) if is_eer(record.metric)]
    return sorted(eers, key=lambda record: (model_rank(attack_model(record)), record.system))


def _distances(record: Record) -> list[list[float]] | None:
    """The interval as distances from the value."""
    if record.lower is None or record.upper is None:
        return None
    scale = describe(record.metric).scale
    return [[max(0, scale * (record.value - record.lower))], [max(0, scale * (record.upper - record.value))]]
