"""One metric against another (supplement, Figures 17-23), and privacy against utility of several systems.

Every system has a colour and a marker. In the plane of privacy and utility, systems are named at its upper edge.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from statistics import fmean
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FuncFormatter, NullFormatter

from vpeval.core.errors import InputError
from vpeval.editions.headline import in_challenge_mode, is_eer, with_one_eer
from vpeval.figures.drawing import (
    GRID,
    MARKERS,
    MUTED,
    PAGE,
    PAPER,
    draw,
    grid,
    legend,
    model_colour,
    model_rank,
    note,
    panels,
)
from vpeval.figures.run_results import Entry, Results
from vpeval.figures.system_axis import LETTER, TICK_SIZE, Names, attacker_notes, mark_notes, name_texts
from vpeval.records.metrics import describe
from vpeval.records.names import IGNORANT, NO_COST, ORIGINAL, OTHER_DATA, UNPROTECTED, attack_model
from vpeval.records.record import Record
from vpeval.results.origins import mark, without_foreign_original
from vpeval.results.overview import means

EER, DSYS = "eer", "dsys"
"""The estimators of the EER (of the edition) and of D_sys (that all systems have) in a pair of metrics."""
Pair = tuple[Entry, Entry]
_PLANE = PAGE - 1.1  # the width of the plane in inches


def attack_scatter(x: str, y: str) -> Callable[..., Figure | None]:
    """A figure of metric `y` over metric `x`: a panel per attack model, a point per system and set."""

    def plot(results: Results, eer: str = "") -> Figure | None:
        own_x, own_y = _estimator(results, x, eer), _estimator(results, y, eer)
        pairs = _attack_pairs(results, own_x, own_y)
        models = sorted({other.attack_model for _, other in pairs} - {UNPROTECTED}, key=model_rank)
        if not models:
            return None
        figure, axes = panels(len(models), 4, height=2.4 if len(models) < 4 else 2.1, sharex=True, sharey=True)
        for model, axis in zip(models, axes, strict=True):
            shown = [pair for pair in pairs if pair[1].attack_model in (model, UNPROTECTED)]
            _points(results, axis, [pair for pair in shown if NO_COST not in pair[1].record.notes])
            axis.set_title(model)
            axis.set_xlabel(describe(own_x).axis)
        axes[0].set_ylabel(describe(own_y).axis)
        _finish(results, figure, axes, pairs)
        return figure

    return plot


def deid_scatter(results: Results, eer: str) -> Figure | None:
    """DeID against the gain of voice distinctiveness, and against EER and min Cllr of the ignorant attacker."""
    found = {name: _deid_pairs(results, name) for name in ("g_vd", eer, "min_cllr")}
    shown = [name for name, pairs in found.items() if pairs]
    if not shown:
        return None
    figure, axes = panels(len(shown), 3, height=2.4)
    for name, axis in zip(shown, axes, strict=True):
        _points(results, axis, found[name])
        axis.set_xlabel(describe("deid").axis)
        axis.set_ylabel(describe(name).axis + ("" if name == "g_vd" else f" ({IGNORANT})"))
    _finish(results, figure, axes, [pair for pairs in found.values() for pair in pairs])
    return figure


def _estimator(results: Results, metric: str, eer: str) -> str:
    return {EER: eer, DSYS: results.dsys}.get(metric, metric)


def _attack_pairs(results: Results, x: str, y: str) -> list[Pair]:
    """Finite numbers of `x` and `y` for the same system, set and attacker; the strongest attacker of an attack model.

    Of attackers whose `y` is no cost, those that have one count first.
    """
    others = {(e.record.set, e.series): e for e in results.select(y, kind=None)}
    pairs = [
        (e, others[e.record.set, e.series]) for e in results.select(x, kind=None) if (e.record.set, e.series) in others
    ]
    pairs = [pair for pair in pairs if all(math.isfinite(entry.record.value) for entry in pair)]
    costs = {other.series[:2] for _, other in pairs if NO_COST not in other.record.notes}
    able = [p for p in pairs if NO_COST not in p[1].record.notes or p[1].series[:2] not in costs]
    strongest = {id(entry) for entry in results.strongest([one for one, _ in able])}
    return [pair for pair in able if id(pair[0]) in strongest]


def _deid_pairs(results: Results, metric: str) -> list[Pair]:
    """DeID and another number of the same system and set; of an attack, that of the strongest ignorant attacker.

    DeID has no attacker, or the encoder that compares voices: its name says nothing about the attack.
    """
    deid = in_challenge_mode(results.select("deid"), attrgetter("record"))
    if metric == "g_vd":
        others = in_challenge_mode(results.select(metric), attrgetter("record"))
        known = {(e.record.system, e.record.set, e.record.attacker): e for e in others}
        pairs = [(e, known.get((e.record.system, e.record.set, e.record.attacker))) for e in deid]
    else:
        others = [e for e in results.strongest(results.select(metric, kind=None)) if e.attack_model == IGNORANT]
        attacks = {(e.record.system, e.record.set): e for e in others}
        pairs = [(e, attacks.get((e.record.system, e.record.set))) for e in deid]
    finite = [(one, other) for one, other in pairs if other is not None]
    return [pair for pair in finite if all(math.isfinite(entry.record.value) for entry in pair)]


def _points(results: Results, axis: Axes, pairs: Sequence[Pair]) -> None:
    for name in results.systems:
        own = [pair for pair in pairs if pair[0].record.system == name]
        if own:
            x, y = ([describe(e.record.metric).scale * e.record.value for e in ends] for ends in zip(*own, strict=True))
            axis.plot(x, y, **_style(results, name))


def _style(results: Results, system: str) -> dict[str, Any]:
    colour, marker = results.styles[system]
    size = 7 if marker == "*" else 4.5
    return {"ls": "", "marker": marker, "color": colour, "ms": size, "mec": PAPER, "mew": 0.3}


def _finish(results: Results, figure: Figure, axes: Sequence[Axes], pairs: Sequence[Pair]) -> None:
    """Limits, a legend of the systems, and what a reader must know."""
    # Cllr has no upper limit: values of badly calibrated scores would hide all others.
    costs = [other.record.value for _, other in pairs if other.record.metric == "cllr"]
    wide = bool(costs) and 0 < 20 * min(costs) < max(costs)
    for axis in axes:
        axis.margins(0.06)
        if wide:
            axis.set_yscale("log")
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
            axis.yaxis.set_minor_formatter(NullFormatter())
    systems = [name for name in results.systems if any(one.record.system == name for one, _ in pairs)]
    texts = Names.of(results, systems).texts
    legend(figure, [Line2D([], [], **_style(results, name), label=texts[name]) for name in systems])
    costless = sorted({other.record.attacker for _, other in pairs if NO_COST in other.record.notes})
    left_out = f"Left out: Cllr of {', '.join(costless)}, as cosines are no log-likelihood ratios." if costless else ""
    note(figure, [left_out, *attacker_notes(results, [other for _, other in pairs])])


def privacy_utility(records: Iterable[Record], edition: str, classes: Sequence[float] = ()) -> Figure:
    """A point per system and attack model: EER over WER, averages of the test sets (else dev), with intervals.

    The EER is that of the edition. Lines show chance and the minimum EERs of `classes`.
    """
    averages = means(without_foreign_original(records))
    tests = [r for r in averages if r.set == "test"] or [r for r in averages if r.set == "dev"]
    costs: dict[str, Record] = {}
    for record in tests:
        if record.metric == "wer":
            costs.setdefault(record.system, record)
    points = [record for record in _eers(tests, edition) if record.system in costs]
    if not costs or not points:
        raise InputError("a privacy-utility plot needs EERs and word error rates of the same systems")
    return draw("privacy_utility", lambda: _plane(points, costs, classes))


def _plane(points: Sequence[Record], costs: Mapping[str, Record], classes: Sequence[float]) -> Figure:
    marks = {record.system: mark(record) for record in points}
    names = name_texts(dict.fromkeys(record.system for record in points), marks)
    places = {name: costs[name].value for name in names}
    flat = sum(LETTER * (len(text) + 2) for text in names.values()) < _PLANE
    figure, [[axis]] = grid(1, 1, height=2.9 + (0.25 if flat else LETTER * max(map(len, names.values()))))
    kinds = [describe(name) for name in dict.fromkeys(record.metric for record in points)]
    chance = 100 * (kinds[0].chance or 0)
    for level in (*(100 * least for least in classes), chance):
        axis.axhline(level, color=MUTED, linewidth=0.8, linestyle="-" if level == chance else ":", zorder=1)
        label = "chance" if level == chance else f"{level:g} %"
        look: dict[str, Any] = {"xycoords": ("axes fraction", "data"), "va": "center", "fontsize": 7, "color": MUTED}
        axis.annotate(label, (1.01, level), **look)
    strongest = {record.system: record for record in points}
    for record in points:
        cost, model = costs[record.system], attack_model(record)
        axis.errorbar(
            cost.value,
            100 * record.value,
            xerr=_distances(cost) if record is strongest[record.system] else None,
            yerr=_distances(record),
            fmt=MARKERS.get(model, "o"),
            color=model_colour(model),
            elinewidth=0.8,
        )
    comparable = [record for record in points if OTHER_DATA not in record.notes]
    front = pareto_front([(costs[r.system].value, 100 * r.value) for r in _one_attack(comparable)])
    line: dict[str, Any] = {"color": MUTED, "linewidth": 1, "linestyle": (0, (4, 2))}
    if len(front) > 1:
        axis.plot(*zip(*front, strict=True), **line, drawstyle="steps-post", zorder=1)
    axis.set_xlabel(f"{describe('wer').axis} (lower is better)")
    axis.set_ylabel(f"{' / '.join(kind.title for kind in kinds)}, %\n(nearer to chance is better)")
    top = max(chance + 5, *(105 * max(r.value, r.upper or 0) for r in points))
    axis.set_ylim(0, top)
    axis.grid(False, axis="x")
    _set_costs(axis, [costs[name] for name in names])
    _name_places(axis, names, places, flat)
    for name, place in places.items():
        own = [100 * record.value for record in points if record.system == name]
        axis.plot([place, place], [min(own), top], color=GRID, lw=0.8, zorder=0)
    models = dict.fromkeys(attack_model(record) for record in points)
    handles = [
        Line2D(
            [], [], ls="", marker=MARKERS.get(m, "o"), color=model_colour(m), label=ORIGINAL if m == UNPROTECTED else m
        )
        for m in models
    ]
    legend(figure, [*handles, Line2D([], [], **line, label="best systems")] if len(front) > 1 else handles)
    note(figure, mark_notes(names, marks))
    return figure


def _set_costs(axis: Axes, costs: Sequence[Record]) -> None:
    """Limits that hold all costs with their intervals."""
    ends = [end for r in costs for end in (r.value, r.lower, r.upper) if end is not None]
    room = 0.06 * (max(ends) - min(ends)) or 1.0
    axis.set_xlim(min(ends) - room, max(ends) + room)


def _name_places(axis: Axes, names: Mapping[str, str], places: Mapping[str, float], flat: bool) -> None:
    """Write the names of systems above the plane, each with a line to its place; close ones are moved apart."""
    low, high = axis.get_xlim()
    order = sorted(names, key=lambda name: places[name])
    rooms = [(LETTER * (len(names[name]) + 1) if flat else 0.15) / _PLANE for name in order]
    shares = spread([(places[name] - low) / (high - low) for name in order], rooms)
    for name, share in zip(order, shares, strict=True):
        axis.annotate(
            names[name],
            (places[name], 1),
            (share, 1.07),
            xycoords=("data", "axes fraction"),
            textcoords="axes fraction",
            ha="center",
            va="bottom",
            rotation=0 if flat else 90,
            fontsize=TICK_SIZE,
            arrowprops={"arrowstyle": "-", "color": MUTED, "lw": 0.6, "shrinkA": 0, "shrinkB": 0, "relpos": (0.5, 0)},
        )


def spread(places: Sequence[float], rooms: Sequence[float]) -> list[float]:
    """Ascending places in [0, 1] moved apart as little as possible, so that each has its room.

    >>> [round(place, 3) for place in spread([0.4, 0.4, 0.9], [0.2, 0.2, 0.2])]
    [0.3, 0.5, 0.9]
    """
    starts = [sum(rooms[:k]) + rooms[k] / 2 for k in range(len(rooms))]
    blocks: list[list[float]] = []
    for place, start in zip(places, starts, strict=True):
        blocks.append([place - start])
        while len(blocks) > 1 and fmean(blocks[-2]) > fmean(blocks[-1]):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    moved = [fmean(block) for block in blocks for _ in block]
    return [min(max(move, 0), 1 - sum(rooms)) + start for move, start in zip(moved, starts, strict=True)]


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


def _one_attack(points: Sequence[Record]) -> list[Record]:
    """The points of one attack: the strongest of those that were made on most systems."""
    attacks: dict[tuple[str, str], list[Record]] = {}
    for record in points:
        if record.system != ORIGINAL:
            attacks.setdefault((record.attacker, record.condition), []).append(record)

    def strength(own: Sequence[Record]) -> tuple[object, ...]:
        mean = sum(record.value for record in own) / len(own)
        return len(own), model_rank(attack_model(own[0])), -mean

    return max(attacks.values(), key=strength, default=[])


def _eers(tests: Sequence[Record], edition: str) -> list[Record]:
    """The EERs, weak attacks first."""
    eers = [record for record in with_one_eer(tests, edition) if is_eer(record.metric)]
    return sorted(eers, key=lambda record: (model_rank(attack_model(record)), record.system))


def _distances(record: Record) -> list[list[float]] | None:
    """The interval as distances from the value."""
    if record.lower is None or record.upper is None:
        return None
    scale = describe(record.metric).scale
    return [[max(0, scale * (record.value - record.lower))], [max(0, scale * (record.upper - record.value))]]
