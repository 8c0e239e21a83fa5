"""Voice similarity matrices (supplement, 8-12) and ranks of the true speaker (similarity rank disclosure, 1-4)."""

from __future__ import annotations

from operator import attrgetter

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from vpeval.editions.headline import in_challenge_mode
from vpeval.figures.drawing import GRID, INK, MUTED, NEUTRAL, grid, legend
from vpeval.figures.run_results import Entry, Results, read_matrix, read_side_file
from vpeval.metrics.srd import beta_binomial, fit_beta_binomial, uniform_band
from vpeval.records.names import CONDITIONS, ORIGINAL, representation, set_title, trained_on

_COLOURS = LinearSegmentedColormap.from_list(
    "similarity", ["#f4f7fa", "#b9d3e6", "#5d9bc9", "#1f5f9b", "#0b2a55"]
).with_extremes(bad=NEUTRAL)
_TITLES = {"oo": "original – original", "oa": "original – anonymised", "aa": "anonymised – anonymised"}
_COLUMNS = 3


def similarity_matrices(results: Results) -> Figure | None:
    """Similarity of every pair of speakers, before, across and after anonymisation; a row per set and system."""
    entries = in_challenge_mode(results.select("g_vd"), attrgetter("record"))
    files = [(entry, read_side_file(entry, "matrices")) for entry in entries]
    rows = [(entry, content) for entry, content in files if content]
    if not rows:
        return None
    several = len({entry.record.system for entry, _ in rows}) > 1
    figure, axes = grid(len(rows), len(CONDITIONS), width=6.6, height=1.8)
    for (entry, content), row in zip(rows, axes, strict=True):
        for condition, axis in zip(CONDITIONS, row, strict=True):
            image = axis.imshow(np.ma.masked_invalid(read_matrix(content[condition])), cmap=_COLOURS, vmin=0, vmax=1)
            axis.set(xticks=[], yticks=[])
            axis.grid(False)
            for spine in axis.spines.values():
                spine.set_visible(False)
        words = [entry.record.system] * several + set_title(entry.record.set).split(", ")
        row[0].set_ylabel("\n".join(words))
    for condition, axis in zip(CONDITIONS, axes[0], strict=True):
        axis.set_title(_TITLES[condition])
    figure.colorbar(
        image, ax=[axis for row in axes for axis in row], shrink=0.5, aspect=30, pad=0.03, label="similarity"
    ).outline.set_visible(False)
    return figure


def rank_histograms(results: Results) -> Figure | None:
    """Histograms of the rank of the true speaker: a row per attacker, original speech and all systems side by side."""
    entries = [entry for entry in results.select("srd_max", estimator="empirical") if entry.file("ranks")]
    if not entries:
        return None
    rows = _rows(entries)
    columns = max(map(len, rows))
    several = len({entry.record.attacker for entry in entries}) > 1
    figure, axes = grid(len(rows), columns, height=2.4, sharey=True)
    for row, cells in zip(rows, axes, strict=True):
        for entry, axis in zip(row, cells, strict=False):
            _panel(axis, entry, results)
            title = results.title(entry.series)
            axis.set_title(f"{_representation_title(entry)}\n{title}" if several else title)
        for axis in cells[len(row) :]:
            axis.set_axis_off()
        cells[0].set_ylabel("inputs (%, square-root axis)")
    figure.supxlabel("rank of the true speaker", fontsize=8.5)
    handles = [
        Patch(color=NEUTRAL, label="observed"),
        Line2D([], [], color=INK, lw=1.2, label="beta-binomial fit"),
        Line2D([], [], color=MUTED, lw=1, ls=(0, (1, 1.5)), label="1/N: nothing disclosed"),
        Patch(color=GRID, label="floor: 95 % of uniform ranks"),
    ]
    legend(figure, handles)
    return figure


def _rows(entries: list[Entry]) -> list[list[Entry]]:
    """The entries of an attacker in one or several rows; attackers with the same representation are neighbours."""
    found: dict[tuple[str, str, str], list[Entry]] = {}
    for entry in entries:
        key = representation(entry.record), trained_on(entry.record), entry.record.attacker
        found.setdefault(key, []).append(entry)
    kinds = list(dict.fromkeys(key[0] for key in found))
    order = sorted(found, key=lambda key: (kinds.index(key[0]), key[1] != ORIGINAL))
    return [found[key][start : start + _COLUMNS] for key in order for start in range(0, len(found[key]), _COLUMNS)]


def _representation_title(entry: Entry) -> str:
    name, attacker = representation(entry.record), entry.record.attacker
    return name if name == attacker else f"{name} ({attacker})"


def _panel(axis: Axes, entry: Entry, results: Results) -> None:
    counts = np.array((read_side_file(entry, "ranks") or {})["ranks"], dtype=np.float64)
    n = len(counts)
    fit = beta_binomial(n, *fit_beta_binomial(counts[None]))[0]
    rank = np.arange(1, n + 1)
    axis.fill_between([0, n + 1], *uniform_band(round(counts.sum()), n), color=GRID, lw=0, zorder=0)
    axis.bar(rank, counts / counts.sum(), 0.85, color=results.colour(entry.series))
    axis.plot(rank, fit, color=INK, lw=1.2)
    axis.axhline(1 / n, color=MUTED, lw=1, ls=(0, (1, 1.5)))
    # With a square-root axis, bars start at 0 and the tail is visible next to a high first rank.
    axis.set_yscale("function", functions=(np.sqrt, np.square))
    axis.set_ylim(0, 1)
    axis.set_yticks([0, 0.01, 0.05, 0.1, 0.25, 0.5, 1], ["0", "1", "5", "10", "25", "50", "100"])
    axis.set_xticks(sorted({1, *range(10, n, 10), n}) if n >= 15 else rank)
    axis.set_xlim(0.2, n + 0.8)
    axis.grid(False, axis="x")
    lines = [_number(entry, "max."), f"rank 1: {100 * counts[0] / counts.sum():.1f} %"]
    for other in results.select("srd_mean", estimator="empirical"):
        if other.series == entry.series:
            lines.insert(1, _number(other, "mean"))
    axis.text(0.98, 0.97, "\n".join(lines), transform=axis.transAxes, ha="right", va="top")


def _number(entry: Entry, name: str) -> str:
    """A disclosure, with its value for uniform ranks."""
    floor = entry.record.notes.get("floor")
    return f"{name} {entry.record.value:.2f} bit" + (f" (floor {floor:.2f})" if floor is not None else "")
