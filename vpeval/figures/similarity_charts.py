"""Voice similarity matrices (supplement, 8-12) and ranks of the true speaker (similarity rank disclosure, 1-4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.image import AxesImage
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import MaxNLocator

from vpeval.core.arrays import Floats
from vpeval.editions.headline import in_challenge_mode
from vpeval.figures.drawing import (
    GRID,
    INK,
    LINE_STEP,
    MUTED,
    NEUTRAL,
    PAGE,
    PALETTE,
    PAPER,
    blocks,
    fold,
    grid,
    label_margins,
    legend,
    write_above,
)
from vpeval.figures.run_results import Entry, Results, read_matrix, read_side_file
from vpeval.metrics.srd import beta_binomial, fit_beta_binomial, uniform_band
from vpeval.records.names import CONDITIONS, ORIGINAL, TRAINED, representation, set_title, trained_on

_COLOURS = LinearSegmentedColormap.from_list(
    "similarity", ["#f4f7fa", "#b9d3e6", "#5d9bc9", "#1f5f9b", "#0b2a55"]
).with_extremes(bad=NEUTRAL)
_COLUMNS = 5
_LETTERS = 12  # of titles in a line above one of five panels
_REPRESENTATIONS = (PALETTE[0], PALETTE[6], *PALETTE[1:6], PALETTE[7])
"""Colours of representations: the first two are green and blue, as in the paper."""
_SAMPLE = {"lw": 5, "alpha": 0.6, "solid_capstyle": "butt"}
Cell = tuple[str, str, str]
"""The encoder, the set and the system of a matrix."""


def similarity_matrices(results: Results) -> Figure | None:
    """The global matrix of every system by the main encoder; of one system that of every set."""
    entries = in_challenge_mode(results.select("g_vd"), attrgetter("record"))
    return _matrix_panels(results, {("", e.record.set, e.record.system): e for e in entries if e.file("matrices")})


def similarity_encoders(results: Results) -> Figure | None:
    """The same by all encoders: matrices of those trained on anonymised speech below those of the others."""
    entries = [entry for entry in results.select("g_vd") if entry.file("matrices")]
    found: dict[Cell, Entry] = {}
    for entry in sorted(entries, key=lambda entry: TRAINED.index(trained_on(entry.record))):
        record = entry.record
        cell = f"{record.attacker}, trained on {trained_on(record)}", record.set, record.system
        if cell not in found or record.params.get("mode") == "vpc":
            found[cell] = entry
    return _matrix_panels(results, found) if len({encoder for encoder, _, _ in found}) > 1 else None


def global_matrix(entry: Entry) -> Floats:
    """Equation 5 of the supplement: original voices, then anonymised ones, in rows and in columns.

    By the challenge's estimator M_oa is symmetric, as the equation has it; by the other one, below is its transpose.
    """
    content = read_side_file(entry, "matrices") or {}
    oo, oa, aa = (read_matrix(content[condition]) for condition in CONDITIONS)
    return np.block([[oo, oa], [oa.T, aa]])


def _matrix_panels(results: Results, found: Mapping[Cell, Entry]) -> Figure | None:
    """Matrices on one scale of colours: systems side by side, or the sets of one system; encoders below each other."""
    if not found:
        return None
    encoders, sets, systems = (list(dict.fromkeys(cell[k] for cell in found)) for k in range(3))
    of_sets = len(systems) == 1
    lines = [sets] if of_sets else [[name] for name in sets]
    places = [[(name, system) for name in line for system in systems] for line in lines]
    rows = [
        (encoder, line[start : start + _COLUMNS])
        for line in places
        for start in range(0, len(line), _COLUMNS)
        for encoder in encoders
    ]
    columns = max(len(cells) for _, cells in rows)
    labelled = len(encoders) > 1
    width = min(PAGE, 1.5 * columns + 1.5)
    side = (width - 1.1 - 0.4 * labelled) / columns
    figure, axes = grid(len(rows), columns, width=width, height=side + (0.4 if of_sets else 0.25) / len(encoders))
    drawn, above = [], [""] * columns
    for (encoder, cells), row in zip(rows, axes, strict=True):
        for place, axis in enumerate(row):
            entry = found.get((encoder, *cells[place])) if place < len(cells) else None
            if entry is None:
                axis.set_axis_off()
                continue
            image = _draw_matrix(axis, np.ma.masked_invalid(global_matrix(entry)))
            drawn.append(axis)
            name, system = cells[place]
            title = set_title(name).replace(", ", "\n") if of_sets else fold(system, _LETTERS)
            if title != above[place]:
                axis.set_title(title, color=INK if of_sets else results.name_colour(system))
            above[place] = title
        words = [encoder, *([set_title(cells[0][0])] if len(sets) > 1 and not of_sets else [])]
        row[0].set_ylabel("\n".join(fold(word, 20) for text in words for word in text.split(", ")))
    label_margins(drawn)
    every = [axis for row in axes for axis in row]
    bar = figure.colorbar(image, ax=every, shrink=min(1, 2 / len(rows)), aspect=20, fraction=0.03)
    bar.set_label("similarity")
    bar.outline.set_visible(False)
    return figure


def _draw_matrix(axis: Axes, matrix: Floats) -> AxesImage:
    """Draw a matrix in four quarters."""
    image = axis.imshow(matrix, cmap=_COLOURS, vmin=0, vmax=1, interpolation="nearest")
    half = len(matrix) / 2
    axis.axhline(half - 0.5, color=PAPER, lw=1.2)
    axis.axvline(half - 0.5, color=PAPER, lw=1.2)
    centres = [half / 2 - 0.5, 1.5 * half - 0.5]
    axis.set_xticks(centres, ["original", "anon."])
    axis.set_yticks(centres, ["original", "anon."], rotation=90, va="center")
    axis.tick_params(length=0, labelsize=7)
    axis.grid(False)
    for spine in axis.spines.values():
        spine.set_visible(False)
    return image


def rank_histograms(results: Results) -> Figure | None:
    """Ranks of the true speaker by speaker embeddings of encoders trained on original speech."""
    return _rank_panels(results, lambda entry: trained_on(entry.record) == ORIGINAL and not _is_histogram(entry))


def feature_ranks(results: Results) -> Figure | None:
    """Ranks of the true speaker by histograms of features: F0, discrete units."""
    return _rank_panels(results, lambda entry: trained_on(entry.record) == ORIGINAL and _is_histogram(entry))


def trained_ranks(results: Results) -> Figure | None:
    """Ranks of the true speaker by encoders trained on anonymised speech."""
    return _rank_panels(results, lambda entry: trained_on(entry.record) != ORIGINAL)


def _is_histogram(entry: Entry) -> bool:
    return bool(entry.record.params.get("similarity") == "euclidean")


def _rank_panels(results: Results, belongs: Callable[[Entry], bool]) -> Figure | None:
    """A panel for original speech and for every system, with two representations on top of each other."""
    found = results.select("srd_max", estimator="empirical")
    entries = [entry for entry in found if entry.file("ranks") and belongs(entry)]
    if not entries:
        return None
    pairs = _pairs(entries)
    names = [name for pair in pairs for name in pair]
    colours = {name: _REPRESENTATIONS[place % len(_REPRESENTATIONS)] for place, name in enumerate(names)}
    groups: dict[str, list[str]] = {}
    for pair in pairs:
        have = {entry.record.system for entry in entries if entry.record.attacker in pair}
        groups[", ".join(pair)] = [name for name in results.systems if name in have]
    width = min(PAGE, PAGE / 2 * max(map(len, groups.values())))
    figure, cells = blocks(groups, _COLUMNS, height=1.25 + 2 * LINE_STEP, width=width)
    shown = {(entry.record.attacker, entry.record.system): entry for entry in entries}
    mean = {(e.record.attacker, e.record.system): e.record for e in results.select("srd_mean", estimator="empirical")}
    highest = {True: 0.0, False: 0.0}
    for (group, system), axis in cells.items():
        axis.set_ylabel("")  # the legend names the representations
        own = [shown[name, system] for name in group.split(", ") if (name, system) in shown]
        lines = []
        for entry in own:
            name = entry.record.attacker
            top = _draw_ranks(axis, entry, colours[name], with_fit=len(names) == 1)
            highest[system == ORIGINAL] = max(highest[system == ORIGINAL], top)
            numbers = [f"{one.value:.2f}" for one in (entry.record, mean.get((name, system))) if one]
            lines.append((f"{' / '.join(numbers)} bit", {"color": colours[name], **_SAMPLE}))
        write_above(axis, fold(system, _LETTERS), lines, 2, results.name_colour(system))
    label_margins(cells.values())
    for (_, system), axis in cells.items():
        _set_shares(axis, highest[system == ORIGINAL])
    for keys in groups.values():
        # Original speech has an axis of its own: on that of the systems they would all look flat.
        if keys[0] == ORIGINAL and len(keys) > 1:
            next(axis for (_, system), axis in cells.items() if system == keys[1]).tick_params(labelleft=True)
    figure.supxlabel("rank of the true speaker", fontsize=8.5)
    figure.supylabel("inputs (%)", fontsize=8.5)
    handles = [
        *(Patch(color=colours[name], alpha=0.6, lw=0, label=_representation_title(name, entries)) for name in names),
        *([Line2D([], [], color=INK, lw=1, label="beta-binomial fit")] if len(names) == 1 else []),
        Line2D([], [], color=MUTED, lw=1, ls=(0, (1, 1.5)), label="1/N: nothing disclosed"),
        Patch(color=GRID, label="95 % of uniform ranks"),
    ]
    legend(figure, handles)
    return figure


def _pairs(entries: Sequence[Entry]) -> list[list[str]]:
    """Attackers two by two: those whose vectors are compared in the same way first, then those that are left over."""
    kinds: dict[str, list[str]] = {}
    for entry in entries:
        names = kinds.setdefault(str(entry.record.params.get("similarity", "cosine")), [])
        names += [entry.record.attacker] * (entry.record.attacker not in names)
    pairs = [names[k : k + 2] for names in kinds.values() for k in range(0, len(names) - 1, 2)]
    left = [names[-1] for names in kinds.values() if len(names) % 2]
    return pairs + [left[k : k + 2] for k in range(0, len(left), 2)]


def _representation_title(attacker: str, entries: Sequence[Entry]) -> str:
    name = next(representation(entry.record) for entry in entries if entry.record.attacker == attacker)
    return name if name == attacker else f"{name} ({attacker})"


def _draw_ranks(axis: Axes, entry: Entry, colour: str, with_fit: bool) -> float:
    """Draw the shares of the ranks; return the highest."""
    counts = np.array((read_side_file(entry, "ranks") or {})["ranks"], dtype=np.float64)
    n = len(counts)
    edges = np.arange(0.5, n + 1)
    shares = counts / counts.sum()
    axis.fill_between([0, n + 1], *uniform_band(round(counts.sum()), n), color=GRID, lw=0, zorder=0)
    axis.stairs(shares, edges, fill=True, color=colour, alpha=0.45, lw=0)
    axis.stairs(shares, edges, color=colour, lw=0.9)
    if with_fit:
        fit = beta_binomial(n, *fit_beta_binomial(counts[None]))[0]
        axis.plot(np.arange(1, n + 1), fit, color=INK, lw=1)
    axis.axhline(1 / n, color=MUTED, lw=1, ls=(0, (1, 1.5)))
    axis.set(xlim=(0.2, n + 0.8), xticks=sorted({1, round(n / 2), n}))
    axis.grid(False, axis="x")
    return float(max(shares.max(), uniform_band(round(counts.sum()), n)[1]))


def _set_shares(axis: Axes, highest: float) -> None:
    """A linear axis in percent from 0 to just above the highest share."""
    axis.set_ylim(0, 1.05 * highest)
    axis.yaxis.set_major_locator(MaxNLocator(nbins=4, steps=[1, 2, 2.5, 5, 10]))
    axis.yaxis.set_major_formatter(lambda share, _: f"{100 * share:g}")
