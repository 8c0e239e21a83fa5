"""Privacy against utility: the figure that shows what a system pays for its protection."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vpeval.core.errors import InputError
from vpeval.figures.style import MARKERS, MUTED, grid, model_rank, rc, system_colours
from vpeval.results.attacks import attack_model
from vpeval.results.measures import measure
from vpeval.results.records import Record
from vpeval.results.significance import means

_CHANCE = 50


def privacy_utility(records: Iterable[Record], thresholds: Sequence[int] = ()) -> Figure:
    """A point per system and attack model: EER over WER, averages of the test sets (else dev), with intervals.

    `thresholds` are minimum EERs in percent, drawn as lines; so is chance.
    """
    tests = [record for record in means(records) if record.set == "test"]
    if not tests:
        tests = [record for record in means(records) if record.set == "dev"]
    costs: dict[str, Record] = {}
    for record in tests:
        if record.metric == "wer":
            costs.setdefault(record.system, record)
    points = [record for record in _points(tests) if record.system in costs]
    if not costs or not points:
        raise InputError("a privacy-utility plot needs EERs and word error rates of the same systems")
    # Settings of the look hold while a figure is made.
    with matplotlib.rc_context(rc("privacy_utility")):
        return _draw(points, costs, thresholds)


def _draw(points: Sequence[Record], costs: Mapping[str, Record], thresholds: Sequence[int]) -> Figure:
    figure, [[axis]] = grid(1, 1, width=5.2, height=3.6)
    colours = system_colours(costs)
    for level in (*thresholds, _CHANCE):
        axis.axhline(level, color=MUTED, linewidth=0.8, linestyle="-" if level == _CHANCE else ":", zorder=1)
        label = "chance" if level == _CHANCE else f"{level} %"
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
    axis.set_xlabel("WER, % (lower is better)")
    axis.set_ylabel("EER, % (nearer to chance is better)")
    axis.set_ylim(bottom=0, top=max(_CHANCE + 5, *(105 * record.value for record in points)))
    axis.set_xlim(left=0)
    systems = dict.fromkeys(record.system for record in points)
    models = dict.fromkeys(attack_model(record) for record in points)
    handles = [Line2D([], [], ls="", marker="s", markersize=6, color=colours[name], label=name) for name in systems]
    handles += [Line2D([], [], ls="", marker=MARKERS.get(m, "o"), color=MUTED, label=m) for m in models]
    figure.legend(handles=handles, loc="outside lower center", ncols=min(len(handles), 4))
    return figure


def _points(tests: Sequence[Record]) -> list[Record]:
    """The EERs, weak attackers first; of two kinds of EER the one that every edition before 2024 has."""
    eers = [r for r in tests if r.metric in ("eer_kaldi", "eer_threshold")]
    has_kaldi = {(r.system, r.condition, r.attacker) for r in eers if r.metric == "eer_kaldi"}
    chosen = [r for r in eers if r.metric == "eer_kaldi" or (r.system, r.condition, r.attacker) not in has_kaldi]
    return sorted(chosen, key=lambda record: (model_rank(attack_model(record)), record.system))


def _reach(record: Record) -> list[list[float]] | None:
    """The interval as distances from the value."""
    if record.lower is None or record.upper is None:
        return None
    scale = measure(record.metric).scale
    return [[max(0, scale * (record.value - record.lower))], [max(0, scale * (record.upper - record.value))]]
