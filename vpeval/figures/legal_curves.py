"""Singling out, linkability and 1-EER over the number of speakers (legal framework, Figure 1)."""

from __future__ import annotations

from collections.abc import Sequence

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, NullLocator

from vpeval.figures.data import Entry, Results
from vpeval.figures.style import LINES, MARKERS, MUTED, grid, legend
from vpeval.records.metrics import describe

_ROWS = ("singling_out", "linkability", "one_minus_eer")
_CHANCE = (0, (1, 1.5))


def legal_curves(results: Results) -> Figure | None:
    """A row per metric, a column per number L of utterances; bands are 95 % intervals, dotted lines chance."""
    entries = [entry for name in _ROWS for entry in results.strongest(results.of(name))]
    if not entries:
        return None
    rows = [name for name in _ROWS if any(entry.record.metric == name for entry in entries)]
    lengths = sorted({entry.record.params["L"] for entry in entries}, key=lambda n: (isinstance(n, str), n))
    sizes = sorted({entry.record.params["N"] for entry in entries})
    figure, axes = grid(len(rows), len(lengths), height=2.0, sharex=True, sharey=True)
    for name, row in zip(rows, axes, strict=True):
        for length, axis in zip(lengths, row, strict=True):
            chosen = [e for e in entries if e.record.metric == name and e.record.params["L"] == length]
            _panel(results, axis, chosen, sizes)
        row[0].set_ylabel(describe(name).axis)
    for length, axis in zip(lengths, axes[0], strict=True):
        axis.set_title("all utterances" if length == "all" else f"L = {length}")
    figure.supxlabel("number of speakers N", fontsize=8.5)
    _legend(figure, results, entries)
    return figure


def side_information(results: Results) -> Figure | None:
    """The success of attackers over the number of speakers among whom they have to choose, at the smallest L.

    Lines are the plain metrics over N; hollow marks are attackers who know an attribute, of the largest N.
    """
    metrics = [name for name in ("singling_out", "linkability") if results.of(f"{name}_side")]
    if not metrics:
        return None
    figure, axes = grid(1, len(metrics), height=2.9, sharey=True)
    entries = [entry for name in metrics for entry in results.strongest(results.of(name))]
    length = min(e.record.params["L"] for e in results.of(*(f"{name}_side" for name in metrics)) if _is_number(e))
    for name, axis in zip(metrics, axes[0], strict=True):
        plain = [e for e in entries if e.record.metric == name and e.record.params["L"] == length]
        sizes = sorted({e.record.params["N"] for e in plain})
        _panel(results, axis, plain, sizes)
        shown = results.series(plain)
        for entry in results.of(f"{name}_side", L=length, N=sizes[-1]):
            record = entry.record
            if entry.series in shown:
                mark, colour = MARKERS.get(entry.model, "o"), results.colour(entry.series)
                x = record.notes["candidates"]
                axis.plot(x, 100 * record.value, marker=mark, ms=7, mfc="none", mec=colour, mew=1.4, ls="")
                axis.axvline(x, color=MUTED, lw=0.6, ls=_CHANCE)
        told = {f"{e.record.params['side']}, {e.record.params['groups']} groups" for e in results.of(f"{name}_side")}
        axis.set_title(", ".join(sorted(told)) if len(told) == 1 else f"{len(told)} kinds of side information")
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
            ls=LINES.get(s[1], "-"),
            marker=MARKERS.get(s[1], "o"),
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
            ls=LINES.get(series[1], "-"),
            marker=MARKERS.get(series[1], "o"),
        )
        if all(record.lower is not None and record.upper is not None for record in curve):
            lower, upper = [100 * (r.lower or 0) for r in curve], [100 * (r.upper or 0) for r in curve]
            axis.fill_between(n, lower, upper, color=colour, alpha=0.12, lw=0)
    chance = sorted({(e.record.params["N"], e.record.notes["chance"]) for e in entries if "chance" in e.record.notes})
    axis.plot([n for n, _ in chance], [100 * p for _, p in chance], color=MUTED, ls=_CHANCE, lw=1.2)
