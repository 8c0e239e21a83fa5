"""Speakers who are easy or hard to link, and whether they stay so (Speaker-Linkability)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from vpeval.figures.data import Results, Series, speaker_values
from vpeval.figures.style import INK, MUTED, grid, legend
from vpeval.metrics.jaccard import jaccard
from vpeval.protocols.speaker_overlap import Context, find_extremes, overlap_records
from vpeval.protocols.speaker_values import SpeakerValue
from vpeval.records.names import ORIGINAL

_METRIC = "linkability"
_QUANTILE = 0.1
_KINDS = {"easy": "easy to link", "hard": "hard to link"}
_EASY, _HARD = "#c8500a", "#0a6fb5"
_AXES = {"n_utts": "utterances L", "attacker": "attack models", "system": "systems"}


def linkability_distributions(results: Results) -> Figure | None:
    """Distribution over speakers of the probability to be linked, by attack model (row) and utterances L (column)."""
    entries = results.strongest(results.of(_METRIC))
    values = speaker_values(entries, _METRIC)
    if not values:
        return None
    series = results.series(entries)
    lengths = sorted({value.L for _, value in values}, key=_by_length)
    n = min(value.N for _, value in values)
    figure, axes = grid(len(series), len(lengths), height=1.5, sharex=True, sharey=True)
    axes[0][0].set_ylim(0, 100)  # of all: they share it
    of_panel: dict[tuple[Series, str], list[float]] = {}
    for entry, value in values:
        if n == value.N:
            of_panel.setdefault((entry.series, value.L), []).append(value.value)
    edges = np.linspace(0, 1, 11)
    for each, row in zip(series, axes, strict=True):
        for length, axis in zip(lengths, row, strict=True):
            scores = np.array(of_panel.get((each, length), []))
            axis.grid(False, axis="x")
            if not len(scores):
                axis.text(0.5, 0.5, "not measured", transform=axis.transAxes, ha="center", color=MUTED)
                continue
            share = np.histogram(scores, edges)[0] / len(scores)
            axis.bar(edges[:-1] + 0.05, 100 * share, 0.09, color=results.colour(each))
            axis.axvline(1 / n, color=MUTED, lw=1, ls=(0, (1, 1.5)))
            axis.axvline(scores.mean(), color=INK, lw=1)
        row[0].set_ylabel(results.title(each).replace(", ", "\n"), fontsize=8)
    for length, axis in zip(lengths, axes[0], strict=True):
        axis.set_title("all utterances" if length == "all" else f"L = {length}")
    figure.supxlabel(f"probability of being linked among {n} speakers", fontsize=8.5)
    figure.supylabel("speakers (%)", fontsize=8.5)
    handles = [
        Line2D([], [], color=INK, lw=1, label="mean"),
        Line2D([], [], color=MUTED, lw=1, ls=(0, (1, 1.5)), label="chance"),
    ]
    legend(figure, handles)
    return figure


def jaccard_heatmap(results: Results) -> Figure | None:
    """Overlap of the lists of easy and of hard speakers between all pairs of contexts."""
    values = _values(results)
    if not values:
        return None
    extremes, sizes = find_extremes(values, _METRIC, None, _QUANTILE)
    contexts = sorted(extremes, key=lambda c: (c.system != ORIGINAL, c.system, c.attacker, _by_length(c.n_utts)))
    if len(contexts) < 2:
        return None
    several = len({context.system for context in contexts} - {ORIGINAL}) > 1
    names = [_context_title(context, several) for context in contexts]
    room = 0.075 * max(map(len, names))
    figure, axes = grid(1, 2, width=7.4, height=(7.2 - room) / 2 + room)
    for axis, (kind, colour) in zip(axes[0], (("easy", _EASY), ("hard", _HARD)), strict=True):
        lists = [getattr(extremes[context], kind) for context in contexts]
        cells = [[jaccard(a, b, max(sizes.values())).value for b in lists] for a in lists]
        _heat(axis, np.array(cells), colour)
        axis.set_xticks(range(len(names)), names, rotation=90)
        axis.set_yticks(range(len(names)), names if kind == "easy" else [])
        axis.set_title(f"{_KINDS[kind]} ({_list_sizes(lists)} of {max(sizes.values())})")
    return figure


def mean_jaccard(results: Results) -> Figure | None:
    """Mean overlap across contexts that differ in one circumstance only, beside what random lists would give."""
    values = _values(results)
    if not values:
        return None
    records = [r for r in overlap_records(*find_extremes(values, _METRIC, None, _QUANTILE)) if "_mean" in r.metric]
    axes_names = [name for name in _AXES if any(record.params["across"] == name for record in records)]
    if not axes_names:
        return None
    figure, axes = grid(1, 1, width=5.2, height=2.6)
    axis = axes[0][0]
    for record in records:
        kind = record.metric.removeprefix("jaccard_").removesuffix("_mean")
        x = axes_names.index(record.params["across"]) + (-0.2 if kind == "easy" else 0.2)
        axis.bar(x, record.value, 0.36, color=_EASY if kind == "easy" else _HARD)
        axis.plot([x - 0.18, x + 0.18], [record.notes["chance"]] * 2, color=INK, lw=1.3)
        axis.annotate(
            f"{record.value:.2f}", (x, record.value), (0, 3), textcoords="offset points", ha="center", fontsize=7.5
        )
    axis.set_xticks(range(len(axes_names)), [f"across\n{_AXES[name]}" for name in axes_names])
    axis.set_xlim(-0.6, len(axes_names) - 0.4)
    axis.set_ylim(0, 1.08)
    axis.set_ylabel("mean Jaccard overlap")
    axis.grid(False, axis="x")
    handles = [
        Patch(color=_EASY, label=_KINDS["easy"]),
        Patch(color=_HARD, label=_KINDS["hard"]),
        Line2D([], [], color=INK, lw=1.3, label="random lists"),
    ]
    legend(figure, handles)
    return figure


def _values(results: Results) -> list[tuple[str, str, SpeakerValue]]:
    """(system, attack, value) of every speaker."""
    return [
        (entry.record.system, results.attack(entry.series), value)
        for entry, value in speaker_values(results.strongest(results.of(_METRIC)), _METRIC)
    ]


def _context_title(context: Context, several: bool) -> str:
    words = [context.system] if context.system == ORIGINAL else [context.system] * several + [context.attacker]
    return f"{', '.join(words)}, L={context.n_utts}"


def _by_length(length: str) -> tuple[bool, int]:
    return (False, int(length)) if length.isdigit() else (True, 0)


def _list_sizes(lists: Sequence[frozenset[str]]) -> str:
    least, most = min(map(len, lists)), max(map(len, lists))
    return str(least) if least == most else f"{least}–{most}"


def _heat(axis: Axes, cells: np.ndarray, colour: str) -> None:
    """Cells from 0 to 1, each with its number where there is room."""
    axis.imshow(cells, cmap=LinearSegmentedColormap.from_list("overlap", ["#f4f7fa", colour]), vmin=0, vmax=1)
    axis.grid(False)
    axis.tick_params(length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    if len(cells) <= 12:
        for (row, column), value in np.ndenumerate(cells):
            ink = "#fefefe" if value > 0.6 else "#101419"  # on the cell, whatever the colour of the page
            axis.text(column, row, f"{100 * value:.0f}", ha="center", va="center", fontsize=7, color=ink)
