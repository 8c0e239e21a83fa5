"""The common style of all figures: one colour per system, one shade per attack model, reproducible files."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure

from vpeval.core.files import atomic_path
from vpeval.records.names import ATTACK_MODELS, IGNORANT, LAZY, ORIGINAL, SEMI, SIMILAR, UNPROTECTED

INK, MUTED, GRID, PAPER = "#1c2128", "#5c6670", "#dfe3e8", "#ffffff"
NEUTRAL, PALE = "#5b6674", "#aeb7c1"
PALETTE = ("#0b8a68", "#b0438f", "#8a6d00", "#5a55c4", "#c23b4b", "#00849c", "#0a6fb5", "#c8500a")
"""Colours of systems, also distinct for colour-blind readers. Original speech is NEUTRAL."""

DARK_PAPER = "#14181e"
MARKERS = {UNPROTECTED: "s", IGNORANT: "v", LAZY: "o", SIMILAR: "D", SEMI: "^"}
LINES = {UNPROTECTED: "-", IGNORANT: (0, (2, 1.5)), LAZY: (0, (6, 1.5)), SIMILAR: (0, (6, 1.5, 1, 1.5)), SEMI: "-"}
FORMATS = ("svg", "pdf", "png")
FEW_SYSTEMS = 3
"""Up to so many systems stand side by side in one row of panels."""

F = TypeVar("F", Figure, Figure | None)
_RC: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 8.5,
    "axes.titlesize": 9,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.titlepad": 6,
    "axes.labelsize": 8.5,
    "axes.labelcolor": INK,
    "axes.edgecolor": MUTED,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.unicode_minus": True,
    "grid.color": GRID,
    "grid.linewidth": 0.7,
    "text.color": INK,
    "text.parse_math": False,  # a $ in the name of a system is a $
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "xtick.labelsize": 8,
    "ytick.labelsize": 8,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "pdf.fonttype": 3,  # 42 takes ten times as long
}


def rc(name: str) -> Any:
    """The settings for drawing and saving figure `name`; the salt makes the ids of its SVG unique."""
    return {**_RC, "svg.hashsalt": f"vpeval {name}"}


def draw(name: str, plot: Callable[[], F]) -> F:
    """Draw figure `name` in the common style and lay it out; None if `plot` has nothing to draw."""
    with matplotlib.rc_context(rc(name)):
        figure = plot()
        if figure is not None:
            # Computes the layout once, not once for every format.
            figure.draw_without_rendering()
            figure.set_layout_engine("none")
    return figure


def grid(
    rows: int, columns: int, width: float = 7.4, height: float = 2.1, **options: Any
) -> tuple[Figure, list[list[Axes]]]:
    """A figure of `rows` × `columns` panels; `height` is the height of a row in inches."""
    figure = Figure(figsize=(width, height * rows + 0.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(rows, columns, squeeze=False, **options)
    return figure, [list(row) for row in axes]


def panels(count: int, columns: int, height: float, **options: Any) -> tuple[Figure, list[Axes]]:
    """A figure of `count` panels in rows of at most `columns`."""
    columns = min(columns, count)
    figure, axes = grid(-(-count // columns), columns, height=height, **options)
    cells = [axis for row in axes for axis in row]
    for axis in cells[count:]:
        axis.set_axis_off()
    return figure, cells[:count]


def legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """One legend above all panels, in as many columns as fit."""
    longest = max(len(str(handle.get_label())) for handle in handles)
    columns = int(figure.get_figwidth() / (0.55 + 0.07 * longest))
    figure.legend(handles=handles, loc="outside upper center", ncols=min(max(1, columns), len(handles)))


def system_colours(systems: Iterable[str]) -> dict[str, str]:
    """A colour for every system, chosen by its name, so that it is the same in all figures.

    >>> system_colours(["original", "mcadams"])["original"]
    '#5b6674'
    """
    colours = {ORIGINAL: NEUTRAL}
    free = list(PALETTE)
    for system in sorted(set(systems) - {ORIGINAL}):
        if not free:
            free = list(PALETTE)
        wanted = int(hashlib.sha256(system.encode()).hexdigest(), 16) % len(PALETTE)
        choice = min(free, key=lambda colour: (PALETTE.index(colour) - wanted) % len(PALETTE))
        colours[system] = choice
        free.remove(choice)
    return colours


def shade(colour: str, attack_model: str) -> str:
    """The colour of a system under an attack model: the stronger the attack, the darker."""
    return _SHADES[attack_model](colour) if attack_model in _SHADES else colour


def mix(colour: str, other: str, share: float) -> str:
    """`colour` mixed with a `share` of `other`."""
    red, green, blue = ((1 - share) * a + share * b for a, b in zip(to_rgb(colour), to_rgb(other), strict=True))
    return to_hex((red, green, blue))


_SHADES = {
    IGNORANT: lambda colour: mix(colour, "#ffffff", 0.45),
    SIMILAR: lambda colour: mix(colour, "#000000", 0.25),
    SEMI: lambda colour: mix(colour, "#000000", 0.5),
}


def dark_colours() -> dict[str, str]:
    """The colour on a dark page for every colour of the figures; there, a stronger attack is lighter."""
    pairs = {INK: "#e8ebef", MUTED: "#98a2ae", GRID: "#2d343d", PAPER: DARK_PAPER, NEUTRAL: "#a9b3bf", PALE: "#56606c"}
    for colour in PALETTE:
        bright = mix(colour, "#ffffff", 0.25)
        pairs |= {
            shade(colour, LAZY): bright,
            shade(colour, IGNORANT): mix(bright, DARK_PAPER, 0.4),
            shade(colour, SIMILAR): mix(bright, "#ffffff", 0.3),
            shade(colour, SEMI): mix(bright, "#ffffff", 0.6),
        }
    return pairs


def model_rank(attack_model: str) -> int:
    """The place of an attack model, from weak to strong; unknown ones come last."""
    return ATTACK_MODELS.index(attack_model) if attack_model in ATTACK_MODELS else len(ATTACK_MODELS)


def save(figure: Figure, directory: Path, name: str, formats: Iterable[str] = FORMATS) -> list[Path]:
    """Write ``<directory>/<name>.<format>``, each atomically; PNG on white, 160 dots per inch."""
    metadata: Mapping[str, dict[str, None]] = {
        "svg": {"Date": None, "Creator": None},
        "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
        "png": {"Software": None},
    }
    paths = []
    with matplotlib.rc_context(rc(name)):
        for kind in formats:
            path = directory / f"{name}.{kind}"
            options: dict[str, Any] = {"dpi": 160, "facecolor": PAPER} if kind == "png" else {}
            with atomic_path(path) as temporary:
                figure.savefig(temporary, format=kind, metadata=metadata[kind], **options)
            paths.append(path)
    return paths
