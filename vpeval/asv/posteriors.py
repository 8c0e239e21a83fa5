"""Scores of classes become posteriors: one slope and an offset per class, by logistic regression on other speakers.

With scores s_c of class c, centred and of unit variance over the speech that the calibration has seen,

    p(c | s) ∝ p(c) · exp(t·s_c + b_c),   t ≥ 0.

Slope and offsets minimise the cross-entropy with all classes weighted alike, offsets being held back as by one speaker
at 0. t = 0 and b = 0 repeat the prior: scores that say nothing give nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.metrics.vectors import Counts

Floats = NDArray[np.float64]

_STEEPEST = 30.0
_DIGITS = 9


@dataclass(frozen=True)
class Posterior:
    """A calibration, and the cross-entropy in nats that it left."""

    centre: Floats
    scale: float
    slope: float
    offsets: Floats
    loss: float

    def __call__(self, scores: Floats, prior: Floats) -> Floats:
        """Posteriors of rows of scores."""
        with np.errstate(divide="ignore"):
            offsets = self.offsets + np.log(prior)
        return np.exp(_log_softmax(self.slope * _scaled(scores, self.centre, self.scale) + offsets))


def fit(scores: Floats, truth: Counts, weights: Floats, speakers: int) -> Posterior:
    """Calibrate rows of scores of known classes, with weights of the rows, by which all classes weigh the same."""
    from scipy.optimize import minimize

    share = weights / weights.sum()
    level = scores - scores.mean(axis=1, keepdims=True)
    centre = np.einsum("n,nc->c", share, level)
    scale = float(np.sqrt(np.einsum("n,nc->", share, np.square(level - centre)) / scores.shape[1])) or 1.0
    x = _scaled(scores, centre, scale)
    rows = np.arange(len(truth))

    def loss(theta: Floats) -> tuple[float, Floats]:
        logs = _log_softmax(theta[0] * x + theta[1:])
        wrong = np.exp(logs)
        wrong[rows, truth] -= 1
        wrong *= share[:, None]
        value = -float((share * logs[rows, truth]).sum()) + float(np.square(theta[1:]).sum()) / (2 * speakers)
        return value, np.concatenate(([(wrong * x).sum()], wrong.sum(axis=0) + theta[1:] / speakers))

    bounds = [(0.0, _STEEPEST), *[(-_STEEPEST, _STEEPEST)] * scores.shape[1]]
    found = minimize(loss, np.zeros(1 + scores.shape[1]), jac=True, method="L-BFGS-B", bounds=bounds)
    return Posterior(centre, scale, float(found.x[0]), found.x[1:], float(found.fun))


def _scaled(scores: Floats, centre: Floats, scale: float) -> Floats:
    """Scores on the scale of the calibration, without digits that depend on the threads of a matrix product."""
    level = scores - scores.mean(axis=1, keepdims=True)
    return np.round((level - centre) / scale, _DIGITS)


def _log_softmax(x: Floats) -> Floats:
    top = x.max(axis=1, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(axis=1, keepdims=True))
