"""Singling out and linkability over the number of speakers (legal framework, Figure 1) and of single speakers.

Speakers who are easy or hard to link, and whether they stay so, are from Speaker-Linkability.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import NullFormatter, NullLocator

from vpeval.figures.drawing import INK, LINES, MARKERS, MUTED, grid, legend
from vpeval.figures.run_results import Entry, Results, Series, length_order, length_title, speaker_values
from vpeval.measures.base import SpeakerValue
from vpeval.measures.speaker_overlap import Context, find_lists, overlap_records
from vpeval.metrics.jaccard import jaccard
from vpeval.records.metrics import describe
from vpeval.records.names import ORIGINAL

_ROWS = ("singling_out", "linkability", "one_minus_eer")
_CHANCE = (0, (1, 1.5))
_METRIC = "linkability"
_KINDS = {"easy": "easy to link", "hard": "hard to link"}
_EASY, _HARD = "#c8500a", "#0a6fb5"
_AXES = {"n_utts": "utterances L", "attacker": "attack models", "system": "systems"}


def legal_curves(results: Results) -> Figure | None:
    """A row per metric, a column per number L of utterances; bands are 95 % intervals, dotted lines chance."""
    entries = [entry for name in _ROWS for entry in results.strongest(results.select(name))]
    if not entries:
        return None
    rows = [name for name in _ROWS if any(entry.record.metric == name for entry in entries)]
    lengths = sorted({entry.record.params["L"] for entry in entries}, key=length_order)
    sizes = sorted({entry.record.params["N"] for entry in entries})
    figure, axes = grid(len(rows), len(lengths), height=2.0, sharex=True, sharey=True)
    for name, row in zip(rows, axes, strict=True):
        for length, axis in zip(lengths, row, strict=True):
            chosen = [e for e in entries if e.record.metric == name and e.record.params["L"] == length]
            _panel(results, axis, chosen, sizes)
        row[0].set_ylabel(describe(name).axis)
    for length, axis in zip(lengths, axes[0], strict=True):
        axis.set_title(length_title(length))
    figure.supxlabel("number of speakers N", fontsize=8.5)
    _legend(figure, results, entries)
    return figure


def side_information(results: Results) -> Figure | None:
    """The success of attackers over the number of candidate speakers, at the smallest L.

    Lines are the plain metrics over N. Hollow marks are attackers who know an attribute, at the largest N.
    """
    metrics = [name for name in ("singling_out", "linkability") if results.select(f"{name}_side")]
    if not metrics:
        return None
    figure, axes = grid(1, len(metrics), height=2.9, sharey=True)
    entries = [entry for name in metrics for entry in results.strongest(results.select(name))]
    length = min(e.record.params["L"] for e in results.select(*(f"{name}_side" for name in metrics)) if _is_number(e))
    for name, axis in zip(metrics, axes[0], strict=True):
        plain = [e for e in entries if e.record.metric == name and e.record.params["L"] == length]
        sizes = sorted({e.record.params["N"] for e in plain})
        _panel(results, axis, plain, sizes)
        shown = results.series(plain)
        for entry in results.select(f"{name}_side", L=length, N=sizes[-1]):
            record = entry.record
            if entry.series in shown:
                mark, colour = MARKERS.get(entry.attack_model, "o"), results.colour(entry.series)
                x = record.notes["candidates"]
                axis.plot(x, 100 * record.value, marker=mark, ms=7, mfc="none", mec=colour, mew=1.4, ls="")
                axis.axvline(x, color=MUTED, lw=0.6, ls=_CHANCE)
        kinds = {
            f"{e.record.params['side']}, {e.record.params['groups']} groups" for e in results.select(f"{name}_side")
        }
        axis.set_title(kinds.pop() if len(kinds) == 1 else f"{len(kinds)} kinds of side information")
        axis.set_ylabel(describe(name).axis)
    figure.supxlabel(
        f"speakers to choose among (N, or those of them who share the attribute), L = {length}", fontsize=8.5
    )
    _legend(figure, results, entries)
    return figure


def _is_number(entry: Entry) -> bool:
    return isinstance(entry.record.params["L"], int)


def _legend(figure: Figure, results: Results, entries: Sequence[Entry]) -> None:
    """A line per series, and chance."""
    lines = [
        Line2D(
            [],
            [],
            color=results.colour(s),
            ls=LINES.get(s.attack_model, "-"),
            marker=MARKERS.get(s.attack_model, "o"),
            label=results.title(s),
        )
        for s in results.series(entries)
    ]
    lines.append(Line2D([], [], color=MUTED, ls=_CHANCE, lw=1.2, label="chance"))
    legend(figure, lines)


def _panel(results: Results, axis: Axes, entries: Sequence[Entry], sizes: Sequence[int]) -> None:
    axis.set_ylim(-3, 103)
    axis.set_yticks([0, 25, 50, 75, 100])
    if sizes[-1] / sizes[0] > 10:
        axis.set_xscale("log")
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_minor_formatter(NullFormatter())
    ticks = sizes if len(sizes) <= 5 else [sizes[0], sizes[len(sizes) // 2], sizes[-1]]
    axis.set_xticks(ticks, [f"{size:,}".replace(",", " ") for size in ticks])
    if not entries:
        axis.text(0.5, 0.5, "not measured", transform=axis.transAxes, ha="center", color=MUTED)
        return
    for series in results.series(entries):
        curve = sorted((e.record for e in entries if e.series == series), key=lambda record: record.params["N"])
        n = [record.params["N"] for record in curve]
        colour = results.colour(series)
        axis.plot(
            n,
            [100 * record.value for record in curve],
            color=colour,
            ls=LINES.get(series.attack_model, "-"),
            marker=MARKERS.get(series.attack_model, "o"),
        )
        if all(record.lower is not None and record.upper is not None for record in curve):
            lower, upper = [100 * (r.lower or 0) for r in curve], [100 * (r.upper or 0) for r in curve]
            axis.fill_between(n, lower, upper, color=colour, alpha=0.12, lw=0)
    chance = sorted({(e.record.params["N"], e.record.notes["chance"]) for e in entries if "chance" in e.record.notes})
    axis.plot([n for n, _ in chance], [100 * p for _, p in chance], color=MUTED, ls=_CHANCE, lw=1.2)


def linkability_distributions(results: Results) -> Figure | None:
    """Distribution over speakers of the probability to be linked, by attack model (rows) and utterances L (columns)."""
    entries = results.strongest(results.select(_METRIC))
    values = speaker_values(entries, _METRIC)
    if not values:
        return None
    series = results.series(entries)
    lengths = sorted({value.L for _, value in values}, key=length_order)
    n = min(value.N for _, value in values)
    figure, axes = grid(len(series), len(lengths), height=1.5, sharex=True, sharey=True)
    axes[0][0].set_ylim(0, 100)  # shared by all panels
    panel_values: dict[tuple[Series, str], list[float]] = {}
    for entry, value in values:
        if n == value.N:
            panel_values.setdefault((entry.series, value.L), []).append(value.value)
    edges = np.linspace(0, 1, 11)
    for each, row in zip(series, axes, strict=True):
        for length, axis in zip(lengths, row, strict=True):
            scores = np.array(panel_values.get((each, length), []))
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
        axis.set_title(length_title(length))
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
    lists = find_lists(values, _METRIC)
    extremes, sizes = lists.extremes, lists.speakers
    contexts = sorted(extremes, key=lambda c: (c.system != ORIGINAL, c.system, c.attacker, length_order(c.n_utts)))
    if len(contexts) < 2:
        return None
    several = len({context.system for context in contexts} - {ORIGINAL}) > 1
    names = [_context_title(context, several) for context in contexts]
    label_height = 0.075 * max(map(len, names))
    figure, axes = grid(1, 2, width=7.4, height=(7.2 - label_height) / 2 + label_height)
    for axis, (kind, colour) in zip(axes[0], (("easy", _EASY), ("hard", _HARD)), strict=True):
        lists = [getattr(extremes[context], kind) for context in contexts]
        cells = [[jaccard(a, b, max(sizes.values())).value for b in lists] for a in lists]
        _heat(axis, np.array(cells), colour)
        axis.set_xticks(range(len(names)), names, rotation=90)
        axis.set_yticks(range(len(names)), names if kind == "easy" else [])
        axis.set_title(f"{_KINDS[kind]} ({_list_sizes(lists)} of {max(sizes.values())})")
    return figure


def mean_jaccard(results: Results) -> Figure | None:
    """Mean overlap of contexts that differ in one circumstance only, with the overlap of random lists."""
    values = _values(results)
    if not values:
        return None
    records = [r for r in overlap_records(find_lists(values, _METRIC)) if "_mean" in r.metric]
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


def _values(results: Results) -> list[tuple[Context, SpeakerValue]]:
    """The values of every speaker with their contexts."""
    return [
        (Context(entry.record.system, results.attack(entry.series), value.L), value)
        for entry, value in speaker_values(results.strongest(results.select(_METRIC)), _METRIC)
    ]


def _context_title(context: Context, several: bool) -> str:
    words = [context.system] if context.system == ORIGINAL else [context.system] * several + [context.attacker]
    return f"{', '.join(words)}, L={context.n_utts}"


def _list_sizes(lists: Sequence[frozenset[str]]) -> str:
    least, most = min(map(len, lists)), max(map(len, lists))
    return str(least) if least == most else f"{least}–{most}"


def _heat(axis: Axes, cells: np.ndarray, colour: str) -> None:
    """Cells from 0 to 1, each with its number if there are not too many."""
    axis.imshow(cells, cmap=LinearSegmentedColormap.from_list("overlap", ["#f4f7fa", colour]), vmin=0, vmax=1)
    axis.grid(False)
    axis.tick_params(length=0)
    for spine in axis.spines.values():
        spine.set_visible(False)
    if len(cells) <= 12:
        for (row, column), value in np.ndenumerate(cells):
            ink = "#fefefe" if value > 0.6 else "#101419"  # on the cell, whatever the colour of the page
            axis.text(column, row, f"{100 * value:.0f}", ha="center", va="center", fontsize=7, color=ink)
