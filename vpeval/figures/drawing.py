"""The common style of all figures: one colour per attack model, widths of print, reproducible files.

Systems are places of a figure (on the x axis, or panels). Where points are systems, each has a colour and a marker.
"""

from __future__ import annotations

import hashlib
import io
import re
import textwrap
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate, pairwise
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import matplotlib
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex, to_rgb
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.transforms import BboxTransformTo, ScaledTranslation

from vpeval.core.files import atomic_path
from vpeval.records.names import ATTACK_MODELS, IGNORANT, INFORMED, LAZY, ORIGINAL, SEMI, SIMILAR, UNPROTECTED

INK, MUTED, GRID, PAPER = "#1c2128", "#5c6670", "#dfe3e8", "#ffffff"
NEUTRAL, PALE = "#5b6674", "#aeb7c1"
PALETTE = ("#0b8a68", "#b0438f", "#8a6d00", "#5a55c4", "#c23b4b", "#00849c", "#0a6fb5", "#c8500a")
"""Colours of systems, also distinct for colour-blind readers. Original speech is NEUTRAL."""
MODEL_COLOURS = {
    UNPROTECTED: "#b3bbc5",
    IGNORANT: "#f0ab4a",
    LAZY: "#de6f3b",
    SIMILAR: "#b13a68",
    SEMI: "#4a1f5c",
    INFORMED: "#4a1f5c",
}
"""Colours of attack models: the stronger the attack, the darker, also in print without colours."""

DARK_PAPER = "#14181e"
PAGE = 7.16
"""The width of a page of two columns, in inches. A wider figure would be scaled down, and its letters."""
MARKERS = {UNPROTECTED: "s", IGNORANT: "v", LAZY: "o", SIMILAR: "D", SEMI: "^"}
FORMATS = ("svg", "pdf", "png")
LINE_STEP = 0.125
"""Inches from one line of small letters to the next."""
_SMALL = 7

F = TypeVar("F", Figure, Figure | None)
K = TypeVar("K")
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
    "legend.handlelength": 1.4,
    "legend.columnspacing": 1.4,
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
    rows: int, columns: int, width: float = PAGE, height: float = 2.1, **options: Any
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


def blocks(
    groups: Mapping[str, Sequence[K]], columns: int, height: float, **options: Any
) -> tuple[Figure, dict[tuple[str, K], Axes]]:
    """Panels by group and key: each group has rows of its own of at most `columns`, and its name beside the first."""
    columns = min(columns, max(len(keys) for keys in groups.values()))
    rows = [(name, keys[k : k + columns]) for name, keys in groups.items() for k in range(0, len(keys), columns)]
    figure, axes = grid(len(rows), columns, height=height, **options)
    cells: dict[tuple[str, K], Axes] = {}
    for (name, keys), row in zip(rows, axes, strict=True):
        if name and not any(group == name for group, _ in cells):
            row[0].set_ylabel("\n".join(fold(part, int(8 * height)) for part in name.split(", ")))
        cells |= {(name, key): axis for key, axis in zip(keys, row, strict=False)}
        for axis in row[len(keys) :]:
            axis.set_axis_off()
    return figure, cells


def label_margins(axes: Iterable[Axes]) -> None:
    """Leave labels of ticks to the first panel of a row and the lowest one of a column; rows may have gaps."""
    places = {(spec.rowspan.start, spec.colspan.start): axis for axis in axes if (spec := axis.get_subplotspec())}
    for (row, column), axis in places.items():
        is_lowest = not any(other > row and column == own for other, own in places)
        axis.tick_params(labelbottom=is_lowest, labelleft=column == 0)


def write_above(
    axis: Axes, title: str, lines: Sequence[tuple[str, Mapping[str, Any] | None]], room: int, colour: str = INK
) -> None:
    """A title, and below it small lines, each behind a sample of its curve; panels have `room` for as many lines."""
    figure = axis.get_figure(root=True)
    assert figure is not None, "panels belong to a figure"
    corner = figure.dpi_scale_trans + ScaledTranslation(0, 1, BboxTransformTo(axis.bbox))
    for place, (text, style) in enumerate(lines, 1):
        y = 0.07 + LINE_STEP * (room - place)
        if style:
            axis.add_artist(Line2D([0, 0.22], [y, y], transform=corner, clip_on=False, **{"lw": 1.4, **style}))
        axis.text(0.27 if style else 0, y, text, transform=corner, va="center_baseline", fontsize=_SMALL)
    axis.set_title(title, pad=4 + 72 * LINE_STEP * room, color=colour)


def fold(name: str, letters: int) -> str:
    """A name in lines of at most so many letters, broken after _ and - where there are some.

    >>> fold("my_long_system_name", 12)
    'my_long_\\nsystem_name'
    """
    lines = [""]
    for part in re.split(r"(?<=[_-])|(?<= )", name):
        pieces = [part[k : k + letters] for k in range(0, len(part), letters)]
        for piece in pieces:
            if len(lines[-1]) + len(piece.rstrip()) <= letters:
                lines[-1] += piece
            else:
                lines.append(piece)
    return "\n".join(line.rstrip() for line in lines if line)


