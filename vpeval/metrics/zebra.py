"""ZEBRA: disclosure of a safeguard in zero-evidence terms (Nautsch et al., The Privacy ZEBRA, Interspeech 2020).

Population (expected disclosure, bits): D_ECE = ∫ H2(π) - ECE_min(π) dπ over the prior π in [0, 1]. In closed form
(1/ln2)·[mean over targets of Z(l) + mean over nontargets of Z(-l)] with Z(a) = 1/4 + (a-b)/(2b²), b = e^a - 1 and l the
PAV log-likelihood ratios; 0 for no evidence, 1/ln4 = 0.72135 for separated scores.

Individual (worst case, log10 of the likelihood ratio): max |l| / ln10 with l the Laplace-smoothed PAV log-likelihood
ratios. Smoothing bounds it by log10 of max(Nn(Nt+1)/Nt, Nt(Nn+1)/Nn), so it grows with the number of trials.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from vpeval.metrics.scores import Counts, Floats, PooledScores

_TAGS = (("0", 0.0), ("A", 1.0), ("B", 2.0), ("C", 4.0), ("D", 5.0), ("E", 6.0), ("F", math.inf))


@dataclass(frozen=True)
class Zebra:
    """The three parts of a ZEBRA profile."""

    population: float
    individual: float
    tag: str


def zebra(pooled: PooledScores) -> Zebra:
    """The ZEBRA profile (population, individual, tag)."""
    individual = zebra_individual(pooled)
    return Zebra(zebra_population(pooled), individual, zebra_tag(individual))


def zebra_population(pooled: PooledScores) -> float:
    """Expected disclosure in bits."""
    blocks = pooled.blocks
    llr = blocks.llr(pooled.prior_log_odds)
    return max(0.0, _mean_disclosure(llr, blocks.targets) + _mean_disclosure(-llr, blocks.nontargets)) / math.log(2)


def zebra_individual(pooled: PooledScores) -> float:
    """Worst-case disclosure: log10 of the strongest likelihood ratio, for or against."""
    return float(np.abs(pooled.laplace_llr).max()) / math.log(10)


def zebra_tag(individual: float) -> str:
    """The category of an individual disclosure; upper bounds belong to the category.

    >>> [zebra_tag(x) for x in (0, 0.3, 1, 1.5, 3.48, 4.5, 6, 6.1)]
    ['0', 'A', 'A', 'B', 'C', 'D', 'E', 'F']
    """
    return next(tag for tag, upper in _TAGS if individual <= upper)


def _mean_disclosure(llr: Floats, counts: Counts) -> float:
    """Mean of Z over trials; `llr` points towards the class whose trials are counted."""
    present = np.flatnonzero(counts)
    return float((_z(llr[present]) * counts[present]).sum() / counts.sum())


def _z(a: Floats) -> Floats:
    """Z(a), exact to rounding from a = 0 to +inf."""
    small = np.abs(a) < 0.03
    with np.errstate(over="ignore"):
        b = np.expm1(np.where(small | np.isinf(a), 1.0, a))
        z = 0.25 + (a / b - 1) / (2 * b)
    # a - b cancels near 0: the Taylor series, whose next term is below 1e-17 here.
    series = a * (1 / 6 + a * (-1 / 24 + a * (1 / 360 + a * (1 / 1440 - a * (1 / 10080 + a / 60480)))))
    return np.where(np.isinf(a), 0.25, np.where(small, series, z))
