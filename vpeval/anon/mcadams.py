"""McAdams coefficient anonymisation, the B2 baseline of the VoicePrivacy challenges.

Each frame is split by linear prediction into a residual and an all-pole filter; the angle φ of every complex pole is
moved to φ^α, which shifts the formants, and the residual is filtered again (VPC 2020 plan, section 6.2; McAdams 1984;
Patino et al., Interspeech 2021). All frames are computed together. Inside, an array has one column per frame, so that
every step of a recursion over time or order is one operation on contiguous memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vpeval.core.arrays import AnyFloats, Floats, Floats32
from vpeval.core.errors import InputError

Edition = Literal["2020", "2022", "2024"]
Complex = NDArray[np.complex128]
Guess = NDArray[Any]  # complex, of either precision

_EPS = np.finfo(np.float32).eps
_TINY = np.finfo(np.float64).tiny
_BLOCK = 1024  # frames at a time: enough to make a call of numpy worth it, few enough for the cache
_NEAR = 1e-6  # convergence is cubic: what is missing after so small a step is far below rounding
_REAL = 1e-8  # the imaginary part of a root below which it is real; complex speech poles stay above 1e-4
_ROUNDING = 1e-11


@dataclass(frozen=True)
class McAdams:
    """The transform of one utterance; the defaults are those of the 2020 challenge."""

    alpha: float = 0.8
    order: int = 20
    window_seconds: float = 0.02
    shift_seconds: float = 0.01
    skip_first_frame: bool = True
    clip_angles: bool = True
    peak: float = 1.0

    def __call__(self, wave: Floats32, rate: int) -> Floats:
        """Anonymise mono samples; the output has the length of the input and, unless silent, the edition's peak."""
        size, shift = int(self.window_seconds * rate), int(self.shift_seconds * rate)
        if not 0 < self.order < size or not 0 < shift <= size:
            raise InputError(
                f"order {self.order}, window {size} and shift {shift} samples do not fit together: "
                "the order must be at least 1 and below the window, the shift at least 1 and at most the window"
            )
        signal = np.asarray(wave, np.float64) + _EPS
        padded = np.pad(signal, (0, max(0, size + shift - len(signal))), constant_values=_EPS)
        window = np.hanning(size)
        window = np.sqrt(window * shift / window.sum())[:, None]

        starts = np.arange(int(self.skip_first_frame), 1 + (len(padded) - size) // shift) * shift
        output = np.zeros(len(padded))
        for block in np.split(starts, range(_BLOCK, len(starts), _BLOCK)):
            places = np.arange(size)[:, None] + (block - block[0])
            span = slice(block[0], block[-1] + size)
            moved = self._transform(padded[span][places] * window) * window
            output[span] += np.bincount(places.ravel(), moved.ravel())
        output = output[: len(signal)]
        highest = np.abs(output).max(initial=0.0)
        # Digital silence stays silent, rather than becoming rounding errors at full scale.
        return output * (self.peak / highest) if highest > 0 and np.any(wave) else output

    def _transform(self, frames: Floats) -> Floats:
        lpc = burg(frames + _EPS, self.order)
        return filter_all_pole(polynomials(self.move(roots(lpc))), filter_fir(lpc, frames))

    def move(self, poles: Complex) -> Complex:
        """The poles with their angles φ moved to φ^α; real ones stay."""
        angles = np.abs(np.angle(poles)) ** self.alpha
        if self.clip_angles:
            angles = np.clip(angles, 0, np.pi)
        moved = np.abs(poles) * np.exp(1j * np.sign(poles.imag) * angles)
        return np.where(poles.imag == 0, poles, moved)


def edition(name: Edition) -> McAdams:
    """The transform as a challenge edition has it.

    2020 and 2022 leave out the first frame and keep moved angles within [0, π]; 2024 (and 2026) does neither. 2020
    writes at a peak of full scale, the others just below it.
    """
    peak = 1.0 if name == "2020" else 32766 / 32768
    return McAdams(skip_first_frame=name != "2024", clip_angles=name != "2024", peak=peak)


def draw_alpha(name: Edition, rng: np.random.Generator) -> float:
    """The edition's exponent: 0.8 in 2020, drawn from 0.5–0.9 later."""
    return 0.8 if name == "2020" else float(rng.uniform(0.5, 0.9))


def burg(frames: Floats, order: int) -> Floats:
    """Linear prediction coefficients [1, a1, …] of every column by Burg's method."""
    lpc = np.zeros((order + 1, frames.shape[1]))
    lpc[0] = 1
    forward, backward = frames[1:].copy(), frames[:-1].copy()
    scratch = np.empty((2, *forward.shape))
    power = np.einsum("tf,tf->f", forward, forward) + np.einsum("tf,tf->f", backward, backward)
    for step in range(order):
        product = np.einsum("tf,tf->f", forward, backward)
        # What is left of a pure tone is rounding error, also in `power`: unclipped, its filter would blow up.
        reflection = np.clip(-2 * product / np.maximum(power, _TINY), -1, 1)
        lpc[1 : step + 2] += reflection * lpc[step::-1]
        left = np.multiply(forward, reflection, out=scratch[0, : len(forward)])
        right = np.multiply(backward, reflection, out=scratch[1, : len(forward)])
        forward += right
        backward += left
        power = (1 - reflection**2) * power - backward[-1] ** 2 - forward[0] ** 2
        forward, backward = forward[1:], backward[:-1]
    return lpc


def roots(coefficients: Floats) -> Complex:
    """Roots of the polynomials whose coefficients, highest power first and 1, are the columns.

    Ehrlich and Aberth's iteration on all columns at once, three times as fast as eigenvalues of companion matrices.
    Its result is multiplied out again: a column that does not come back (roots in a cluster, as silence has
    them) gets its eigenvalues after all. Roots of a real pair have an imaginary part of exactly 0.
    """
    with np.errstate(all="ignore"):
        found = _aberth(coefficients)
        found.imag[np.abs(found.imag) < _REAL] = 0
        error = np.abs(polynomials(found) - coefficients).max(axis=0)
    bad = ~(error < _ROUNDING * np.abs(coefficients).max(axis=0))
    if bad.any():
        found[:, bad] = _eigenvalues(coefficients[:, bad])
    return found


def _aberth(coefficients: Floats, most_steps: int = 40) -> Complex:
    order = len(coefficients) - 1
    radius = np.abs(coefficients[-1]) ** (0.5 / order)
    # Off the real axis and not symmetric to it, or pairs of real roots would never separate.
    guess = radius * np.exp(2j * np.pi * (np.arange(order)[:, None] + 0.45) / order)
    guess = _approach(coefficients, guess)
    found = np.empty_like(guess)
    todo = np.arange(coefficients.shape[1])
    for _ in range(most_steps):
        step = _aberth_step(coefficients, guess)
        guess -= step
        done = np.abs(step).max(axis=0) < _NEAR
        if done.mean() > 0.2:
            found[:, todo[done]] = guess[:, done]
            todo, guess, coefficients = todo[~done], guess[:, ~done], coefficients[:, ~done]
        if not len(todo):
            break
    found[:, todo] = guess
    return found


def _approach(coefficients: Floats, guess: Complex) -> Complex:
    """The first steps, which need no precision, at half the price."""
    rough, coarse = guess.astype(np.complex64), coefficients.astype(np.float32)
    for _ in range(7):
        rough -= _aberth_step(coarse, rough)
    return rough.astype(np.complex128)


def _aberth_step(coefficients: AnyFloats, guess: Guess) -> Guess:
    """Newton's step at each guess, held off by the other guesses."""
    value = np.ones_like(guess)
    slope = np.zeros_like(guess)
    for coefficient in coefficients[1:]:
        slope *= guess
        slope += value
        value *= guess
        value += coefficient
    newton = value / slope
    return newton / (1 - newton * _push(guess))


def _push(guess: Guess) -> Guess:
    """Sum of 1/(a - b) over all other guesses b, each pair divided once, as 1/(b - a) is its negative."""
    order = len(guess)
    half = order // 2
    ring = np.concatenate((guess, guess[:half]))
    push = np.zeros_like(ring)
    for apart in range(1, half + 1):
        # An even order has only half as many pairs of opposite places in the ring.
        count = order if 2 * apart < order else half
        inverse = 1 / (guess[:count] - ring[apart : apart + count])
        push[:count] += inverse
        push[apart : apart + count] -= inverse
    push[:half] += push[order:]
    return push[:order]


def _eigenvalues(coefficients: Floats) -> Complex:
    order = len(coefficients) - 1
    companion = np.zeros((coefficients.shape[1], order, order))
    companion[:, 0] = -coefficients[1:].T
    companion[:, np.arange(1, order), np.arange(order - 1)] = 1
    return np.linalg.eigvals(companion).T.astype(np.complex128)


def polynomials(roots: Complex) -> Floats:
    """Coefficients, highest power first, of the real polynomials that have the columns as roots."""
    coefficients = np.zeros((len(roots) + 1, roots.shape[1]), np.complex128)
    coefficients[0] = 1
    for number, root in enumerate(roots, start=1):
        coefficients[1 : number + 1] -= root * coefficients[:number]
    return coefficients.real


def filter_fir(taps: Floats, frames: Floats) -> Floats:
    """Every column of `frames` through its own column of `taps`, from rest."""
    output = taps[0] * frames
    for delay, tap in enumerate(taps[1:], start=1):
        output[delay:] += tap * frames[:-delay]
    return output


def filter_all_pole(taps: Floats, frames: Floats) -> Floats:
    """Every column of `frames` through one over its own column of `taps`, from rest."""
    order = len(taps) - 1
    output = np.zeros((order + len(frames), frames.shape[1]))
    output[order:] = frames
    backwards = np.ascontiguousarray(taps[:0:-1])
    for now in range(len(frames)):
        output[order + now] -= np.einsum("of,of->f", backwards, output[now : now + order])
    return output[order:]