def legend(figure: Figure, handles: Sequence[Artist]) -> None:
    """One legend above all panels, in as many columns as fit; the figure grows by its lines."""
    lengths = [len(str(handle.get_label())) for handle in handles]
    lines = 1
    while lines < len(handles) and _legend_width(lengths, lines) > figure.get_figwidth() - 0.2:
        lines += 1
    figure.set_figheight(figure.get_figheight() + 0.18 * (lines - 1))
    columns = -(-len(handles) // lines)
    figure.legend(handles=handles, loc="outside upper center", ncols=columns)


def _legend_width(lengths: Sequence[int], lines: int) -> float:
    """The width in inches of a legend in so many lines; its first columns may have one more than the others."""
    columns = -(-len(lengths) // lines)
    least, more = divmod(len(lengths), columns)
    ends = list(accumulate([least + (column < more) for column in range(columns)], initial=0))
    return sum(0.43 + 0.066 * max(lengths[start:end]) for start, end in pairwise(ends))


def note(figure: Figure, sentences: Iterable[str]) -> None:
    """Write sentences below all panels; the figure grows by their lines."""
    lines = [line for text in sentences for line in textwrap.wrap(text, int(16.5 * figure.get_figwidth()))]
    if lines:
        figure.set_figheight(figure.get_figheight() + 0.13 * len(lines))
        figure.supxlabel("\n".join(lines), x=0.01, ha="left", fontsize=7.5, color=MUTED)


def model_colour(attack_model: str) -> str:
    """The colour of an attack model in every figure; the strongest one of a model that has no name."""
    return MODEL_COLOURS.get(attack_model, MODEL_COLOURS[SEMI])


class Style(NamedTuple):
    """How the points of a system look."""

    colour: str
    marker: str


_B1 = "B1 A1 A2 M1 M1c1 M1c2 M1c3 M1c4 O1 O1c1 S1 S1c1 S2 S2c1"
PUBLISHED_FAMILIES = {"vpc2020": {**dict.fromkeys(_B1.split(), 0), "B2": 1, "D1": 1}}
"""Published systems of a recipe that were developed from its baseline B1 or B2 (supplement, Table 1)."""
_FAMILY_COLOURS = (("#0a6fb5", "#0b3c78", "#5aa7dd"), ("#c23b4b", "#7f1725", "#e58a93"))
"""Of systems that were developed from the first and from the second baseline: the colour of names, and more."""
_FAMILY_WORDS = ("Blue: developed from B1.", "Red: developed from B2.")
_OTHERS = ("#0b8a68", "#c8500a", "#8a6d00", "#b0438f")
_POINTS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "h", "d", "p")


def name_colour(system: str, recipe: str) -> str:
    """The colour of the name of a system: that of the baseline that it was developed from, where this is known."""
    family = PUBLISHED_FAMILIES.get(recipe, {}).get(system)
    return INK if family is None else _FAMILY_COLOURS[family][0]


def family_words(systems: Iterable[str], recipe: str) -> str:
    """A sentence about the colours of names, if baselines give some.

    >>> family_words(["B1", "M1", "K2"], "vpc2020"), family_words(["B1"], "vpc2024")
    ('Blue: developed from B1.', '')
    """
    present = {PUBLISHED_FAMILIES.get(recipe, {}).get(system) for system in systems}
    return " ".join(words for place, words in enumerate(_FAMILY_WORDS) if place in present)


def system_styles(systems: Iterable[str], recipe: str = "") -> dict[str, Style]:
    """A colour and a marker for every system, no two alike; those of a family have shades of its colour.

    >>> styles = system_styles(["original", *(f"system{k}" for k in range(40))])
    >>> len(set(styles.values()))
    41
    """
    family = PUBLISHED_FAMILIES.get(recipe, {})
    names = sorted(set(systems) - {ORIGINAL})
    styles = {ORIGINAL: Style(NEUTRAL, "*")}
    plain = system_colours(names)
    for member in (0, 1, None):
        own = [name for name in names if family.get(name) == member]
        related = any(name in family for name in names)
        for place, name in enumerate(own):
            if member is None:
                colour = _OTHERS[place % len(_OTHERS)] if related else plain[name]
            else:
                colour = _FAMILY_COLOURS[member][place % 3]
            used = {style.marker for style in styles.values() if style.colour == colour}
            order = _POINTS[place % len(_POINTS) :] + _POINTS[: place % len(_POINTS)]
            styles[name] = Style(colour, next((mark for mark in order if mark not in used), "o"))
    return styles


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


def mix(colour: str, other: str, share: float) -> str:
    """`colour` mixed with a `share` of `other`."""
    red, green, blue = ((1 - share) * a + share * b for a, b in zip(to_rgb(colour), to_rgb(other), strict=True))
    return to_hex((red, green, blue))


def dark_colours() -> dict[str, str]:
    """The colour on a dark page for every colour of the figures; there, a stronger attack is lighter."""
    pairs = {INK: "#e8ebef", MUTED: "#98a2ae", GRID: "#2d343d", PAPER: DARK_PAPER, NEUTRAL: "#a9b3bf", PALE: "#56606c"}
    pairs |= {colour: mix(colour, "#ffffff", 0.25) for colour in (*PALETTE, *_OTHERS)}
    pairs |= {colour: mix(colour, "#ffffff", 0.3) for colours in _FAMILY_COLOURS for colour in colours}
    return pairs | {MODEL_COLOURS[model]: colour for model, colour in _DARK_MODELS.items()}


_DARK_MODELS = {
    UNPROTECTED: "#6d7884",
    IGNORANT: "#8c5f22",
    LAZY: "#d2703f",
    SIMILAR: "#ec92b0",
    SEMI: "#f3dcfb",
    INFORMED: "#f3dcfb",
}


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
            drawn = io.BytesIO()  # of a full disk, matplotlib's PDF writer says something else
            figure.savefig(drawn, format=kind, metadata=metadata[kind], **options)
            with atomic_path(path) as temporary:
                temporary.write_bytes(drawn.getvalue())
            paths.append(path)
    return paths
