"""Curves of attackers, one for each: their training, ZEBRA profiles (supplement, 3-6), D_sys (7) and DET."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from vpeval.core.arrays import Floats
from vpeval.figures.attacks import Attacks
from vpeval.figures.drawing import (
    INK,
    LINE_STEP,
    MUTED,
    NEUTRAL,
    PALE,
    PALETTE,
    blocks,
    draw,
    fold,
    label_margins,
    legend,
    model_colour,
    save,
    write_above,
)
from vpeval.figures.run_results import Entry, Results, read_pooled_scores, read_side_file
from vpeval.metrics.scores import PooledScores
from vpeval.records.metrics import describe
from vpeval.records.names import ORIGINAL, UNPROTECTED, set_title

_TRAINING_LINES = {"train": (0, (2, 1.5)), "valid": "-", "": "-"}
_NOT_LEARNING = ("epoch", "seconds")
_DET_TICKS = (0.001, 0.01, 0.05, 0.2, 0.5, 0.8)
_COLUMNS = 5
_LETTERS = 12  # of titles in a line above one of five panels


def zebra_profiles(results: Results) -> Figure | None:
    """Empirical cross-entropy over the prior: a curve per attacker, and above it (population, individual, tag)."""
    entries = [entry for entry in results.select("zebra_population") if entry.file("curves")]
    if not entries:
        return None
    individual = {(e.record.set, e.series): e.record for e in results.select("zebra_individual")}
    attacks = Attacks(entries)
    counts = Counter((entry.record.set, entry.record.system) for entry in entries)
    figure, cells = _system_panels(results, counts, height=1.25 + LINE_STEP * max(counts.values()))
    for (name, system), axis in cells.items():
        own = [entry for entry in entries if (entry.record.set, entry.record.system) == (name, system)]
        lines = []
        for entry in own:
            curves = (read_side_file(entry, "curves") or {})["ece"]
            x, default, minimum = (np.array(curves[key]) for key in ("prior_log_odds", "default", "minimum"))
            style = attacks.style(entry.series)
            axis.plot(x, minimum, lw=1.2, **style)
            worst = individual.get((name, entry.series))
            parts = [f"{entry.record.value:.3f}", *([f"{worst.value:.2f}", worst.notes["tag"]] if worst else [])]
            lines.append((f"({', '.join(parts)})", style))
        axis.plot(x, default, color=MUTED, lw=1, ls=(0, (1, 1.2)), zorder=1)
        axis.set(xlim=(-7.7, 7.7), xticks=[-5, 0, 5], ylim=(0, 1.05), yticks=[0, 0.5, 1])
        write_above(axis, fold(system, _LETTERS), lines, max(counts.values()), results.name_colour(system))
    label_margins(cells.values())
    figure.supxlabel("prior log-odds", fontsize=8.5)
    figure.supylabel("empirical cross-entropy (bit)", fontsize=8.5)
    legend(figure, [Line2D([], [], color=MUTED, lw=1, ls=(0, (1, 1.2)), label="no evidence"), *attacks.handles()])
    return figure


def dsys_distributions(results: Results) -> Figure | None:
    """Score distributions of the same and of different speakers, and the local linkability D between them.

    A panel per attack: sets below each other, or systems where there is one set.
    """
    found = [(entry, read_pooled_scores(entry, results.data)) for entry in results.select("dsys")]
    scored = [(entry, pooled) for entry, pooled in found if pooled is not None]
    if not scored:
        return None
    entries = [entry for entry, _ in scored]
    attacks = Attacks(entries)
    numbers = {(e.record.metric, e.record.set, e.series): e for e in results.select("dsys", "dsys_calibrated")}
    rows = [_row_name(entry, results, entries) for entry in entries]
    columns: dict[str, list[tuple[str, str]]] = {}
    for row, entry in zip(rows, entries, strict=True):
        # Rows of systems have the same columns; original speech in a row of its own has others.
        alone = len(results.anonymised) > 1 and entry.attack_model == UNPROTECTED
        columns[row] = [
            name for name in attacks.names if (name[0] == UNPROTECTED) == alone or not results.anonymised[1:]
        ]
    room = 3 if any(attacks.several(entry.series) for entry in entries) else 2
    wraps = max(map(len, columns.values())) > _COLUMNS
    figure, cells = blocks(columns, _COLUMNS, height=0.8 + 0.2 * wraps + LINE_STEP * room)
    drawn = {(row, entry.series[1:]): (entry, pooled) for row, (entry, pooled) in zip(rows, scored, strict=True)}
    for key in cells.keys() - drawn.keys():
        cells.pop(key).set_axis_off()
    _share_scores(cells)
    above: dict[int, str] = {}
    for key, axis in cells.items():
        entry, pooled = drawn[key]
        edges = np.linspace(pooled.score[0], pooled.score[-1], 31)
        same = NEUTRAL if entry.attack_model == UNPROTECTED else model_colour(entry.attack_model)
        for counts, colour in ((pooled.nontargets, PALE), (pooled.targets, same)):
            density = np.histogram(pooled.score, edges, weights=counts)[0]
            axis.stairs(density / density.max(), edges, color=colour, fill=True, alpha=0.65, lw=0)
        axis.stairs(*local_linkability(pooled), color=INK, lw=1.1)
        axis.grid(False)
        axis.set(ylim=(0, 1.05), yticks=[0, 1])
        own = [numbers.get((metric, entry.record.set, entry.series)) for metric in ("dsys", "dsys_calibrated")]
        lines = [entry.record.attacker] * (room == 3)
        lines += [f"{describe(e.record.metric).title} {e.record.value:.3f}" for e in own if e]
        column = _place(axis)[1]
        title = "" if above.get(column) == entry.attack_model else entry.attack_model
        above[column] = entry.attack_model
        write_above(axis, title, [(line, None) for line in lines], room)
    figure.supxlabel("score", fontsize=8.5)
    figure.supylabel("distributions (peak at 1) and D(s)", fontsize=8.5)
    patches = [
        Patch(color=PALE, alpha=0.65, lw=0, label="different speakers"),
        Patch(color=NEUTRAL, alpha=0.65, lw=0, label="same speaker, in the colour of the attack model"),
        Line2D([], [], color=INK, lw=1.1, label="local linkability D(s)"),
    ]
    legend(figure, patches)
    return figure


def det_curves(results: Results) -> Figure | None:
    """Misses over false alarms on normal-deviate axes; a curve crosses the diagonal at its EER."""
    entries = [entry for entry in results.select("eer_threshold") if entry.file("curves")]
    if not entries:
        return None
    from scipy.special import ndtri

    attacks = Attacks(entries)
    sets = dict.fromkeys(entry.record.set for entry in entries)
    systems = dict.fromkeys(e.record.system for e in entries if e.record.system != ORIGINAL) or {ORIGINAL: None}
    keys = [(name, system) for name in sets for system in systems]
    figure, cells = blocks({"": keys}, 4, height=2.1 if len(sets) == 1 else 2.35)
    for (_, (name, system)), axis in cells.items():
        for entry in entries:
            if entry.record.set == name and entry.record.system in (system, ORIGINAL):
                det = (read_side_file(entry, "curves") or {})["det"]
                with np.errstate(divide="ignore"):
                    x, y = ndtri(np.array(det["p_fa"])), ndtri(np.array(det["p_miss"]))
                axis.plot(np.clip(x, -8, 8), np.clip(y, -8, 8), lw=1.2, **attacks.style(entry.series))
        axis.set_aspect("equal")
        axis.axline((0, 0), slope=1, color=MUTED, lw=0.8, ls=(0, (1, 1.5)))
        words = [fold(system, _LETTERS)] * (len(systems) > 1) + set_title(name).split(", ") * (len(sets) > 1)
        axis.set_title("\n".join(words or [fold(system, _LETTERS)]), color=results.name_colour(system))
    ticks, names = ndtri(np.array(_DET_TICKS)), [f"{100 * tick:g}" for tick in _DET_TICKS]
    ends = ndtri(0.0008), ndtri(0.9)
    for axis in cells.values():
        axis.set(xlim=ends, ylim=ends)
        axis.set_xticks(ticks, names)
        axis.set_yticks(ticks, names)
    label_margins(cells.values())
    figure.supxlabel("false alarms (%)", fontsize=8.5)
    figure.supylabel("misses (%)", fontsize=8.5)
    legend(figure, attacks.handles())
    return figure


def attacker_training(results: Results) -> Figure | None:
    """The training curves of all attackers."""
    return training_curves(results.training)


def training_curves(training: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure | None:
    """A panel for every quantity of the logs, a line for every attacker; lines of training data are dotted.

    Many attackers are told apart by rows: one for each system that they were trained on, as ``<attacker>-<system>``.
    """
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
    split = {name: (name, "") if len(logs) <= len(PALETTE) else name.partition("-")[::2] for name in logs}
    attackers = list(dict.fromkeys(attacker for attacker, _ in split.values()))
    styles: dict[str, dict[str, Any]] = {
        name: {"color": PALETTE[place % len(PALETTE)], "marker": "os^Dv"[place // len(PALETTE) % 5], "ms": 3}
        for place, name in enumerate(sorted(attackers))
    }
    rows = dict.fromkeys(system for _, system in split.values())
    figure, cells = blocks({system: list(parts) for system in rows}, 3, height=2.3 if len(rows) == 1 else 1.3)
    for (system, quantity), axis in cells.items():
        for number, part in parts[quantity]:
            for name, epochs in logs.items():
                if split[name][1] == system:
                    found = [row for row in epochs if number in row]
                    points = [row["epoch"] for row in found], [row[number] for row in found]
                    axis.plot(*points, ls=_TRAINING_LINES[part], **styles[split[name][0]])
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
        if system == next(iter(rows)):
            axis.set_title(quantity.replace("_", " "))
    figure.supxlabel("epoch", fontsize=8.5)
    handles = [Line2D([], [], label=name, **styles[name]) for name in attackers]
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


def _share_scores(cells: Mapping[tuple[str, tuple[str, str]], Axes]) -> None:
    """One score axis per attacker, because cosines and log-likelihood ratios differ in size.

    Its ticks have labels below the last panel of a column with this attacker.
    """
    first: dict[str, Axes] = {}
    below: dict[int, str] = {}
    for (_, (_, attacker)), axis in reversed(list(cells.items())):
        if attacker in first:
            axis.sharex(first[attacker])
        first.setdefault(attacker, axis)
        axis.xaxis.set_major_locator(MaxNLocator(nbins=3))
        column = _place(axis)[1]
        axis.tick_params(labelbottom=below.get(column) != attacker, labelleft=column == 0)
        below[column] = attacker


def _place(axis: Axes) -> tuple[int, int]:
    """The row and the column of a panel."""
    spec = axis.get_subplotspec()
    return (spec.rowspan.start, spec.colspan.start) if spec else (0, 0)


def _row_name(entry: Entry, results: Results, entries: Sequence[Entry]) -> str:
    """What the row of panels of an entry is called: its set, its system, or both where there are several of both."""
    sets = {one.record.set for one in entries}
    words = set_title(entry.record.set) if len(sets) > 1 else ""
    return ", ".join(filter(None, [words, entry.record.system if len(results.anonymised) > 1 else ""]))


def _system_panels(
    results: Results, found: Collection[tuple[str, str]], height: float
) -> tuple[Figure, dict[tuple[str, str], Axes]]:
    """A panel for every set and system that were found; sets have rows of their own."""
    sets = list(dict.fromkeys(name for name, _ in found))
    titles = {name: set_title(name) if len(sets) > 1 else "" for name in sets}
    groups = {titles[name]: [system for system in results.systems if (name, system) in found] for name in sets}
    figure, cells = blocks(groups, _COLUMNS, height=height)
    return figure, {(name, system): cells[titles[name], system] for name, system in found}
