"""Training curves of attackers: every number of the log over the epochs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from vpeval.figures.data import Results
from vpeval.figures.style import MUTED, PALETTE, draw, grid, legend, save

_LINES = {"train": (0, (2, 1.5)), "valid": "-", "": "-"}
_NOT_LEARNING = ("epoch", "seconds")


def attackers(results: Results) -> Figure | None:
    """The training curves of all attackers."""
    return training_curves(results.training)


def training_curves(training: Mapping[str, Sequence[Mapping[str, float]]]) -> Figure | None:
    """A panel for every quantity of the logs, a line for every attacker; training data are dotted."""
    logs = {name: epochs for name, epochs in training.items() if epochs}
    numbers = dict.fromkeys(key for epochs in logs.values() for row in epochs for key in row)
    parts: dict[str, list[tuple[str, str]]] = {}
    for number in numbers:
        if number not in _NOT_LEARNING:
            part, _, quantity = number.partition("_")
            named = part in _LINES and quantity
            parts.setdefault(quantity if named else number, []).append((number, part if named else ""))
    if not parts:
        return None
    columns = min(3, len(parts))
    figure, axes = grid(-(-len(parts) // columns), columns, height=2.3)
    cells = [axis for row in axes for axis in row]
    colours = {name: PALETTE[place % len(PALETTE)] for place, name in enumerate(sorted(logs))}
    for (quantity, lines), axis in zip(parts.items(), cells, strict=False):
        for number, part in lines:
            for name, epochs in logs.items():
                rows = [row for row in epochs if number in row]
                points = [row["epoch"] for row in rows], [row[number] for row in rows]
                axis.plot(*points, color=colours[name], marker="o", ms=3, ls=_LINES[part])
        axis.set_title(quantity.replace("_", " "))
        axis.xaxis.set_major_locator(MaxNLocator(integer=True, nbins=6))
    for axis in cells[len(parts) :]:
        axis.set_axis_off()
    figure.supxlabel("epoch", fontsize=8.5)
    handles = [Line2D([], [], color=colours[name], marker="o", ms=3, label=name) for name in logs]
    if any(part == "train" for lines in parts.values() for _, part in lines):
        handles.append(Line2D([], [], color=MUTED, ls=_LINES["train"], label="training data"))
    legend(figure, handles)
    return figure


def save_training(name: str, epochs: Sequence[Mapping[str, float]], path: Path) -> None:
    """The curves of one attacker as a picture, ``<path>.png``."""
    figure = draw(path.name, lambda: training_curves({name: epochs}))
    if figure is not None:
        save(figure, path.parent, path.name, ("png",))
