"""Score calibration by logistic regression: LLR = a·s + b (Brümmer & du Preez, 2006).

Targets and nontargets weigh the same, so that the result is a log-likelihood ratio whatever their numbers. The wanted
posteriors are Platt's (Nt + 1)/(Nt + 2) and 1/(Nn + 2) instead of 1 and 0: perfectly separated scores would otherwise
have an infinite slope.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Calibration:
    """An increasing straight line from scores to log-likelihood ratios."""

    slope: float
    offset: float

    def __call__(self, scores: Floats) -> Floats:
        """Calibrated scores."""
        return self.slope * scores + self.offset


def fit(targets: Floats, nontargets: Floats) -> Calibration:
    """The line that is best for scores of known trials; a falling line is cut off at 0 (no information)."""
    scores = np.concatenate((targets, nontargets))
    centre, spread = scores.mean(), scores.std() or 1.0
    x = (scores - centre) / spread
    wanted = np.r_[
        np.full(len(targets), (len(targets) + 1) / (len(targets) + 2)),
        np.full(len(nontargets), 1 / (len(nontargets) + 2)),
    ]
    weight = np.r_[np.full(len(targets), 0.5 / len(targets)), np.full(len(nontargets), 0.5 / len(nontargets))]

    def loss(line: Floats) -> tuple[float, Floats]:
        llr = line[0] * x + line[1]
        entropy = wanted * np.logaddexp(0, -llr) + (1 - wanted) * np.logaddexp(0, llr)
        slope = weight * (expit(llr) - wanted)
        return float(weight @ entropy), np.array([slope @ x, slope.sum()])

    found = minimize(loss, np.array([1.0, 0.0]), jac=True, method="L-BFGS-B", bounds=[(0, None), (None, None)])
    slope = float(found.x[0] / spread)
    return Calibration(slope, float(found.x[1] - slope * centre))
