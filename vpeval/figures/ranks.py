"""Rank histograms of the true speaker with their beta-binomial fit (similarity rank disclosure, Figures 1-4)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from vpeval.figures.data import Results, read_side_file
from vpeval.figures.style import INK, MUTED, NEUTRAL, grid, legend
from vpeval.metrics.betabinomial import beta_binomial, fit_beta_binomial


def rank_histograms(results: Results) -> Figure | None:
    """How often the true speaker has which rank, for the original data and every system; 1/N is no disclosure."""
    entries = [entry for entry in results.of("srd_max", estimator="empirical") if entry.file("ranks")]
    if not entries:
        return None
    rates = {entry.series: entry.record.value for entry in results.of("srd_idr", estimator="empirical")}
    columns = min(len(entries), 3)
    figure, axes = grid(-(-len(entries) // columns), columns, height=2.6, sharey=True)
    cells = [axis for row in axes for axis in row]
    for entry, axis in zip(entries, cells, strict=False):
        counts = np.array((read_side_file(entry, "ranks") or {})["ranks"], dtype=np.float64)
        n = len(counts)
        fit = beta_binomial(n, *fit_beta_binomial(counts[None]))[0]
        rank = np.arange(1, n + 1)
        axis.bar(rank, counts / counts.sum(), 0.85, color=results.colour(entry.series))
        axis.plot(rank, fit, color=INK, lw=1.2)
        axis.axhline(1 / n, color=MUTED, lw=1, ls=(0, (1, 1.5)))
        # The square root keeps bars rooted at 0 and still shows the tail beside a high first rank.
        axis.set_yscale("function", functions=(np.sqrt, np.square))
        axis.set_ylim(0, 1)
        axis.set_yticks([0, 0.01, 0.05, 0.1, 0.25, 0.5, 1], ["0", "1", "5", "10", "25", "50", "100"])
        axis.set_xticks(sorted({1, *range(10, n, 10), n}) if n >= 15 else rank)
        axis.set_xlim(0.2, n + 0.8)
        axis.grid(False, axis="x")
        axis.set_title(results.title(entry.series))
        bits = f"max. {entry.record.value:.2f} bit"
        found = f"rank 1: {100 * rates[entry.series]:.1f} %" if entry.series in rates else ""
        axis.text(0.98, 0.97, f"{bits}\n{found}", transform=axis.transAxes, ha="right", va="top")
    for axis in cells[len(entries) :]:
        axis.set_axis_off()
    for row in axes:
        row[0].set_ylabel("inputs (%, square-root axis)")
    figure.supxlabel("rank of the true speaker", fontsize=8.5)
    handles = [
        Patch(color=NEUTRAL, label="observed"),
        Line2D([], [], color=INK, lw=1.2, label="beta-binomial fit"),
        Line2D([], [], color=MUTED, lw=1, ls=(0, (1, 1.5)), label="1/N: nothing disclosed"),
    ]
    legend(figure, handles)
    return figure
