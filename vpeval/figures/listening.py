"""Figures of listening tests (VoicePrivacy 2020 supplement, Figures 24 to 30): violins, tests, DET curves, maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from vpeval.figures.drawing import INK, MUTED, NEUTRAL, PALE, PALETTE, grid, legend, system_colours
from vpeval.figures.run_results import Results, read_side_file
from vpeval.listening.analysis import pair_metrics
from vpeval.listening.ratings import ATTACKER, VERIFICATION
from vpeval.metrics.score_metrics import det_curve
from vpeval.metrics.scores import pool
from vpeval.records.names import IGNORANT, ORIGINAL, UNPROTECTED, set_title

_GROUPS = {
    "naturalness": "Naturalness",
    "intelligibility": "Intelligibility",
    "similarity_same": "Similarity, same speaker",
    "similarity_different": "Similarity, different speakers",
}
_AXES = {
    "listening_eer": ("EER (%)", 100),
    "listening_eer_rocch": ("ROCCH-EER (%)", 100),
    "listening_cllr": ("Cllr (bit)", 1),
    "listening_min_cllr": ("min Cllr (bit)", 1),
}
_TICKS = (0.01, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 0.95)


def violins(results: Results) -> Figure | None:
    """Normalised ranks of every system; numbers are means, the dotted line is the median of the first system."""
    systems = _system_scores(results)
    if not systems:
        return None
    colours = system_colours(systems)
    figure, axes = grid(2, 2, height=2.6, sharey=True)
    reference = next((system for system in systems if system != ORIGINAL), ORIGINAL)
    for axis, (group, title) in zip([a for row in axes for a in row], _GROUPS.items(), strict=True):
        for place, (system, content) in enumerate(systems.items()):
            scores = _scores(content, group)
            if len(scores) < 2:
                continue
            if scores.std() > 0:
                shape = axis.violinplot(scores, [place], widths=0.8, showextrema=False)
                for body in shape["bodies"]:  # type: ignore[attr-defined]
                    body.set(facecolor=colours[system], alpha=0.45, edgecolor=colours[system])
            axis.plot(place, np.median(scores), marker="_", color=INK, ms=12, mew=1.4)
            axis.text(place, 1.04, f"{scores.mean():.2f}", ha="center", va="bottom", fontsize=8)
        median = np.median(_scores(systems[reference], group)) if len(_scores(systems[reference], group)) else None
        if median is not None:
            axis.axhline(float(median), color=MUTED, lw=1, ls=(0, (1, 1.5)))
        axis.set_title(title)
        axis.set_xticks(range(len(systems)), list(systems), rotation=30 if len(systems) > 5 else 0)
        axis.set_ylim(-0.05, 1.18)
        axis.set_yticks([0, 0.25, 0.5, 0.75, 1])
        axis.grid(axis="x", visible=False)
    figure.supylabel("normalised rank", fontsize=8.5)
    return _mark_simulated(figure, systems)


def significance(results: Results) -> Figure | None:
    """p values between systems; filled where they stay below 0.01 after Holm's correction."""
    systems = _system_scores(results)
    entries = [e for e in results.select("listening_difference") if e.record.params["versus"] in systems]
    if not entries:
        return None
    figure, axes = grid(2, 2, height=0.42 * len(systems) + 1.1)
    names = list(systems)
    for axis, (group, title) in zip([a for row in axes for a in row], _GROUPS.items(), strict=True):
        for entry in (e for e in entries if e.record.params["group"] == group):
            record = entry.record
            i, j = names.index(record.system), names.index(record.params["versus"])
            strong = record.notes["p_holm"] < 0.01
            p = record.notes["p_value"]
            shown = "≪0.01" if p < 1e-4 else f"{p:.4f}" if p < 0.01 else f"{p:.3f}"
            for x, y in ((i, j), (j, i)):
                axis.fill(
                    [x - 0.48, x + 0.48, x + 0.48, x - 0.48],
                    [y - 0.48, y - 0.48, y + 0.48, y + 0.48],
                    color=PALETTE[6] if strong else PALE,
                    alpha=0.35 if strong else 0.25,
                    lw=0,
                )
                axis.text(x, y, shown, ha="center", va="center", fontsize=7.5)
        axis.set(xlim=(-0.6, len(names) - 0.4), ylim=(len(names) - 0.4, -0.6))
        axis.set_xticks(range(len(names)), names, rotation=30 if len(names) > 4 else 0)
        axis.set_yticks(range(len(names)), names)
        axis.set_title(title)
        axis.grid(False)
    legend(
        figure,
        [
            Patch(color=PALETTE[6], alpha=0.35, lw=0, label="below 0.01 after Holm"),
            Patch(color=PALE, alpha=0.25, lw=0, label="not"),
        ],
    )
    return _mark_simulated(figure, systems)


