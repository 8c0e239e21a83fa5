"""Linkability of single speakers (Speaker-Linkability): distributions, and who stays easy or hard to link.

Lists of easy and hard speakers hold a quarter of the speakers each. At the number of speakers N of a figure, most lists
are not mostly ties; the others are left out, and the figure says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from vpeval.core.arrays import Floats
from vpeval.figures.attacks import Attacks, model_title
from vpeval.figures.drawing import INK, MUTED, PAGE, PALE, grid, legend, model_rank, note
from vpeval.figures.legal_charts import name_systems, panel_grid, panel_height, shown_utts
from vpeval.figures.run_results import Results, Series, length_order, length_title, speaker_values
from vpeval.figures.system_axis import short_names
from vpeval.measures.base import SpeakerValue
from vpeval.measures.speaker_overlap import Context, Lists, Pair, find_lists, overlap_records, pairs
from vpeval.metrics.jaccard import KINDS
from vpeval.records.names import ORIGINAL

_METRIC = "linkability"
_COLOURS = {"easy": "#c8500a", "hard": "#0a6fb5"}
_AXES = {"n_utts": "utterances L", "attacker": "attackers", "system": "systems"}
_BINS = np.linspace(0, 1, 11)
_TRIANGLES = (("easy", "above"), ("hard", "below"))
_EMPTY = "#f4f7fa"
_CELL, _READABLE = 0.27, 0.21  # inches of a cell, and of one that holds a number
_LETTER, _TITLE, _MARGIN = 0.068, 0.5, 0.15  # inches of a letter, above a matrix, and beside it


def linkability_distributions(results: Results) -> Figure | None:
    """Share of the speakers who are linked with at most some probability: a row per system, a column per L."""
    entries = results.select(_METRIC)
    values, lengths = speaker_values(entries, _METRIC), [str(length) for length in shown_utts(results, entries)]
    if not values or not lengths:
        return None
    n = _spread([value for _, value in values])
    scores: dict[tuple[Series, str], list[float]] = defaultdict(list)
    for entry, value in values:
        if (value.N, value.L in lengths) == (n, True):
            scores[entry.series, value.L].append(value.value)
    of = [entry for entry in entries if any(entry.series == series for series, _ in scores)]
    systems = [name for name in results.anonymised if any(series.system == name for series, _ in scores)] or [ORIGINAL]
    panels: dict[tuple[str, str], list[Series]] = {}
    for series in results.series(of):
        for system in systems if series.system == ORIGINAL else [series.system]:
            for length in lengths:
                if (series, length) in scores:
                    panels.setdefault((system, length), []).append(series)
    lengths = [length for length in lengths if any(own == length for _, own in panels)]
    figure, cells = panel_grid(
        systems, lengths, panels, 1.2 * panel_height(len(systems)), "probability of being linked"
    )
    attacks = Attacks(of, both_names=True)
    for key, axis in cells.items():
        for quarter in (25, 75):
            axis.axhline(quarter, color=PALE, lw=0.7, zorder=1)
        for series in panels[key]:
            found = np.sort(scores[series, key[1]])
            share = 100 * np.arange(len(found) + 1) / len(found)
            axis.step([0, *found, 1], [*share, 100], where="post", lw=1.3, **attacks.style(series))
        axis.axvline(1 / n, color=MUTED, lw=1.2, ls=(0, (1, 1.5)))
        axis.set(xlim=(-0.03, 1.03), xticks=[0, 0.5, 1], ylim=(-4, 104), yticks=[0, 50, 100])
        if key[0] == systems[0]:
            axis.set_title(length_title(key[1]))
    name_systems(results, cells, {system: system for system in systems})
    if len(systems) == 1:
        cells[systems[0], lengths[0]].set_ylabel("speakers, %")
    legend(figure, [*attacks.handles(), Line2D([], [], color=MUTED, lw=1.2, ls=(0, (1, 1.5)), label="chance, 1/N")])
    words = (
        f"Speakers (%) who are linked among N = {n} with at most the probability on the x axis. Of all numbers N that "
        "were measured, speakers differ most at this one. Below the lower thin line is the hardest quarter of the "
        "speakers, above the upper one the easiest."
    )
    note(figure, [words])
    return figure


def _spread(values: Sequence[SpeakerValue]) -> int:
    """The number of speakers N at which the values of speakers spread most: by the entropy of tenths, mean over L."""
    groups: dict[int, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for value in values:
        groups[value.N][value.L].append(value.value)

    def entropy(n: int) -> float:
        shares = [np.histogram(group, _BINS)[0] / len(group) for group in groups[n].values()]
        return float(np.mean([-(share[share > 0] * np.log(share[share > 0])).sum() for share in shares]))

    return max(sorted(groups), key=entropy)


@dataclass(frozen=True)
class _Matrix:
    """Mean overlaps between the values of a circumstance: easy speakers above the diagonal, hard ones below it."""

    title: str
    names: Sequence[str]
    cells: Floats
    left: float
    """The width of the names, in inches."""

    @classmethod
    def of(cls, results: Results, across: str, found: Iterable[Pair]) -> _Matrix | None:
        """The matrix of the pairs across a circumstance; None without any."""
        overlaps: dict[tuple[str, tuple[str, str], tuple[str, str]], list[float]] = defaultdict(list)
        for pair in found:
            if pair.across == across:
                a, b = sorted(
                    (_key(pair.a, across), _key(pair.b, across)), key=lambda key: _place(results, across, key)
                )
                overlaps[pair.kind, a, b].append(pair.overlap.value)
        keys = sorted({key for _, *both in overlaps for key in both}, key=lambda key: _place(results, across, key))
        if not keys:
            return None
        cells = np.full((len(keys), len(keys)), np.nan)
        for (kind, a, b), values in overlaps.items():
            place = keys.index(a), keys.index(b)
            cells[place if kind == "easy" else place[::-1]] = fmean(values)
        short = short_names([system for system, _ in keys])
        called = {"system": lambda key: short[key[0]], "n_utts": lambda key: length_title(key[0]), "attacker": _attack}
        names = [called[across](key) for key in keys]
        return cls(f"across {_AXES[across]}", names, cells, _LETTER * max(map(len, names)) + 0.45)

    @property
    def right(self) -> float:
        """The width of the cells or of the title, in inches."""
        return max(_CELL * len(self.names), 1.2 * _LETTER * len(self.title))

    def cell(self, width: float) -> float:
        """The width of a cell in a figure of some width, in inches."""
        return min(_CELL, (width - self.left - _MARGIN) / len(self.names))

    def draw(self, axis: Axes, cell: float) -> None:
        """Cells from 0 to 1 with their percentages where these fit."""
        shape = (len(self.names),) * 2
        for kind, upper in (("easy", True), ("hard", False)):
            mask = np.tril(np.ones(shape, bool)) if upper else np.triu(np.ones(shape, bool))
            colours = LinearSegmentedColormap.from_list(kind, [_EMPTY, _COLOURS[kind]])
            axis.imshow(np.ma.array(self.cells, mask=mask | np.isnan(self.cells)), cmap=colours, vmin=0, vmax=1)
        numbers = [str(place) for place in range(1, len(self.names) + 1)]
        axis.set_xticks(range(len(numbers)), numbers)
        axis.set_yticks(range(len(numbers)), [f"{name}  {n}" for name, n in zip(self.names, numbers, strict=True)])
        axis.tick_params(length=0, top=True, labeltop=True, bottom=False, labelbottom=False, pad=2)
        axis.grid(False)
        for spine in axis.spines.values():
            spine.set_visible(False)
        axis.set_title(self.title, loc="left", pad=16)
        if cell >= _READABLE:
            for (row, column), value in np.ndenumerate(self.cells):
                ink = "#fefefe" if value > 0.6 else "#101419"  # on the cell, whatever the colour of the page
                text = "" if np.isnan(value) else f"{100 * value:.0f}"
                axis.text(column, row, text, ha="center", va="center", fontsize=7, color=ink)


def jaccard_matrices(results: Results) -> Figure | None:
    """Overlap of lists between the values of one circumstance, mean over the contexts that agree in all others."""
    lists = _lists(results)
    found = list(pairs(lists)) if lists else []
    matrices = [matrix for axis in _AXES if (matrix := _Matrix.of(results, axis, found))]
    if not lists or not matrices:
        return None
    common = max(matrix.left for matrix in matrices)
    if common + _CELL * max(len(matrix.names) for matrix in matrices) + _MARGIN <= PAGE:
        matrices = [replace(matrix, left=common) for matrix in matrices]
    width = min(PAGE, max(4.5, *(matrix.left + matrix.right + _MARGIN for matrix in matrices)))
    heights = [matrix.cell(width) * len(matrix.names) for matrix in matrices]
    figure = Figure(figsize=(width, sum(heights) + len(matrices) * _TITLE + 0.5))
    FigureCanvasAgg(figure)
    note(figure, [_words_on_lists(lists), _words_on_chance([pair.overlap.chance for pair in found])])
    total, top = figure.get_figheight(), 0.3
    for matrix, height in zip(matrices, heights, strict=True):
        top += _TITLE + height
        box = (matrix.left / width, 1 - top / total, height / width, height / total)
        matrix.draw(figure.add_axes(box), matrix.cell(width))
    drawn = {pair.kind for pair in found}
    handles = [
        Patch(color=_COLOURS[kind], label=f"{kind} to link, {place} the diagonal")
        for kind, place in _TRIANGLES
        if kind in drawn
    ]
    figure.legend(handles=handles, loc="upper center", ncols=2)
    return figure


def mean_jaccard(results: Results) -> Figure | None:
    """Mean overlap of contexts that differ in one circumstance only, with the overlap of random lists."""
    lists = _lists(results)
    records = [record for record in overlap_records(lists) if record.metric.endswith("_mean")] if lists else []
    across = [name for name in _AXES if any(record.params["across"] == name for record in records)]
    if not lists or not across:
        return None
    figure, axes = grid(1, 1, width=5.2, height=2.4)
    axis = axes[0][0]
    counts: dict[str, int] = defaultdict(int)
    for record in records:
        kind, place = record.metric.split("_")[1], across.index(record.params["across"])
        counts[record.params["across"]] += record.counts["pairs"]
        x = place + (-0.2 if kind == "easy" else 0.2)
        axis.bar(x, record.value, 0.36, color=_COLOURS[kind])
        axis.plot([x - 0.18, x + 0.18], [record.notes["chance"]] * 2, color=INK, lw=1.3)
        label = f"{record.value:.2f}"
        high = max(record.value, record.notes["chance"])
        axis.annotate(label, (x, high), (0, 3), textcoords="offset points", ha="center", fontsize=7.5)
    axis.set_xticks(range(len(across)), [f"across {_AXES[name]}\n{counts[name]} pairs of lists" for name in across])
    axis.set_xlim(-0.6, len(across) - 0.4)
    axis.set_ylim(0, 1.12)
    axis.set_ylabel("mean Jaccard overlap")
    axis.grid(False, axis="x")
    drawn = [kind for kind in KINDS if any(kind in record.metric for record in records)]
    handles = [Patch(color=_COLOURS[kind], label=f"{kind} to link") for kind in drawn]
    legend(figure, [*handles, Line2D([], [], color=INK, lw=1.3, label="random lists")])
    note(figure, [_words_on_lists(lists)])
    return figure


def _lists(results: Results) -> Lists | None:
    """Who is easy and hard to link for every system, attacker and L."""
    values = [
        (Context(entry.record.system, entry.record.attacker, value.L, entry.attack_model), value)
        for entry, value in speaker_values(results.select(_METRIC), _METRIC)
    ]
    return find_lists(values, _METRIC) if values else None


def _words_on_lists(lists: Lists) -> str:
    """The number of speakers, and how many lists are left out."""
    every = len(lists.extremes)
    omitted = {kind: every - len(lists.usable(kind)) for kind in KINDS}
    words = " and ".join(f"{count} of {every} lists of {kind} speakers" for kind, count in omitted.items() if count)
    found = f"A list holds a quarter of the speakers, by linkability among N = {lists.n}."
    return f"{found} Left out because they are mostly ties: {words}." if words else found


def _words_on_chance(levels: Sequence[float]) -> str:
    return f"Numbers are percentages; random lists overlap by {100 * fmean(levels):.0f} %."


def _key(context: Context, across: str) -> tuple[str, str]:
    """The value of a circumstance."""
    return {
        "system": (context.system, ""),
        "n_utts": (context.n_utts, ""),
        "attacker": (context.attack_model, context.attacker),
    }[across]


def _place(results: Results, across: str, key: tuple[str, str]) -> tuple[Any, ...]:
    """The place of a value of a circumstance."""
    if across == "system":
        return (results.systems.index(key[0]),)
    return length_order(key[0]) if across == "n_utts" else (model_rank(key[0]), key)


def _attack(key: tuple[str, str]) -> str:
    return f"{model_title(key[0])}, {key[1]}"
