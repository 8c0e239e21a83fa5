"""Curves of attackers: their training, ZEBRA profiles (supplement, 3-6), D_sys (7) and DET."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from vpeval.core.arrays import Floats
from vpeval.figures.drawing import INK, LINES, MUTED, NEUTRAL, PALE, PALETTE, draw, grid, legend, panels, save
from vpeval.figures.run_results import Entry, Results, Series, read_pooled_scores, read_side_file
from vpeval.metrics.scores import PooledScores
from vpeval.records.names import no_llrs, set_title

_TRAINING_LINES = {"train": (0, (2, 1.5)), "valid": "-", "": "-"}
_NOT_LEARNING = ("epoch", "seconds")
_DET_TICKS = (0.001, 0.01, 0.02, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8)


def zebra_profiles(results: Results) -> Figure | None:
    """Empirical cross-entropy over the prior; titles are (population, individual, tag)."""
    entries = results.strongest([entry for entry in results.select("zebra_population") if entry.file("curves")])
    if not entries:
        return None
    individual = {(e.record.set, e.series): e.record for e in results.select("zebra_individual")}
    figure, cells = _set_panels(results, entries, height=1.75)
    for (name, series), axis in cells.items():
        entry = next((e for e in entries if (e.record.set, e.series) == (name, series)), None)
        if entry is None:
            axis.set_axis_off()
            continue
        curves = (read_side_file(entry, "curves") or {})["ece"]
        colour = results.colour(series)
        x, default, minimum = (np.array(curves[key]) for key in ("prior_log_odds", "default", "minimum"))
        axis.plot(x, default, color=MUTED, lw=1.1, ls=(0, (1, 1.2)))
        if not no_llrs(entry.record):
            axis.plot(x, curves["actual"], color=colour, lw=1, ls=(0, (4, 2)))
        axis.plot(x, minimum, color=colour)
        axis.fill_between(x, minimum, default, color=colour, alpha=0.14, lw=0)
        worst = individual.get((name, series))
        parts = [f"{entry.record.value:.3f}", *([f"{worst.value:.2f}", worst.notes["tag"]] if worst else [])]
        axis.text(0.97, 0.98, f"({', '.join(parts)})", transform=axis.transAxes, ha="right", va="top", fontsize=7.5)
    _set_all(cells, xlim=(-7.7, 7.7), xticks=[-5, 0, 5], ylim=(0, 1.15), yticks=[0, 0.5, 1])
    figure.supxlabel("prior log-odds", fontsize=8.5)
    figure.supylabel("empirical cross-entropy (bit)", fontsize=8.5)
    lines = [
        Line2D([], [], color=MUTED, lw=1.1, ls=(0, (1, 1.2)), label="no evidence"),
        Line2D([], [], color=INK, lw=1, ls=(0, (4, 2)), label="scores as they are"),
        Line2D([], [], color=INK, label="calibrated (PAV)"),
        Patch(color=NEUTRAL, alpha=0.3, lw=0, label="disclosure"),
    ]
    legend(figure, lines)
    return figure


def dsys_distributions(results: Results) -> Figure | None:
    """Score distributions of the same and of different speakers, and the local linkability D between them."""
    entries = results.strongest(results.select("dsys"))
    found = {(e.record.set, e.series): (e, read_pooled_scores(e, results.data)) for e in entries}
    scored = {key: (entry, pooled) for key, (entry, pooled) in found.items() if pooled is not None}
    shown = {(e.record.set, e.series): e.record.value for e in results.select(results.dsys)}
    if not scored:
        return None
    figure, cells = _set_panels(results, [entry for entry, _ in scored.values()], height=1.75)
    _share_scores(cells)
    for key, axis in cells.items():
        if key not in scored:
            axis.set_axis_off()
            continue
        entry, pooled = scored[key]
        edges = np.linspace(pooled.score[0], pooled.score[-1], 31)
        for counts, colour in ((pooled.nontargets, PALE), (pooled.targets, results.colour(entry.series))):
            density = np.histogram(pooled.score, edges, weights=counts)[0]
            axis.stairs(density / density.max(), edges, color=colour, fill=True, alpha=0.65, lw=0)
        axis.stairs(*local_linkability(pooled), color=INK, lw=1.1)
        axis.grid(False)
        value = shown.get(key, entry.record.value)
        axis.text(0.03, 0.98, f"D_sys {value:.3f}", transform=axis.transAxes, va="top", fontsize=7.5)
    _set_all(cells, ylim=(0, 1.2), yticks=[0, 0.5, 1])
    figure.supxlabel("score, on an axis of its own for every attacker", fontsize=8.5)
    figure.supylabel("distributions (peak at 1) and D(s)", fontsize=8.5)
    patches = [
        Patch(color=PALE, alpha=0.65, lw=0, label="different speakers"),
        Patch(color=NEUTRAL, alpha=0.65, lw=0, label="same speaker"),
        Line2D([], [], color=INK, lw=1.1, label="local linkability D(s)"),
    ]
    legend(figure, patches)
    return figure


def det_curves(results: Results) -> Figure | None:
    """Misses over false alarms of every set, on normal-deviate axes; a curve crosses the diagonal at its EER."""
    entries = results.strongest([entry for entry in results.select("eer_threshold") if entry.file("curves")])
    if not entries:
        return None
    from scipy.special import ndtri

    sets = list(dict.fromkeys(entry.record.set for entry in entries))
    figure, axes = panels(len(sets), 2 if len(sets) in (2, 4) else 3, height=3.1)
    for axis, name in zip(axes, sets, strict=True):
        for entry in (e for e in entries if e.record.set == name):
            det = (read_side_file(entry, "curves") or {})["det"]
            with np.errstate(divide="ignore"):
                x, y = ndtri(np.array(det["p_fa"])), ndtri(np.array(det["p_miss"]))
            x, y = np.clip(x, -8, 8), np.clip(y, -8, 8)
            axis.plot(x, y, color=results.colour(entry.series), ls=LINES.get(entry.attack_model, "-"), lw=1.4)
        axis.set_aspect("equal")
        axis.axline((0, 0), slope=1, color=MUTED, lw=0.8, ls=(0, (1, 1.5)))
        axis.set_title(set_title(name))
    ticks, names = ndtri(np.array(_DET_TICKS)), [f"{100 * tick:g}" for tick in _DET_TICKS]
    ends = ndtri(0.0008), ndtri(0.85)
    for axis in axes:
        axis.set(xlim=ends, ylim=ends)
        axis.set_xticks(ticks, names)
        axis.set_yticks(ticks, names)
        axis.label_outer()
    figure.supxlabel("false alarms (%)", fontsize=8.5)
    figure.supylabel("misses (%)", fontsize=8.5)
    lines = [
        Line2D([], [], color=results.colour(s), ls=LINES.get(s.attack_model, "-"), label=results.title(s))
        for s in results.series(entries)
    ]
    legend(figure, lines)
    return figure


def attacker_training(results: Results) -> Figure | None:
    """The training curves of all attackers."""
    return training_curves(results.training)


def training_curves(training: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure | None:
    """A panel for every quantity of the logs, a line for every attacker; lines of training data are dotted."""
    logs = {name: epochs for name, epochs in training.items() if epochs}
    numbers = dict.fromkeys(key for epochs in logs.values() for row in epochs for key in row)
    parts: dict[str, list[tuple[str, str]]] = {}
    for number in numbers:
        if number not in _NOT_LEARNING:
            part, _, quantity = number.partition("_")
            named = part in _TRAINING_LINES and quantity
            parts.setdefault(quantity if named else number, []).append((number, part if named else ""))
    if not parts:
        return None
    figure, axes = panels(len(parts), 3, height=2.3)
    colours = {name: PALETTE[place % len(PALETTE)] for place, name in enumerate(sorted(logs))}
    for (quantity, lines), axis in zip(parts.items(), axes, strict=True):
        for number, part in lines:
            for name, epochs in logs.items():
                rows = [row for row in epochs if number in row]
                points = [row["epoch"] for row in rows], [row[number] for row in rows]
                axis.plot(*points, color=colours[name], marker="o", ms=3, ls=_TRAINING_LINES[part])
        axis.set_title(quantity.replace("_", " "))
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    figure.supxlabel("epoch", fontsize=8.5)
    handles = [Line2D([], [], color=colours[name], marker="o", ms=3, label=name) for name in logs]
    if any(part == "train" for lines in parts.values() for _, part in lines):
        handles.append(Line2D([], [], color=MUTED, ls=_TRAINING_LINES["train"], label="training data"))
    legend(figure, handles)
    return figure


def save_training(name: str, epochs: Sequence[Mapping[str, float]], path: Path) -> None:
    """Write the training curves of one attacker to ``<path>.png``."""
    figure = draw(path.name, lambda: training_curves({name: epochs}))
    if figure is not None:
        save(figure, path.parent, path.name, ("png",))


def local_linkability(pooled: PooledScores) -> tuple[Floats, Floats]:
    """D(s) in the bins of D_sys, and the edges of the bins."""
    edges = np.linspace(pooled.score[0], pooled.score[-1], max(2, min(pooled.n_targets // 10, 100) + 1))
    same, other = (
        np.histogram(pooled.score, edges, weights=counts)[0] / counts.sum()
        for counts in (pooled.targets, pooled.nontargets)
    )
    with np.errstate(invalid="ignore"):
        return np.where(same > other, (same - other) / (same + other), 0), edges


def _share_scores(cells: dict[tuple[str, Series], Axes]) -> None:
    """One score axis per attacker, because cosines and log-likelihood ratios differ in size."""
    first: dict[str, Axes] = {}
    lowest = list(cells)[-1][0]
    for (name, series), axis in cells.items():
        if series.attacker in first:
            axis.sharex(first[series.attacker])
        first.setdefault(series.attacker, axis)
        axis.tick_params(labelbottom=name == lowest)


def _set_all(cells: dict[tuple[str, Series], Axes], **limits: Any) -> None:
    """Set limits and ticks of all panels, with labels at the margins. Shared axes would take twice as long."""
    for axis in cells.values():
        axis.set(**limits)
        axis.label_outer()


def _set_panels(results: Results, entries: list[Entry], height: float) -> tuple[Figure, dict[tuple[str, Series], Axes]]:
    """A panel for every set (row) and series (column), with titles at the margins."""
    sets = list(dict.fromkeys(entry.record.set for entry in entries))
    series = results.series(entries)
    figure, axes = grid(len(sets), len(series), width=max(7.4, 2.2 * len(series)), height=height)
    cells = {}
    for name, row in zip(sets, axes, strict=True):
        for each, axis in zip(series, row, strict=True):
            cells[name, each] = axis
        row[0].set_ylabel(set_title(name).replace(", ", "\n"), fontsize=8)
    for each, axis in zip(series, axes[0], strict=True):
        axis.set_title(results.title(each).replace(", ", "\n"))
    return figure, cells
