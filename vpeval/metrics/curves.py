"""Curves behind the verification numbers, as data for figures.

DET: the corners of the staircase (Pfa, Pmiss), from "accept all" to "reject all" (Martin et al., The DET curve, 1997).
ECE: empirical cross-entropy over the prior log-odds, natural logarithm (Ramos & Gonzalez-Rodriguez, Reliable support:
measuring calibration of likelihood ratios, 2013): without evidence (default), of the scores as they are (actual),
and after PAV calibration (minimum). The area between default and minimum over the prior is ZEBRA's population value.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vpeval.metrics.cllr import cross_entropy
from vpeval.metrics.scores import Floats, PooledScores


@dataclass(frozen=True)
class DetCurve:
    """Points of a DET curve; the threshold rises from point to point."""

    p_fa: Floats
    p_miss: Floats


@dataclass(frozen=True)
class EceCurves:
    """Cross-entropies in bits at each prior log-odds."""

    prior_log_odds: Floats
    default: Floats
    actual: Floats
    minimum: Floats


def det_curve(pooled: PooledScores, max_points: int = 2000) -> DetCurve:
    """The corners of the DET staircase; more than `max_points` are subsample_ranks to equal steps on logit axes."""
    misses = np.concatenate(([0], np.cumsum(pooled.targets)))
    false_alarms = np.concatenate((np.cumsum(pooled.nontargets[::-1])[::-1], [0]))
    # A point between two steps in the same direction lies on a straight line and shows nothing.
    straight = ((misses[2:] == misses[:-2]) | (false_alarms[2:] == false_alarms[:-2])).nonzero()[0] + 1
    misses, false_alarms = np.delete(misses, straight), np.delete(false_alarms, straight)
    p_fa, p_miss = false_alarms / pooled.n_nontargets, misses / pooled.n_targets
    if len(p_fa) > max_points:
        length = _logit_steps(p_fa, pooled.n_nontargets) + _logit_steps(p_miss, pooled.n_targets)
        path = np.concatenate(([0], np.cumsum(length)))
        kept = np.unique(np.searchsorted(path, np.linspace(0, path[-1], max_points)))
        p_fa, p_miss = p_fa[kept], p_miss[kept]
    return DetCurve(p_fa, p_miss)


def ece_curves(pooled: PooledScores, limit: float = 7.0, points: int = 141) -> EceCurves:
    """The three ECE curves over prior log-odds from -limit to limit."""
    prior_log_odds = np.linspace(-limit, limit, points)
    blocks = pooled.blocks
    no_evidence, one = np.zeros(1), np.ones(1, dtype=np.int64)
    return EceCurves(
        prior_log_odds,
        default=cross_entropy(no_evidence, one, one, prior_log_odds),
        actual=cross_entropy(pooled.score, pooled.targets, pooled.nontargets, prior_log_odds),
        minimum=cross_entropy(pooled.hull.llr, blocks.targets, blocks.nontargets, prior_log_odds),
    )


def _logit_steps(p: Floats, trials: int) -> Floats:
    """Distances between neighbouring points on a logit axis; 0 and 1 stand half a trial away from the ends."""
    inside = np.clip(p, 0.5 / trials, 1 - 0.5 / trials)
    return np.abs(np.diff(np.log(inside / (1 - inside))))
