"""Scores of classes become posteriors: one slope and an offset per class, by logistic regression on other speakers.

With scores s_c of class c, centred and of unit variance over the speech that the calibration has seen,

    p(c | s) = (1-ε) · p(c) exp(t·s_c + b_c) / Σ_k p(k) exp(t·s_k + b_k) + ε · p(c),   t ≥ 0:

with probability ε a voice is none of those that scores tell anything about. Slope, offsets and ε minimise the
cross-entropy with all classes weighted alike, offsets being held back as by one speaker at 0; ε is at least 1/(n+1) for
n speakers, as nobody can be surer than that. t = 0 and b = 0 repeat the prior: scores that say nothing give nothing.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.metrics.vectors import Counts

Floats = NDArray[np.float64]

_STEEPEST = 30.0
_MOST_DOUBT = 0.5
_DIGITS = 9


@dataclass(frozen=True)
class Posterior:
    """A calibration, and the cross-entropy in nats that it left."""

    centre: Floats
    scale: float
    slope: float
    offsets: Floats
    doubt: float
    loss: float

    def __call__(self, scores: Floats, prior: Floats) -> Floats:
        """Posteriors of rows of scores."""
        with np.errstate(divide="ignore"):
            offsets = self.offsets + np.log(prior)
        told = np.exp(_log_softmax(self.slope * _scaled(scores, self.centre, self.scale) + offsets))
        return (1 - self.doubt) * told + self.doubt * prior


def fit(scores: Floats, truth: Counts, weights: Floats, speakers: int) -> Posterior:
    """Calibrate rows of scores of known classes, with weights of the rows, by which all classes weigh the same."""
    from scipy.optimize import minimize

    share = weights / weights.sum()
    level = scores - scores.mean(axis=1, keepdims=True)
    centre = np.einsum("n,nc->c", share, level)
    scale = float(np.sqrt(np.einsum("n,nc->", share, np.square(level - centre)) / scores.shape[1])) or 1.0
    x = _scaled(scores, centre, scale)
    rows = np.arange(len(truth))

    n_classes = scores.shape[1]

    def loss(theta: Floats) -> tuple[float, Floats]:
        slope, doubt, offsets = theta[0], theta[1], theta[2:]
        told = np.exp(_log_softmax(slope * x + offsets))
        own = told[rows, truth]
        mixed = (1 - doubt) * own + doubt / n_classes
        # How much of the posterior of the true class comes from the scores scales the error of every class.
        wrong = told
        wrong[rows, truth] -= 1
        wrong *= (share * (1 - doubt) * own / mixed)[:, None]
        value = -float((share * np.log(mixed)).sum()) + float(np.square(offsets).sum()) / (2 * speakers)
        of_doubt = -float((share * (1 / n_classes - own) / mixed).sum())
        return value, np.concatenate(([(wrong * x).sum(), of_doubt], wrong.sum(axis=0) + offsets / speakers))

    least = 1 / (speakers + 1)
    bounds = [(0.0, _STEEPEST), (least, _MOST_DOUBT), *[(-_STEEPEST, _STEEPEST)] * n_classes]
    start = np.concatenate(([0.0, least], np.zeros(n_classes)))
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    return Posterior(centre, scale, float(found.x[0]), found.x[2:], float(found.x[1]), float(found.fun))


def _scaled(scores: Floats, centre: Floats, scale: float) -> Floats:
    """Scores on the scale of the calibration, without digits that depend on the threads of a matrix product."""
    level = scores - scores.mean(axis=1, keepdims=True)
    return np.round((level - centre) / scale, _DIGITS)


def _log_softmax(x: Floats) -> Floats:
    top = x.max(axis=1, keepdims=True)
    return x - top - np.log(np.exp(x - top).sum(axis=1, keepdims=True))
