"""Singling out, linkability and 1 − EER over the number of speakers (legal framework, Figure 1), and side information.

Every attacker has a curve. The columns of panels are the numbers L of utterances of the paper, or those asked for
(`Results.utts`); the rows are metrics, or systems where there are several. A panel without numbers is left out.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import NullFormatter, NullLocator

from vpeval.core.errors import InputError
from vpeval.figures.attacks import Attacks
from vpeval.figures.drawing import INK, MUTED, fold, grid, label_margins, legend, note
from vpeval.figures.run_results import Entry, Results, length_order, length_title
from vpeval.measures.legal import parse_sizes
from vpeval.records.metrics import describe
from vpeval.records.names import ORIGINAL

METRICS = ("singling_out", "linkability", "one_minus_eer")
"""The rows of the paper."""
PAPER_UTTS: tuple[int | str, ...] = (1, 3, 30)
"""The columns of the paper."""
K = TypeVar("K", bound=Hashable)
Row = TypeVar("Row", bound=Hashable)
_TRIVIAL_WORDS = {
    "singling_out": "37 % (1/e) in singling out",
    "linkability": "1/N in linkability",
    "one_minus_eer": "50 % in 1 − EER",
}
_FEW = 3
"""So many systems have all metrics in one figure of the height of a page; more have one figure per metric."""
_TRIVIAL: Mapping[str, Any] = {"color": MUTED, "ls": (0, (1, 1.5)), "lw": 1.3}
_CHANCE: Mapping[str, Any] = {"color": INK, "ls": (0, (4, 2)), "lw": 0.9}
_LETTERS = 14  # of the name of a system in a line
_LETTER = 0.036  # the width of a letter, as a share of that of a panel
_HEIGHTS = {1: 1.75, _FEW: 1.0}  # inches of a panel, by the number of systems
_SMALL = 0.62  # inches of a panel of many systems


def legal_curves(results: Results) -> Figure | None:
    """Figure 1: a row per metric (and system), a column per L; None for more systems than fit on a page."""
    found = _measured(results, METRICS)
    return _curves(results, found, METRICS) if len(_systems(results, found)) <= _FEW else None


def singling_out_curves(results: Results) -> Figure | None:
    """Singling out for many systems: a row per system, a column per L."""
    return _curves_of_many(results, "singling_out")


def linkability_curves(results: Results) -> Figure | None:
    """Linkability for many systems: a row per system, a column per L."""
    return _curves_of_many(results, "linkability")


def eer_curves(results: Results) -> Figure | None:
    """1 − EER for many systems: a row per system, a column per L."""
    return _curves_of_many(results, "one_minus_eer")


def _curves_of_many(results: Results, metric: str) -> Figure | None:
    """One metric of Figure 1; None for as few systems as `legal_curves` shows."""
    found = _measured(results, [metric])
    return _curves(results, found, [metric]) if len(_systems(results, found)) > _FEW else None


def choose_utts(results: Results, chosen: str) -> Results:
    """The results, whose figures show these numbers L of utterances, separated by commas."""
    sizes = parse_sizes("--utts", chosen, "")
    utts: tuple[int | str, ...] = (*sizes.numbers, *["all"] * sizes.everything)
    measured = _lengths(_measured(results, METRICS))
    if missing := [length for length in utts if length not in measured]:
        known = ", ".join(map(str, measured)) or "none"
        raise InputError(f"--utts {chosen}: there are no legal metrics with L = {missing[0]}; there are L = {known}")
    return replace(results, utts=utts)


def shown_utts(results: Results, entries: Sequence[Entry]) -> list[int | str]:
    """The numbers L that a figure shows: those asked for, else those of the paper, else all that were measured."""
    measured = _lengths(entries)
    if results.utts:
        return [length for length in results.utts if length in measured]
    return [length for length in PAPER_UTTS if length in measured] or measured


def _lengths(entries: Sequence[Entry]) -> list[int | str]:
    return sorted({entry.record.params["L"] for entry in entries}, key=length_order)


def panel_grid(
    rows: Sequence[Row], columns: Sequence[K], filled: Collection[tuple[Row, K]], height: float, x_label: str
) -> tuple[Figure, dict[tuple[Row, K], Axes]]:
    """A figure with the panels that are `filled`; tick labels and the label of x are at its margins."""
    figure, axes = grid(len(rows), len(columns), height=height)
    cells: dict[tuple[Row, K], Axes] = {}
    for name, row in zip(rows, axes, strict=True):
        for column, axis in zip(columns, row, strict=True):
            if (name, column) in filled:
                cells[name, column] = axis
            else:
                axis.set_axis_off()
    label_margins(cells.values())
    for column in columns:
        for axis in [axis for (_, key), axis in cells.items() if key == column][-1:]:
            axis.set_xlabel(x_label, fontsize=8)
    return figure, cells


def name_systems(results: Results, cells: Mapping[tuple[Row, K], Axes], systems: Mapping[Row, str]) -> None:
    """Write the names of systems beside their rows of panels, where there are several."""
    for row, system in systems.items():
        first = next(axis for (own, _), axis in cells.items() if own == row)
        if len(set(systems.values())) > 1:
            first.set_ylabel(fold(system, _LETTERS), rotation=0, ha="right", va="center", fontsize=8)
            first.yaxis.label.set_color(results.name_colour(system))


def panel_height(systems: int) -> float:
    """The height of a row of panels, in inches."""
    return next((height for most, height in _HEIGHTS.items() if systems <= most), _SMALL)


def _measured(results: Results, metrics: Sequence[str]) -> list[Entry]:
    return [entry for metric in metrics for entry in results.select(metric)]


def _systems(results: Results, entries: Sequence[Entry]) -> list[str]:
    """The systems that were attacked, or original speech where it stands alone."""
    attacked = {entry.record.system for entry in entries}
    return [name for name in results.anonymised if name in attacked] or [ORIGINAL] * bool(attacked)


def _curves(results: Results, entries: Sequence[Entry], metrics: Sequence[str]) -> Figure | None:
    systems, lengths = _systems(results, entries), shown_utts(results, entries)
    if not lengths:
        return None
    entries = [entry for entry in entries if entry.record.params["L"] in lengths]
    panels: dict[tuple[tuple[str, str], int | str], list[Entry]] = {}
    for entry in entries:
        record = entry.record
        for system in systems if record.system == ORIGINAL else [record.system]:
            panels.setdefault(((record.metric, system), record.params["L"]), []).append(entry)
    rows = [(metric, system) for metric in metrics for system in systems]
    rows = [row for row in rows if any(own == row for own, _ in panels)]
    figure, cells = panel_grid(rows, lengths, panels, panel_height(len(systems)), "number of speakers N")
    attacks, sizes = Attacks(entries, both_names=True), sorted({entry.record.params["N"] for entry in entries})
    for key, axis in cells.items():
        _axes(axis, sizes, small=len(systems) > 1)
        _panel(results, axis, panels[key], attacks)
    _name_rows(results, cells, len(systems) > 1)
    two_levels = any("paper_chance" in entry.record.notes for entry in entries)
    legend(figure, [*attacks.handles(points=True), *_levels(two_levels)])
    note(figure, _words_on_levels(metrics, two_levels))
    return figure


def _name_rows(results: Results, cells: Mapping[tuple[tuple[str, str], int | str], Axes], several: bool) -> None:
    """One system has metrics as rows, and L above; several have rows in blocks, with metric and L above each."""
    name_systems(results, cells, {row: row[1] for row, _ in cells})
    titled: set[tuple[str, int | str]] = set()
    for ((metric, _), length), axis in cells.items():
        block = (metric if several else "", length)
        if block not in titled:
            is_first = several and not any(own == metric for own, _ in titled)
            axis.set_title(f"{describe(metric).axis}: {length_title(length)}" if is_first else length_title(length))
            titled.add(block)
    if not several:
        for metric in dict.fromkeys(metric for (metric, _), _ in cells):
            first = next(axis for ((own, _), _), axis in cells.items() if own == metric)
            first.set_ylabel(describe(metric).axis)


def _levels(two: bool) -> list[Artist]:
    """The entries of a legend for the trivial attacker of the paper, and for the chance of this protocol."""
    trivial = Line2D([], [], label="trivial attacker of the paper", **_TRIVIAL)
    return [trivial, Line2D([], [], label="chance of this protocol", **_CHANCE)] if two else [trivial]


def _words_on_levels(metrics: Sequence[str], two: bool) -> list[str]:
    known = [_TRIVIAL_WORDS[metric] for metric in metrics]
    words = [f"The trivial attacker of the paper succeeds with {', '.join(known)}."]
    if two:
        words.append("Chance of this protocol: how often it isolates one speaker if scores hold no information.")
    return words


def _axes(axis: Axes, sizes: Sequence[int], small: bool) -> None:
    axis.set_ylim(-4, 104)
    axis.set_yticks([0, 50, 100] if small else [0, 25, 50, 75, 100])
    is_log = sizes[-1] / sizes[0] > 10
    if is_log:
        axis.set_xscale("log")
        axis.xaxis.set_minor_locator(NullLocator())
        axis.xaxis.set_minor_formatter(NullFormatter())
    axis.set_xlim(*((sizes[0] / 1.15, sizes[-1] * 1.15) if is_log else _widened(sizes)))
    ticks = _ticks(sizes, is_log)
    axis.set_xticks(ticks, [_number(size) for size in ticks])


def _widened(sizes: Sequence[int]) -> tuple[float, float]:
    more = 0.05 * (sizes[-1] - sizes[0]) or 1
    return sizes[0] - more, sizes[-1] + more


def _number(size: int) -> str:
    return f"{size:,}".replace(",", " ")


def _ticks(sizes: Sequence[int], is_log: bool) -> list[int]:
    """The first and the last size, and others between, farthest from their neighbours first, while labels fit."""
    place = {size: math.log(size) if is_log else float(size) for size in sizes}
    reach = place[sizes[-1]] - place[sizes[0]] or 1.0
    chosen = {sizes[0], sizes[-1]}

    def room(size: int) -> float:
        """What is left of the distance to the nearest label."""
        return min(
            abs(place[size] - place[other]) / reach - _LETTER * (len(_number(size)) + len(_number(other))) / 2
            for other in chosen
        )

    while (rest := [size for size in sizes if size not in chosen]) and room(best := max(rest, key=room)) >= 0.04:
        chosen.add(best)
    return sorted(chosen)


def _panel(results: Results, axis: Axes, entries: Sequence[Entry], attacks: Attacks) -> None:
    """Curves of all attackers, bands of the strongest ones of their attack model, and the levels of no information."""
    strongest = {entry.series for entry in results.strongest(entries)}
    for series in results.series(entries):
        for name in sorted({entry.record.set for entry in entries if entry.series == series}):
            own = [e.record for e in entries if e.series == series and e.record.set == name]
            curve = sorted(own, key=lambda record: record.params["N"])
            n, style = [record.params["N"] for record in curve], attacks.style(series)
            values = [100 * record.value for record in curve]
            axis.plot(n, values, lw=1.3, marker=attacks.marker(series), ms=3.2, **style)
            if series in strongest and all(r.lower is not None and r.upper is not None for r in curve):
                lower, upper = [100 * (r.lower or 0) for r in curve], [100 * (r.upper or 0) for r in curve]
                axis.fill_between(n, lower, upper, color=style["color"], alpha=0.13, lw=0)
    records = [entry.record for entry in entries if "chance" in entry.record.notes]
    trivial = {r.params["N"]: r.notes.get("paper_chance", r.notes["chance"]) for r in records}
    own_chance = {r.params["N"]: r.notes["chance"] for r in records if "paper_chance" in r.notes}
    for levels, look in ((trivial, _TRIVIAL), (own_chance, _CHANCE)):
        axis.plot(sorted(levels), [100 * levels[n] for n in sorted(levels)], zorder=1, **look)


def side_information(results: Results) -> Figure | None:
    """The success of the strongest attackers over the number of candidate speakers, at the smallest L.

    Lines are the plain metrics over N. Hollow marks are attackers who know an attribute, at the largest N.
    """
    metrics = [name for name in ("singling_out", "linkability") if results.select(f"{name}_side")]
    known = _measured(results, [f"{name}_side" for name in metrics])
    lengths = [entry.record.params["L"] for entry in known if isinstance(entry.record.params["L"], int)]
    if not lengths:
        return None
    length = min(lengths)
    plain = [entry for name in metrics for entry in results.strongest(results.select(name, L=length))]
    systems, sizes = _systems(results, plain), sorted({entry.record.params["N"] for entry in plain})
    panels: dict[tuple[str, str], list[Entry]] = {}
    for entry in plain:
        for system in systems if entry.record.system == ORIGINAL else [entry.record.system]:
            panels.setdefault((system, entry.record.metric), []).append(entry)
    figure, cells = panel_grid(systems, metrics, panels, 1.3 * panel_height(len(systems)), "speakers to choose among")
    attacks = Attacks(plain, both_names=True)
    for (system, metric), axis in cells.items():
        own = panels[system, metric]
        shown, most = {entry.series for entry in own}, max(entry.record.params["N"] for entry in own)
        marks = [e for e in results.select(f"{metric}_side", L=length, N=most) if e.series in shown]
        _axes(axis, sizes, small=len(systems) > 1)
        axis.set_xlim(left=min([axis.get_xlim()[0], *(0.9 * e.record.notes["candidates"] for e in marks)]))
        _panel(results, axis, own, attacks)
        for entry in marks:
            point, mark = (entry.record.notes["candidates"], 100 * entry.record.value), attacks.marker(entry.series)
            colour = results.colour(entry.series)
            axis.plot(*point, marker=mark, mec=colour, mfc="none", ms=6.5, mew=1.2, ls="")
        if system == systems[0]:
            axis.set_title(f"{describe(metric).axis}: {length_title(length)}")
    name_systems(results, cells, {system: system for system in systems})
    two_levels = any("paper_chance" in entry.record.notes for entry in plain)
    legend(figure, [*attacks.handles(points=True), *_levels(two_levels)])
    kinds = sorted({f"{e.record.params['side']} ({e.record.params['groups']} groups)" for e in known})
    words = f"Hollow marks: the attacker knows {', '.join(kinds)}, which leaves this many speakers of the largest N."
    note(figure, [words, *_words_on_levels(metrics, two_levels)])
    return figure
