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

from vpeval.metrics.scores import Counts, Floats, Hulls, PooledScores

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
    return float(zebra_populations(pooled.hull)[0])


def zebra_populations(hulls: Hulls) -> Floats:
    """`zebra_population` of samples whose hulls are known."""
    means = (
        hulls.sums(np.where(counts > 0, _z(llr) * counts, 0)) / total
        for llr, counts, total in (
            (hulls.llr, hulls.targets, hulls.n_targets),
            (-hulls.llr, hulls.nontargets, hulls.n_nontargets),
        )
    )
    return np.maximum(0, sum(means)) / math.log(2)


def zebra_individual(pooled: PooledScores) -> float:
    """Worst-case disclosure: log10 of the strongest likelihood ratio, for or against."""
    return float(zebra_individuals(pooled.hull)[0])


def zebra_individuals(hulls: Hulls) -> Floats:
    """`zebra_individual` of samples whose hulls are known.

    Smoothed likelihood ratios ascend, so that the strongest is the first or the last. The first of PAV is the least of
    all scores up to any one, the last the greatest of all from any one on: with the virtual target and nontarget at
    that end, or without them where they are pooled with no score.
    """
    nt, nn = hulls.n_targets, hulls.n_nontargets
    last = np.append(hulls.starts[1:], len(hulls.targets)) - 1
    above = hulls.spread(nt) - hulls.missed + hulls.targets, hulls.spread(nn) - hulls.rejected + hulls.nontargets

    def log_odds(targets: Counts, nontargets: Counts) -> Floats:
        with np.errstate(divide="ignore"):
            return np.log(targets) - np.log(nontargets)

    one_end, both_ends = log_odds(1 + nt, 1 + nn), log_odds(2 + nt, 2 + nn)
    least = np.minimum.reduceat(log_odds(1 + hulls.missed, 1 + hulls.rejected), hulls.starts)
    least = np.minimum(least, both_ends)
    alone = log_odds(hulls.targets[hulls.starts], hulls.nontargets[hulls.starts])
    least = np.where(least <= 0, least, np.minimum(alone, one_end))
    most = np.maximum.reduceat(log_odds(1 + above[0], 1 + above[1]), hulls.starts)
    most = np.maximum(most, both_ends)
    alone = log_odds(hulls.targets[last], hulls.nontargets[last])
    most = np.where(most >= 0, most, np.maximum(alone, one_end))
    return np.maximum(np.abs(least - hulls.prior_log_odds), np.abs(most - hulls.prior_log_odds)) / math.log(10)


def zebra_tag(individual: float) -> str:
    """The category of an individual disclosure; upper bounds belong to the category.

    >>> [zebra_tag(x) for x in (0, 0.3, 1, 1.5, 3.48, 4.5, 6, 6.1)]
    ['0', 'A', 'A', 'B', 'C', 'D', 'E', 'F']
    """
    return next(tag for tag, upper in _TAGS if individual <= upper)


def _z(a: Floats) -> Floats:
    """Z(a), exact to rounding from a = 0 to +inf."""
    small = np.abs(a) < 0.03
    with np.errstate(over="ignore"):
        b = np.expm1(np.where(small | np.isinf(a), 1.0, a))
        z = 0.25 + (a / b - 1) / (2 * b)
    # a - b cancels near 0: the Taylor series, whose next term is below 1e-17 here.
    series = a * (1 / 6 + a * (-1 / 24 + a * (1 / 360 + a * (1 / 1440 - a * (1 / 10080 + a / 60480)))))
    return np.where(np.isinf(a), 0.25, np.where(small, series, z))
