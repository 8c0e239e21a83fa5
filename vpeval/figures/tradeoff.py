"""Privacy against utility: the figure that shows what a system pays for its protection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vpeval.core.errors import InputError
from vpeval.figures.style import MARKERS, MUTED, draw, grid, model_rank, system_colours
from vpeval.records.attacks import attack_model
from vpeval.records.metrics import describe
from vpeval.records.names import ORIGINAL
from vpeval.records.record import Record
from vpeval.results.headline import EERS, with_one_eer
from vpeval.results.overview import means


def privacy_utility(records: Iterable[Record], edition: str, classes: Sequence[float] = ()) -> Figure:
    """A point per system and attack model: EER over WER, averages of the test sets (else dev), with intervals.

    The EER is that of the edition; `classes` are minimum EERs, drawn as lines; so is chance.
    """
    tests = [record for record in means(records) if record.set == "test"]
    if not tests:
        tests = [record for record in means(records) if record.set == "dev"]
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
            xerr=_reach(cost),
            yerr=_reach(record),
            fmt=MARKERS.get(attack_model(record), "o"),
            color=colours[record.system],
            elinewidth=0.8,
        )
    front = pareto_front([(costs[r.system].value, 100 * r.value) for r in _strongest(points)])
    if len(front) > 1:
        look: dict[str, Any] = {"color": MUTED, "linewidth": 1, "linestyle": (0, (4, 2)), "drawstyle": "steps-post"}
        axis.plot(*zip(*front, strict=True), **look, zorder=1)
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
    """The points (cost, privacy) that no other one beats in both, by cost.

    >>> pareto_front([(5, 10), (7, 30), (9, 20), (12, 40)])
    [(5, 10), (7, 30), (12, 40)]
    """
    front: list[tuple[float, float]] = []
    for cost, privacy in sorted(points, key=lambda point: (point[0], -point[1])):
        if not front or privacy > front[-1][1]:
            front.append((cost, privacy))
    return front


def _strongest(points: Sequence[Record]) -> list[Record]:
    """The points of one attack: the strongest of those that most systems met; original speech is no system."""
    attacks: dict[tuple[str, str], list[Record]] = {}
    for record in points:
        if record.system != ORIGINAL:
            attacks.setdefault((record.attacker, record.condition), []).append(record)

    def strength(own: Sequence[Record]) -> tuple[object, ...]:
        mean = sum(record.value for record in own) / len(own)
        return len(own), model_rank(attack_model(own[0])), -mean

    return max(attacks.values(), key=strength, default=[])


def _points(tests: Sequence[Record], edition: str) -> list[Record]:
    """The EERs, weak attackers first."""
    eers = [record for record in with_one_eer(tests, edition) if record.metric in EERS]
    return sorted(eers, key=lambda record: (model_rank(attack_model(record)), record.system))


def _reach(record: Record) -> list[list[float]] | None:
    """The interval as distances from the value."""
    if record.lower is None or record.upper is None:
        return None
    scale = describe(record.metric).scale
    return [[max(0, scale * (record.value - record.lower))], [max(0, scale * (record.upper - record.value))]]
