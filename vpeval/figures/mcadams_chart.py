"""What the McAdams coefficient does to a frame of speech (VoicePrivacy 2020 plan, section 6.2, Figures 4 to 6)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from vpeval.anon.mcadams import Complex, McAdams, burg, polynomials, roots
from vpeval.core.arrays import Floats
from vpeval.figures.drawing import INK, MUTED, PALETTE, grid, legend, note

_POINTS = 512
_MARKS = ("^", "v", "s", "D", "P", "X")


@dataclass(frozen=True)
class Frame:
    """The all-pole model of a frame: its poles, and those that each coefficient α moves them to."""

    poles: Complex
    moved: dict[float, Complex]
    seconds: float


def analyse_frame(wave: Floats, rate: int, alphas: Sequence[float], seconds: float | None = None) -> Frame:
    """The model of the frame at `seconds`, or of the loudest one, as the baseline makes it."""
    transform = McAdams()
    size, shift = int(transform.window_seconds * rate), int(transform.shift_seconds * rate)
    starts = np.arange(0, max(1, len(wave) - size + 1), shift)
    frames = np.stack([np.pad(wave[start : start + size], (0, max(0, size - len(wave)))) for start in starts])
    number = int(np.square(frames).sum(axis=1).argmax())
    if seconds is not None:
        number = int(np.clip(round(seconds * rate / shift), 0, len(starts) - 1))
    window = np.hanning(size)
    poles = roots(burg((frames[number] * np.sqrt(window))[:, None], transform.order))
    moved = {alpha: replace(transform, alpha=alpha).move(poles)[:, 0] for alpha in alphas}
    return Frame(poles[:, 0], moved, float(starts[number] / rate))


def envelope(poles: Complex, rate: int) -> tuple[Floats, Floats]:
    """Frequencies in kHz, and the magnitude of the all-pole filter with a gain of 1 in dB.

    >>> hertz, level = envelope(np.array([0.5 + 0j]), 16000)
    >>> hertz[[0, -1]].tolist(), level[[0, -1]].round(2).tolist()
    ([0.0, 8.0], [6.02, -3.52])
    """
    angles = np.linspace(0, np.pi, _POINTS)
    points = np.exp(-1j * np.outer(angles, np.arange(len(poles) + 1)))
    response = np.abs(points @ polynomials(poles[:, None])[:, 0])
    return angles / np.pi * rate / 2000, -20 * np.log10(response)


def mcadams_figure(frame: Frame, rate: int) -> Figure:
    """Three panels: where angles go, the envelopes, and the poles of the upper half plane."""
    figure, ((angles, envelopes, plane),) = grid(1, 3, height=2.6)
    colours = dict(zip(frame.moved, PALETTE, strict=False))
    _draw_angles(angles, frame, colours)
    envelopes.plot(*envelope(frame.poles, rate), color=INK, lw=1.2)
    for alpha, poles in frame.moved.items():
        envelopes.plot(*envelope(poles, rate), color=colours[alpha], lw=1.2)
    envelopes.set(title="Spectral envelope", xlabel="Frequency, kHz", ylabel="Level, dB")
    circle = np.exp(1j * np.linspace(0, np.pi, 200))
    plane.plot(circle.real, circle.imag, color=MUTED, lw=0.7)
    plane.plot(np.cos(1), np.sin(1), marker="+", color=MUTED, ms=7)
    upper = frame.poles.imag > 0
    plane.plot(frame.poles.real[upper], frame.poles.imag[upper], "x", color=INK, ms=5)
    for (alpha, poles), mark in zip(frame.moved.items(), _MARKS, strict=False):
        plane.plot(poles.real[upper], poles.imag[upper], mark, color=colours[alpha], ms=4, mfc="none")
    plane.set(title="Poles", xlabel="Real part", ylabel="Imaginary part", aspect="equal")
    plane.set(xlim=(-1.1, 1.1), ylim=(-0.05, 1.1))
    handles = [Line2D([], [], color=INK, marker="x", ms=5, lw=1.2, label="original")]
    handles += [
        Line2D([], [], color=colours[alpha], marker=mark, ms=4, mfc="none", lw=1.2, label=f"α = {alpha:g}")
        for alpha, mark in zip(frame.moved, _MARKS, strict=False)
    ]
    legend(figure, handles)
    pivot = rate / (2 * np.pi) / 1000
    note(
        figure,
        [
            f"Frame of {1000 * McAdams.window_seconds:.0f} ms at {frame.seconds:.2f} s, linear prediction of order "
            f"{McAdams.order}. Poles on the real axis stay, as does the angle of 1 radian ({pivot:.2f} kHz, cross): "
            "α below 1 draws the others towards it, α above 1 drives them away."
        ],
    )
    return figure


def _draw_angles(axis: Axes, frame: Frame, colours: dict[float, str]) -> None:
    """The angle of every pole before and after."""
    angles = np.linspace(0, np.pi, _POINTS)
    axis.plot(angles, angles, color=MUTED, lw=0.7)
    upper = frame.poles.imag > 0
    for (alpha, poles), mark in zip(frame.moved.items(), _MARKS, strict=False):
        axis.plot(angles, np.minimum(angles**alpha, np.pi), color=colours[alpha], lw=0.8)
        before, after = np.angle(frame.poles[upper]), np.angle(poles[upper])
        axis.plot(before, after, mark, color=colours[alpha], ms=4, mfc="none")
    axis.set(title="Angle φ to φ^α", xlabel="φ before, rad", ylabel="φ after, rad", xlim=(0, np.pi), ylim=(0, np.pi))
