"""Voice similarity matrices (supplement, 8-12)."""

from __future__ import annotations

from operator import attrgetter

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure

from vpeval.figures.data import Results, read_matrix, read_side_file
from vpeval.figures.style import NEUTRAL, grid
from vpeval.records.names import CONDITIONS, set_title
from vpeval.results.headline import in_challenge_mode

_COLOURS = LinearSegmentedColormap.from_list(
    "similarity", ["#f4f7fa", "#b9d3e6", "#5d9bc9", "#1f5f9b", "#0b2a55"]
).with_extremes(bad=NEUTRAL)
_TITLES = {"oo": "original – original", "oa": "original – anonymised", "aa": "anonymised – anonymised"}


def similarity_matrices(results: Results) -> Figure | None:
    """Similarity of every pair of speakers, before, across and after anonymisation; a row per set and system."""
    entries = in_challenge_mode(results.of("g_vd"), attrgetter("record"))
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