def det_curves(results: Results) -> Figure | None:
    """Detection by ear: original from processed speech, and same from different speakers."""
    systems = _system_scores(results)
    if not systems:
        return None
    colours = system_colours(systems)
    panels: list[tuple[str, str, str, bool]] = []
    if ORIGINAL in systems:
        panels += [
            ("Naturalness: original or processed?", "naturalness", "naturalness", True),
            ("Intelligibility: original or processed?", "intelligibility", "intelligibility", True),
            ("Similarity: same speaker or another?", "similarity_same", "similarity_different", False),
            ("Same speaker, against original others", "similarity_same", "similarity_different", True),
        ]
    else:
        panels.append(("Similarity: same speaker or another?", "similarity_same", "similarity_different", False))
    figure, axes = grid(-(-len(panels) // 2), min(2, len(panels)), height=3.2, sharex=True, sharey=True)
    for k, (axis, (title, target, nontarget, anchored)) in enumerate(
        zip([a for r in axes for a in r], panels, strict=True)
    ):
        for system, content in systems.items():
            if k < 2 and anchored:
                if system == ORIGINAL:
                    continue
                pair = _scores(systems[ORIGINAL], target), _scores(content, nontarget)
            else:
                pair = _scores(content, target), _scores(systems[ORIGINAL] if anchored else content, nontarget)
            _det(axis, *pair, colours[system])
        _det_axes(axis, title)
    _det_labels(figure)
    legend(figure, [Line2D([], [], color=colours[system], label=system) for system in systems])
    return _mark_simulated(figure, systems)


def det_by_set(results: Results) -> Figure | None:
    """Same from different speakers by ear, set by set."""
    systems = _system_scores(results)
    cells = list(dict.fromkeys(cell for content in systems.values() for cell in content["groups"]["similarity_same"]))
    if not cells:
        return None
    colours = system_colours(systems)
    columns = min(3, len(cells)) if len(cells) != 4 else 2
    figure, axes = grid(-(-len(cells) // columns), columns, height=2.9, sharex=True, sharey=True)
    panels = [axis for row in axes for axis in row]
    for axis, cell in zip(panels, cells, strict=False):
        for system, content in systems.items():
            same, different = (_scores(content, group, cell) for group in ("similarity_same", "similarity_different"))
            _det(axis, same, different, colours[system])
        _det_axes(axis, set_title(cell.split(" ")[0]))
    for axis in panels[len(cells) :]:
        axis.set_axis_off()
    _det_labels(figure)
    legend(figure, [Line2D([], [], color=colours[system], label=system) for system in systems])
    return _mark_simulated(figure, systems)


def against_machine(results: Results) -> Figure | None:
    """Metrics of the similarity scores against those of the ignorant attacker, a point per system, set and gender."""
    systems = _system_scores(results)
    own = [e.record for e in results.entries if e.record.attacker == ATTACKER]
    objective = [
        e for e in results.entries if e.record.attacker != ATTACKER and e.attack_model in (IGNORANT, UNPROTECTED)
    ]
    attackers = sorted({e.record.attacker for e in objective if e.attack_model == IGNORANT})
    if not systems or not attackers:
        return None
    pairs = pair_metrics(own, [e.record for e in objective if e.record.attacker == attackers[0]])
    if not any(pairs.values()):
        return None
    colours = system_colours(systems)
    figure, axes = grid(2, 2, height=2.8)
    for axis, metric in zip([a for row in axes for a in row], VERIFICATION, strict=True):
        title, scale = _AXES[metric]
        for both in pairs[metric]:
            marker = "s" if both.system == ORIGINAL else "o"
            axis.plot(scale * both.objective, scale * both.subjective, marker, color=colours[both.system], alpha=0.9)
        axis.set(xlabel=f"machine ({attackers[0]}): {title}", ylabel=f"listeners: {title}")
        axis.margins(0.1)
    legend(figure, [Line2D([], [], ls="", marker="o", color=colours[system], label=system) for system in systems])
    return _mark_simulated(figure, systems)


def linkability(results: Results) -> Figure | None:
    """Placed voices: distances of same and of different speakers, and the map of the most judged board."""
    systems = {system: content for system, content in _system_scores(results).items() if content.get("distances")}
    if not systems:
        return None
    colours = system_colours(systems)
    figure, axes = grid(2, len(systems), height=2.2, width=max(5.0, min(10.0, 2.2 * len(systems))))
    accuracy = {e.record.system: e.record for e in results.select("listening_cluster_accuracy")}
    edges = np.linspace(0, 3, 25)
    for column, (system, content) in enumerate(systems.items()):
        top, bottom = axes[0][column], axes[1][column]
        for name, colour in (("different", PALE), ("same", colours[system])):
            counts, _ = np.histogram(np.clip(content["distances"][name], 0, 3), edges)
            top.stairs(counts / max(1, counts.max()), edges, color=colour, fill=True, alpha=0.65, lw=0)
        top.set_title(system)
        top.set(ylim=(0, 1.25), xlabel="distance")
        top.set_yticks([0, 0.5, 1])
        if record := accuracy.get(system):
            chance = record.notes["chance"]
            text = f"right cluster {100 * record.value:.0f} %\nchance {100 * chance:.0f} %"
            top.text(0.97, 0.97, text, transform=top.transAxes, ha="right", va="top", fontsize=7)
        _map(bottom, content["map"])
    axes[0][0].set_ylabel("pairs (peak at 1)")
    axes[1][0].set_ylabel("mean map")
    legend(
        figure,
        [
            Patch(color=NEUTRAL, alpha=0.65, lw=0, label="same speaker"),
            Patch(color=PALE, alpha=0.65, lw=0, label="different speakers"),
        ],
    )
    return _mark_simulated(figure, systems)


def _map(axis: Axes, content: Mapping[str, Any]) -> None:
    points, speakers = np.array(content["points"]), np.array(content["speakers"])
    for speaker in np.unique(speakers):
        chosen = points[speakers == speaker]
        colour = PALETTE[(speaker - 1) % len(PALETTE)]
        axis.plot(chosen[:, 0], chosen[:, 1], "o", color=colour, ms=0)
        for x, y in chosen:
            axis.text(x, y, str(speaker), color=colour, ha="center", va="center", fontsize=9, fontweight="bold")
    axis.set(aspect="equal", xticks=[], yticks=[], xlabel=f"{content['listeners']} listeners; digits are speakers")
    axis.margins(0.15)


def _system_scores(results: Results) -> dict[str, dict[str, Any]]:
    """The scores of every system with ratings, the original data first."""
    found: dict[str, dict[str, Any]] = {}
    for entry in results.select("listening_naturalness", scores="normalised rank"):
        if not entry.record.set and entry.record.system not in found:
            content = read_side_file(entry, "listening")
            if content:
                found[entry.record.system] = content
    return found


def _scores(content: Mapping[str, Any], group: str, cell: str = "") -> np.ndarray:
    cells: Mapping[str, Sequence[float]] = content["groups"][group]
    chosen = [cells.get(cell, [])] if cell else list(cells.values())
    return np.concatenate([np.array(values, dtype=np.float64) for values in chosen]) if chosen else np.empty(0)


def _det(axis: Axes, targets: np.ndarray, nontargets: np.ndarray, colour: str) -> None:
    if not len(targets) or not len(nontargets):
        return
    from scipy.special import ndtri

    curve = det_curve(pool(targets, nontargets))
    with np.errstate(divide="ignore"):
        x, y = (np.clip(ndtri(p), -8, 8) for p in (curve.p_fa, curve.p_miss))
    axis.plot(x, y, color=colour, lw=1.4)


def _det_axes(axis: Axes, title: str) -> None:
    from scipy.special import ndtri

    names = [f"{100 * tick:g}" for tick in _TICKS]
    places = ndtri(np.array(_TICKS))
    axis.set_xticks(places, names)
    axis.set_yticks(places, names)
    axis.set(xlim=(ndtri(0.008), ndtri(0.97)), ylim=(ndtri(0.008), ndtri(0.97)), aspect="equal")
    axis.axline((0, 0), slope=1, color=MUTED, lw=0.8, ls=(0, (1, 1.5)))
    axis.set_title(title)


def _det_labels(figure: Figure) -> None:
    figure.supxlabel("false alarms (%)", fontsize=8.5)
    figure.supylabel("misses (%)", fontsize=8.5)


def _mark_simulated(figure: Figure, systems: Mapping[str, Mapping[str, Any]]) -> Figure:
    """Write SIMULATED across the figure if the listeners were."""
    if any(content["simulated"] for content in systems.values()):
        figure.text(
            0.5,
            0.5,
            "SIMULATED LISTENERS",
            ha="center",
            va="center",
            rotation=24,
            fontsize=26,
            color=PALETTE[4],
            alpha=0.28,
            fontweight="bold",
            zorder=10,
        )
    return figure
