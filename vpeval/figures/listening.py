"""Figures of listening tests (VoicePrivacy 2020 supplement, Figures 24 to 30): violins, tests, DET curves, boards.

The DET curves of Figures 25 and 26 are those of five tasks. Original speech is to be told from that of a system by
naturalness, and by intelligibility. By similarity, the same speaker is to be told from others: with the pairs of a
system, or with those of original speech in place of one kind, so that the curve shows what the other kind does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from vpeval.figures.drawing import (
    INK,
    MUTED,
    PAGE,
    PALE,
    PALETTE,
    Style,
    blocks,
    fold,
    grid,
    label_margins,
    legend,
    note,
    panels,
)
from vpeval.figures.run_results import Entry, Results, read_side_file
from vpeval.figures.system_axis import Names
from vpeval.listening.analysis import MetricPair, pair_metrics
from vpeval.listening.ratings import ATTACKER, GROUPS, RANKS, VERIFICATION
from vpeval.listening.significance import GROUP_TITLES, LEVELS, Level, Significance, read_significance, show_p
from vpeval.metrics.score_metrics import det_curve
from vpeval.metrics.scores import pool
from vpeval.records.metrics import describe
from vpeval.records.names import IGNORANT, NO_COST, ORIGINAL, UNPROTECTED, set_title
from vpeval.records.record import Record
from vpeval.results.published import KIND

Scores = Mapping[str, Mapping[str, Any]]
"""The scores of every system, by group and cell."""
_FEW = 7
"""Up to so many systems, original speech included, have room for two panels side by side and for numbers in cells."""
_FILLS: Mapping[Level, dict[str, Any]] = {
    "significant": {"color": PALETTE[6], "alpha": 0.5},
    "uncorrected": {"color": PALETTE[6], "alpha": 0.18},
    "none": {"color": PALE, "alpha": 0.35},
}
_SPEAKERS = tuple(map(Style, PALETTE, "os^DvPX<"))
_TICKS = (0.01, 0.05, 0.2, 0.5, 0.8, 0.95)
_ENDS = (0.006, 0.975)


@dataclass(frozen=True)
class Task:
    """A detection task: which scores are to be told apart, and for which of both those of original speech stand in."""

    title: str
    targets: str
    nontargets: str
    original: str = ""

    def scores(self, systems: Scores, system: str, cells: Sequence[str] = ()) -> tuple[np.ndarray, np.ndarray] | None:
        """The scores of targets and nontargets for a system in some cells (all if none is named); None without any."""
        if self.targets == self.nontargets and system == ORIGINAL:
            return None
        own = {"targets": system, "nontargets": system} | ({self.original: ORIGINAL} if self.original else {})
        targets = _scores(systems[own["targets"]], self.targets, cells)
        nontargets = _scores(systems[own["nontargets"]], self.nontargets, cells)
        return (targets, nontargets) if len(targets) and len(nontargets) else None


_SAME, _DIFFERENT = "similarity_same", "similarity_different"
_OWN_PAIRS = Task("Similarity, both kinds of pairs", _SAME, _DIFFERENT)
TASKS = (
    Task("Naturalness", "naturalness", "naturalness", "targets"),
    Task("Intelligibility", "intelligibility", "intelligibility", "targets"),
    Task("Similarity, same speaker", _SAME, _DIFFERENT, "nontargets"),
    Task("Similarity, different speakers", _SAME, _DIFFERENT, "targets"),
    _OWN_PAIRS,
)


def violins(results: Results) -> Figure | None:
    """Normalised ranks of every system; numbers are means, the dotted line is the median of the first system."""
    systems = _system_scores(results)
    if not systems:
        return None
    figure, axes, room = _system_panels(results, list(systems), len(GROUPS), height=1.75)
    reference = next((system for system in systems if system != ORIGINAL), ORIGINAL)
    for axis, group in zip(axes, GROUPS, strict=True):
        for place, (system, content) in enumerate(systems.items()):
            scores = _scores(content, group)
            if len(scores):
                _violin(axis, scores, place, results.styles[system].colour)
                axis.plot(place, np.median(scores), marker="_", color=INK, ms=min(12, 50 * room), mew=1.4)
                turn = 90 if room < 0.3 else 0
                axis.text(place, 1.04, f"{scores.mean():.2f}", ha="center", va="bottom", fontsize=7.5, rotation=turn)
        if len(first := _scores(systems[reference], group)):
            axis.axhline(float(np.median(first)), color=MUTED, lw=1, ls=(0, (1, 1.5)))
        axis.set_title(GROUP_TITLES[group])
        axis.set_ylim(-0.05, 1.3 if room < 0.3 else 1.22)
        axis.set_yticks([0, 0.25, 0.5, 0.75, 1])
    figure.supylabel("normalised rank", fontsize=8.5)
    return _mark_simulated(figure, results)


def significance(results: Results) -> Figure | None:
    """Which systems listeners rate differently: rows against columns, with p values where there is room."""
    found = read_significance(results.records)
    if found is None:
        return None
    systems = list(found.systems)
    few = len(systems) <= _FEW
    names = Names.of(results, systems)
    size = (PAGE - 0.6 - 0.068 * names.longest) / 2 / len(systems)
    angle = names.angle(size)
    figure, axes = grid(2, 2, height=len(systems) * (0.38 if few else size) + 0.3, sharex=True, sharey=True)
    figure.set_figheight(figure.get_figheight() + names.height(angle))
    for axis, (group, title) in zip([a for row in axes for a in row], GROUP_TITLES.items(), strict=True):
        _pairs(axis, found, group, few)
        axis.set(xlim=(-0.5, len(systems) - 0.5), ylim=(len(systems) - 0.5, -0.5))
        axis.tick_params(labelsize=8 if few else 7)
        axis.set_title(title)
        axis.grid(False)
    for axis in axes[-1]:
        names.draw(axis, systems, range(len(systems)), angle)
    for axis, *_ in axes:
        axis.set_yticks(range(len(systems)), [names.texts[name] for name in systems])
    legend(
        figure,
        [
            *(Patch(lw=0, label=words, **_FILLS[level]) for level, words in LEVELS.items()),
            Line2D([], [], ls="", marker="^", color=INK, ms=4, label="row is rated higher"),
            Line2D([], [], ls="", marker="v", color=INK, ms=4, label="row is rated lower"),
        ],
    )
    return _mark_simulated(figure, results)


def _pairs(axis: Axes, found: Significance, group: str, numbers: bool) -> None:
    """The cells of a group, with triangles that tell whether the row is rated higher, and p values if asked for."""
    for y, system in enumerate(found.systems):
        for x, versus in enumerate(found.systems):
            if pair := found.pair(group, system, versus):
                axis.fill([x - 0.48, x + 0.48, x + 0.48, x - 0.48], [y - 0.47, y - 0.47, y + 0.47, y + 0.47], lw=0,
                          **_FILLS[pair.level])  # fmt: skip
                if pair.difference:
                    marker = "^" if pair.difference > 0 else "v"
                    axis.plot(x, y + 0.24 * numbers, marker, color=INK, ms=3.2, mew=0)
                if numbers:
                    axis.text(x, y - 0.17, show_p(pair.p_value), ha="center", va="center", fontsize=7)


def det_curves(results: Results) -> Figure | None:
    """Listeners as detectors, over all sets: a panel per task."""
    systems = _system_scores(results)
    if not systems:
        return None
    tasks = _tasks(systems)
    columns, height = (3, 2.5) if len(systems) <= _FEW else (2, 2.9)
    figure, axes = panels(len(tasks), columns, height)
    for axis, task in zip(axes, tasks, strict=True):
        _draw_task(axis, task, systems, results)
        axis.set_title(task.title)
    return _finish_det(figure, axes, systems, results)


def det_by_set(results: Results) -> Figure | None:
    """Listeners as detectors, set by set: a row per task, a column per set."""
    systems = _system_scores(results)
    cells: dict[str, list[str]] = {}
    for cell in dict.fromkeys(cell for content in systems.values() for cell in content["groups"].get(_SAME, {})):
        cells.setdefault(set_title(cell.split(" ")[0], gender=False), []).append(cell)
    if not cells:
        return None
    tasks = {task.title: task for task in _tasks(systems)}
    figure, axes = blocks({title: list(cells) for title in tasks}, 3, height=1.8)
    for (title, name), axis in axes.items():
        _draw_task(axis, tasks[title], systems, results, cells[name])
        if len(cells) > 3 or title == next(iter(tasks)):
            axis.set_title(name)
        if name == next(iter(cells)):
            axis.set_ylabel(title.replace(", ", "\n"))
    return _finish_det(figure, list(axes.values()), systems, results)


def against_machine(results: Results) -> Figure | None:
    """Metrics of the similarity scores against those of the ignorant attacker, a point per system, set and gender."""
    heard = [e.record for e in results.entries if e.record.attacker == ATTACKER]
    machine = [
        e
        for e in results.entries
        if e.record.attacker != ATTACKER and e.attack_model in (IGNORANT, UNPROTECTED) and NO_COST not in e.record.notes
    ]
    # Published numbers that were made for this comparison come last, and are taken.
    machine.sort(key=lambda entry: KIND in entry.record.params)
    attacker, pairs = _most_pairs(heard, machine)
    shown = [metric for metric in VERIFICATION if pairs.get(metric)]
    if not shown:
        return None
    figure, axes = panels(len(shown), 2, height=2.8)
    for axis, metric in zip(axes, shown, strict=True):
        for both in pairs[metric]:
            colour, marker = results.styles[both.system]
            scale = describe(both.estimator).scale
            x, y = scale * both.objective, scale * both.subjective
            axis.plot(x, y, marker, color=colour, mew=0, ms=7 if marker == "*" else 5, alpha=0.9)
        name = " / ".join(dict.fromkeys(describe(both.estimator).axis for both in pairs[metric]))
        axis.set(xlabel=f"machine ({attacker}): {name}", ylabel=f"listeners: {name}")
        axis.margins(0.08)
    known = {both.system for metric in shown for both in pairs[metric]}
    systems = [name for name in results.systems if name in known]
    missing = [name for name in results.systems if name not in known and any(r.system == name for r in heard)]
    legend(figure, _handles(results, systems, ""))
    notes = [f"Left out, as there is no ignorant attack by {attacker}: {', '.join(missing)}."] if missing else []
    note(figure, [*notes, *(["All numbers as published."] if results.published >= known else [])])
    return _mark_simulated(figure, results)


def _most_pairs(heard: Sequence[Record], machine: Sequence[Entry]) -> tuple[str, Mapping[str, Sequence[MetricPair]]]:
    """The attacker that most numbers of listeners can be compared with, and the pairs of numbers by metric."""
    best: tuple[str, Mapping[str, Sequence[MetricPair]]] = "", {}
    for attacker in sorted({entry.record.attacker for entry in machine}):
        pairs = pair_metrics(heard, [entry.record for entry in machine if entry.record.attacker == attacker])
        if sum(map(len, pairs.values())) > sum(map(len, best[1].values())):
            best = attacker, pairs
    return best


def linkability(results: Results) -> Figure | None:
    """Placed voices: distances of same and of different speakers, and how well voices are clustered by speaker."""
    systems = {name: content for name, content in _system_scores(results).items() if content.get("distances")}
    if not systems:
        return None
    figure, (top, bottom), _ = _system_panels(results, list(systems), 2, height=2.0)
    accuracy = {e.record.system: e.record for e in results.select("listening_cluster_accuracy")}
    for place, (system, content) in enumerate(systems.items()):
        for name, side, colour in (("same", "low", PALETTE[6]), ("different", "high", PALE)):
            _violin(top, np.clip(content["distances"][name], 0, 3), place, colour, side)
        if record := accuracy.get(system):
            chance = 100 * record.notes["chance"]
            bottom.plot([place - 0.3, place + 0.3], [chance, chance], color=MUTED, lw=1, ls=(0, (2, 1)))
            if record.lower is not None and record.upper is not None:
                bottom.plot([place, place], [100 * record.lower, 100 * record.upper], color=PALETTE[6], lw=1.2)
            bottom.plot(place, 100 * record.value, "o", color=PALETTE[6])
    top.set(ylim=(0, 3.05), ylabel="distance")
    bottom.set(ylim=(0, 105), ylabel="right cluster (%)")
    legend(
        figure,
        [
            Patch(color=PALETTE[6], alpha=0.5, lw=0, label="same speaker"),
            Patch(color=PALE, alpha=0.5, lw=0, label="different speakers"),
            Line2D([], [], ls="", marker="o", color=PALETTE[6], label="right cluster"),
            Line2D([], [], color=MUTED, lw=1, ls=(0, (2, 1)), label="chance"),
        ],
    )
    return _mark_simulated(figure, results)


def maps(results: Results) -> Figure | None:
    """The mean of the board that most listeners judged, a panel per system."""
    systems = {name: content["map"] for name, content in _system_scores(results).items() if content.get("map")}
    if not systems:
        return None
    figure, axes = panels(len(systems), 4, height=1.95)
    texts = Names.of(results, list(systems)).texts
    for axis, (system, content) in zip(axes, systems.items(), strict=True):
        points, speakers = np.array(content["points"]), np.array(content["speakers"])
        for speaker in np.unique(speakers):
            x, y = points[speakers == speaker].T
            style = _SPEAKERS[(speaker - 1) % len(_SPEAKERS)]
            axis.plot(x, y, style.marker, color=style.colour, ms=5, mew=0, alpha=0.9)
        axis.set_title(fold(texts[system], 18))
        axis.set(xticks=[], yticks=[], xlabel=f"{content['listeners']} listeners")
        axis.set_aspect("equal", adjustable="datalim")
        axis.margins(0.15)
    return _mark_simulated(figure, results)


def _system_panels(
    results: Results, systems: Sequence[str], count: int, height: float
) -> tuple[Figure, list[Axes], float]:
    """Panels with systems on the x axis, side by side or one above the other, and inches per system."""
    columns = 2 if len(systems) <= _FEW else 1
    room = (PAGE / columns - 0.55) / len(systems)
    names = Names.of(results, systems)
    angle = names.angle(room)
    figure, axes = grid(-(-count // columns), columns, height=height, sharex=True, sharey=count > 2)
    figure.set_figheight(figure.get_figheight() + names.height(angle))
    for axis in axes[-1]:
        names.draw(axis, systems, range(len(systems)), angle)
        axis.set_xlim(-0.6, len(systems) - 0.4)
    for row in axes:
        for axis in row:
            axis.grid(axis="x", visible=False)
    return figure, [axis for row in axes for axis in row], room


def _violin(axis: Axes, scores: np.ndarray, place: int, colour: str, side: str = "both") -> None:
    """The distribution of scores; nothing if they do not differ."""
    if len(scores) > 1 and np.std(scores) > 0:
        shape = axis.violinplot(scores, [place], widths=0.85, showextrema=False, side=side)  # type: ignore[arg-type]
        for body in shape["bodies"]:  # type: ignore[attr-defined]
            body.set(facecolor=colour, alpha=0.5, edgecolor=colour)


def _system_scores(results: Results) -> dict[str, dict[str, Any]]:
    """The scores of every system with ratings, the original data first."""
    found: dict[str, dict[str, Any]] = {}
    for entry in results.select("listening_naturalness", scores=RANKS):
        if not entry.record.set and entry.record.system not in found:
            content = read_side_file(entry, "listening")
            if content:
                found[entry.record.system] = content
    return found


def _scores(content: Mapping[str, Any], group: str, cells: Sequence[str] = ()) -> np.ndarray:
    """The scores of a system in a group, in some of the cells (all if none is named)."""
    by_cell: Mapping[str, Sequence[float]] = content["groups"].get(group, {})
    chosen = [by_cell.get(cell, []) for cell in cells or by_cell]
    return np.concatenate([np.array(values, dtype=np.float64) for values in chosen]) if chosen else np.empty(0)


def _tasks(systems: Scores) -> Sequence[Task]:
    """The tasks that there are scores for: without original speech, only those of a system's own pairs."""
    return TASKS if ORIGINAL in systems else (_OWN_PAIRS,)


