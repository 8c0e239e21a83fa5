"""McAdams coefficient anonymisation, the B2 baseline of the VoicePrivacy challenges.

Each frame is split by linear prediction into a residual and an all-pole filter; the angle φ of every complex pole is
moved to φ^α, which shifts the formants, and the residual is filtered again (VPC 2020 plan, section 6.2; McAdams 1984;
Patino et al., Interspeech 2021). All frames are computed together: Burg's recursion, the roots as eigenvalues of
companion matrices, and both filters run over arrays of frames.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Edition = Literal["2020", "2022", "2024"]
_EPS = np.finfo(np.float32).eps


@dataclass(frozen=True)
class McAdams:
    """The transform of one utterance; the defaults are those of the 2020 challenge."""

    alpha: float = 0.8
    order: int = 20
    window_seconds: float = 0.02
    shift_seconds: float = 0.01
    skip_first_frame: bool = True
    clip_angles: bool = True

    def __call__(self, wave: NDArray[np.float32], rate: int) -> NDArray[np.float64]:
        """Anonymise mono samples; the output has the length of the input and, unless silent, a peak of 1."""
        size, shift = int(self.window_seconds * rate), int(self.shift_seconds * rate)
        signal = np.asarray(wave, np.float64) + _EPS
        short = max(0, size + shift - len(signal))
        padded = np.pad(signal, (0, short), constant_values=_EPS)
        window = np.hanning(size)
        window = np.sqrt(window * shift / window.sum())

        starts = np.arange(int(self.skip_first_frame), 1 + (len(padded) - size) // shift) * shift
        frames = padded[starts[:, None] + np.arange(size)] * window
        shifted = self._transform(frames) * window

        output = np.zeros(len(padded))
        np.add.at(output, starts[:, None] + np.arange(size), shifted)
        output = output[: len(signal)]
        peak = np.abs(output).max(initial=0.0)
        return output / peak if peak > _EPS else output

    def _transform(self, frames: NDArray[np.float64]) -> NDArray[np.float64]:
        lpc = burg(frames + _EPS, self.order)
        residual = _filter_fir(lpc, frames)
        return _filter_all_pole(_poly(self._move(_roots(lpc))), residual)

    def _move(self, poles: NDArray[np.complex128]) -> NDArray[np.complex128]:
        angles = np.abs(np.angle(poles)) ** self.alpha
        if self.clip_angles:
            angles = np.clip(angles, 0, np.pi)
        moved = np.abs(poles) * np.exp(1j * np.sign(poles.imag) * angles)
        return np.where(poles.imag == 0, poles, moved)


def edition(name: Edition, alpha: float | None = None, seed: int = 0) -> McAdams:
    """The transform as a challenge edition defines it.

    2020: α = 0.8. 2022 and 2024: α drawn uniformly from 0.5–0.9 with `seed`; 2024 keeps the first frame and does not
    clip angles. `alpha` overrides the rule.
    """
    if alpha is None:
        alpha = 0.8 if name == "2020" else float(np.random.default_rng(seed).uniform(0.5, 0.9))
    return McAdams(alpha=alpha, skip_first_frame=name != "2024", clip_angles=name != "2024")


def burg(frames: NDArray[np.float64], order: int) -> NDArray[np.float64]:
    """Linear prediction coefficients [1, a1, …] of every row by Burg's method."""
    lpc = np.zeros((len(frames), order + 1))
    lpc[:, 0] = 1
    forward, backward = frames[:, 1:], frames[:, :-1]
    power = (forward**2 + backward**2).sum(axis=1)
    for step in range(order):
        reflection = -2 * (forward * backward).sum(axis=1) / (power + np.finfo(np.float64).tiny)
        k = reflection[:, None]
        lpc[:, 1 : step + 2] += k * lpc[:, step::-1]
        forward, backward = forward + k * backward, backward + k * forward
        power = (1 - reflection**2) * power - backward[:, -1] ** 2 - forward[:, 0] ** 2
        forward, backward = forward[:, 1:], backward[:, :-1]
    return lpc


def _roots(lpc: NDArray[np.float64]) -> NDArray[np.complex128]:
    order = lpc.shape[1] - 1
    companion = np.zeros((len(lpc), order, order))
    companion[:, 0, :] = -lpc[:, 1:]
    companion[:, np.arange(1, order), np.arange(order - 1)] = 1
    return np.linalg.eigvals(companion).astype(np.complex128)


def _poly(roots: NDArray[np.complex128]) -> NDArray[np.float64]:
    coefficients = np.zeros((len(roots), roots.shape[1] + 1), np.complex128)
    coefficients[:, 0] = 1
    for number, root in enumerate(roots.T, start=1):
        coefficients[:, 1 : number + 1] -= root[:, None] * coefficients[:, :number]
    return coefficients.real


def _filter_fir(taps: NDArray[np.float64], frames: NDArray[np.float64]) -> NDArray[np.float64]:
    output = np.zeros_like(frames)
    for delay, tap in enumerate(taps.T):
        output[:, delay:] += tap[:, None] * frames[:, : frames.shape[1] - delay]
    return output


def _filter_all_pole(taps: NDArray[np.float64], frames: NDArray[np.float64]) -> NDArray[np.float64]:
    order = taps.shape[1] - 1
    # Time runs along the first axis, newest last, so that each step reads `order` neighbouring rows.
    output = np.zeros((order + frames.shape[1], len(frames)))
    backwards = taps[:, :0:-1].T
    for now, sample in enumerate(frames.T):
        output[order + now] = sample - (backwards * output[now : now + order]).sum(axis=0)
    return output[order:].T
