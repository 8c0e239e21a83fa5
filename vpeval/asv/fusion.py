"""Several attackers as one: their scores are weighed and added, the toolkit's estimate of the worst case.

LLR = Σ w_a · s_a + b with w_a ≥ 0 by logistic regression (Brümmer et al., IEEE TASLP 15(7), 2007), trained on trials of
the development sets, never on those under test. No attacker is turned round: one that is worse than chance on the
development speakers gets the weight 0. Where all are, their mean is used, so that a fusion never claims chance where a
member may know something, as ratios near 1. Scores of the development sets themselves are fused with weights from other
speakers (`fuse_held_out`), so that they are no better than an attacker could have them.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vpeval.core.arrays import Bools, Floats, Indices
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.seeds import generator

log = logging.getLogger(__name__)
_RIDGE = 1e-3  # on weights of standardised scores: attackers that say the same share the weight instead of fighting
_FOLDS = 5
_FAINT = 1e-3  # size of log-likelihood ratios that development trials do not support


@dataclass(frozen=True)
class Fusion:
    """A weight for every attacker, and an offset; fused scores are log-likelihood ratios."""

    attackers: tuple[str, ...]
    weights: Floats
    offset: float

    def __call__(self, scores: Floats) -> Floats:
        """Fused scores of trials × attackers."""
        if scores.ndim != 2 or scores.shape[1] != len(self.attackers):
            raise ValueError(f"scores of {len(self.attackers)} attackers are expected, not {scores.shape}")
        fused: Floats = scores @ self.weights + self.offset
        return fused


def fit(attackers: Sequence[str], scores: Floats, is_target: Bools) -> Fusion:
    """The weights that are best for development trials (trials × attackers)."""
    from scipy.optimize import minimize  # on demand, as every scorer imports this module and few need it
    from scipy.special import expit

    _check(attackers, scores, is_target)
    centre, spread = scores.mean(axis=0), scores.std(axis=0)
    spread[spread == 0] = 1.0
    x = (scores - centre) / spread
    n_targets, n_nontargets = int(is_target.sum()), int((~is_target).sum())
    wanted = np.where(is_target, (n_targets + 1) / (n_targets + 2), 1 / (n_nontargets + 2))
    weight = np.where(is_target, 0.5 / n_targets, 0.5 / n_nontargets)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        llr = x @ parameters[:-1] + parameters[-1]
        entropy = wanted * np.logaddexp(0, -llr) + (1 - wanted) * np.logaddexp(0, llr)
        slope = weight * (expit(llr) - wanted)
        penalty = _RIDGE * float(parameters[:-1] @ parameters[:-1])
        gradient = np.append(x.T @ slope + 2 * _RIDGE * parameters[:-1], slope.sum())
        return float(weight @ entropy) + penalty, gradient

    start = np.append(np.full(len(attackers), 1.0 / len(attackers)), 0.0)
    bounds = [(0, None)] * len(attackers) + [(None, None)]
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    weights = found[:-1] / spread
    if not weights.any():
        log.warning(
            "none of %s is better than chance on the development trials; their mean is used", ", ".join(attackers)
        )
        weights = _FAINT / len(attackers) / spread
        return Fusion(tuple(attackers), weights, float(-weights @ centre))
    return Fusion(tuple(attackers), weights, float(found[-1] - weights @ centre))


def fuse_held_out(
    attackers: Sequence[str], scores: Floats, is_target: Bools, enroll: Indices, speaker: Indices, seed: int = 0
) -> Floats:
    """Fused scores of development trials, each with weights from trials of other speakers.

    `enroll` and `speaker` are the enrolled speaker of every trial and who speaks in it. Enrolled speakers are dealt to
    folds; the weights for a fold come from the trials in which none of its speakers takes part.
    """
    _check(attackers, scores, is_target)
    known = np.unique(np.concatenate((enroll, speaker)))
    order = generator(seed, "folds of a fusion").permutation(known)
    fused = np.empty(len(scores))
    for held in np.array_split(order, min(_FOLDS, len(known))):
        inside = np.isin(enroll, held)
        outside = ~inside & ~np.isin(speaker, held)
        if not inside.any():
            continue
        if is_target[outside].all() or not is_target[outside].any():
            raise InputError(f"{len(known)} development speakers are too few to fuse attackers without looking at them")
        fused[inside] = fit(attackers, scores[outside], is_target[outside])(scores[inside])
    return fused


def _check(attackers: Sequence[str], scores: Floats, is_target: Bools) -> None:
    if len(attackers) < 2 or len(set(attackers)) < len(attackers):
        raise InputError(f"a fusion is of two or more different attackers, not of '{' '.join(attackers)}'")
    if scores.shape != (len(is_target), len(attackers)):
        raise ValueError(f"{len(is_target)} trials × {len(attackers)} attackers are expected, not {scores.shape}")
    if not np.isfinite(scores).all():
        raise InputError("attackers to be fused have scores that are not finite; score the trials again")
    if is_target.all() or not is_target.any():
        raise InputError("development trials need targets and nontargets to fuse attackers")


def write_weights(path: Path, fusion: Fusion) -> None:
    """Write a fusion as JSON."""
    weights = dict(zip(fusion.attackers, fusion.weights.tolist(), strict=True))
    write_text(path, json.dumps({"weights": weights, "offset": fusion.offset}, indent=1) + "\n")


def read_weights(path: Path) -> Fusion:
    """Read what `write_weights` wrote."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        weights = {str(name): float(weight) for name, weight in found["weights"].items()}
        return Fusion(tuple(weights), np.array(list(weights.values())), float(found["offset"]))
    except FileNotFoundError:
        raise InputError("no such weights of a fusion; run stage 6", path) from None
    except (ValueError, KeyError, TypeError, AttributeError):
        raise InputError("holds no weights of a fusion; run stage 6 again", path) from None