def _draw_task(axis: Axes, task: Task, systems: Scores, results: Results, cells: Sequence[str] = ()) -> None:
    from scipy.special import ndtri

    for place, system in enumerate(systems):
        if scores := task.scores(systems, system, cells):
            curve = det_curve(pool(*scores))
            with np.errstate(divide="ignore"):
                x, y = (np.clip(ndtri(p), -8, 8) for p in (curve.p_fa, curve.p_miss))
            style = results.styles[system]
            # Markers of different systems at different places of their curves.
            every = (0.03 * (place % 7), 0.22)
            axis.plot(x, y, color=style.colour, lw=1.2, marker=style.marker, ms=4, mew=0, markevery=every)
    places = ndtri(np.array(_TICKS))
    names = [f"{100 * tick:g}" for tick in _TICKS]
    axis.set_xticks(places, names)
    axis.set_yticks(places, names)
    ends = tuple(ndtri(np.array(_ENDS)))
    axis.set(xlim=ends, ylim=ends, aspect="equal")
    axis.axline((0, 0), slope=1, color=MUTED, lw=0.8, ls=(0, (1, 1.5)))


def _finish_det(figure: Figure, axes: Sequence[Axes], systems: Iterable[str], results: Results) -> Figure:
    label_margins(axes)
    figure.supxlabel("false alarms (%)", fontsize=8.5)
    figure.supylabel("misses (%)", fontsize=8.5)
    legend(figure, _handles(results, systems, "-"))
    return _mark_simulated(figure, results)


def _handles(results: Results, systems: Iterable[str], line: str) -> list[Line2D]:
    names = Names.of(results, list(systems))
    return [
        Line2D([], [], ls=line, lw=1.2, ms=5, mew=0, color=style.colour, marker=style.marker, label=text)
        for name, text in names.texts.items()
        for style in [results.styles[name]]
    ]


def _mark_simulated(figure: Figure, results: Results) -> Figure:
    """Write SIMULATED across the figure if the listeners were."""
    if any("listeners" in entry.record.notes for entry in results.entries if entry.record.attacker == ATTACKER):
        style: dict[str, Any] = {
            "rotation": 24,
            "fontsize": 26,
            "color": PALETTE[4],
            "alpha": 0.28,
            "fontweight": "bold",
        }
        figure.text(0.5, 0.5, "SIMULATED LISTENERS", ha="center", va="center", zorder=10, **style)
    return figure
