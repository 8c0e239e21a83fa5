"""Similarity rank disclosure (SRD): what the rank of the true reference tells about a speaker, in bits.

Bäckström et al. (arXiv 2508.05250); Chandra et al., Evaluating voice anonymisation using similarity rank disclosure
(arXiv 2605.07291). For every input the N references are ranked by similarity; p_k is the share of inputs whose true
reference has rank k. With γ = p (empirical) or a beta-binomial fit of p (see `betabinomial`), observing rank j
discloses ε_j = log2(N·γ_j) bits, and

    MaxD = max_j ε_j     MeanD = Σ_j γ_j ε_j = KL(γ ‖ uniform)     IdR = γ_1     RS = #{j : γ_j > 1/N} / N.

Ties: "mid" spreads an input evenly over the ranks of its tie block; "strict" gives the last rank of the block, so that
a tie counts as a failure, as in legal linkability (then IdR is π_link at N' = N).

A perfect anonymiser does not measure 0 bits: with n inputs the empirical γ scatters around 1/N. `floor` is what n
uniform ranks measure (about MeanD 0.036 and MaxD 0.6 for n = 800, N = 40) and belongs beside every value.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vpeval.core.seeds import generator
from vpeval.metrics.betabinomial import beta_binomial, fit_beta_binomial
from vpeval.metrics.bootstrap import RESAMPLES, multiplicities
from vpeval.metrics.intervals import SpeakerInterval, mean_intervals, studentised_interval
from vpeval.metrics.rank_histograms import Ranks

Floats = NDArray[np.float64]
Estimator = Literal["empirical", "beta-binomial"]

_CELLS = 1 << 21


@dataclass(frozen=True)
class Disclosure:
    """The four summaries for every histogram of a stack; bits for the first two, fractions for the others."""

    max_d: Floats
    mean_d: Floats
    idr: Floats
    rank_spread: Floats


def disclosure(histograms: Floats, estimator: Estimator = "empirical") -> Disclosure:
    """SRD of every row of `histograms` (observations per rank 1 … N).

    >>> d = disclosure(np.array([[2.0, 1.0, 1.0, 0.0]]))
    >>> float(d.max_d[0]), float(d.mean_d[0]), float(d.idr[0]), float(d.rank_spread[0])
    (1.0, 0.5, 0.5, 0.25)
    """
    n = histograms.shape[1]
    gamma = histograms / histograms.sum(axis=1, keepdims=True)
    if estimator == "beta-binomial":
        gamma = beta_binomial(n, *fit_beta_binomial(histograms))
    bits = np.log2(n * gamma, where=gamma > 0, out=np.full_like(gamma, -np.inf))
    mean = np.where(gamma > 0, gamma * np.where(gamma > 0, bits, 0), 0).sum(axis=1)
    # A γ_j that is 1/N but for rounding, or for the search of a fit, is not more.
    spread = np.count_nonzero(gamma * n > 1 + (1e-4 if estimator == "beta-binomial" else 1e-9), axis=1) / n
    return Disclosure(bits.max(axis=1), mean, gamma[:, 0], spread)


def _joined(parts: Iterable[Disclosure]) -> Disclosure:
    """The summaries of histograms that come a few at a time, as all of them at once could fill memory."""
    columns = [(part.max_d, part.mean_d, part.idr, part.rank_spread) for part in parts]
    return Disclosure(*(np.concatenate(column) for column in zip(*columns, strict=True)))


@lru_cache(maxsize=8)  # the same for all systems and encoders, and most of the work where ranks are few
def floor(
    n_inputs: int, n_references: int, estimator: Estimator = "empirical", runs: int = 1000, seed: int = 0
) -> Disclosure:
    """SRD of `runs` histograms of `n_inputs` uniform ranks: what is measured where nothing is disclosed."""
    rng, uniform = generator(seed, "srd floor"), np.full(n_references, 1 / n_references)
    step = max(1, _CELLS // n_references)
    return _joined(
        disclosure(rng.multinomial(n_inputs, uniform, min(step, runs - start)).astype(np.float64), estimator)
        for start in range(0, max(1, runs), step)
    )


def uniform_band(n_inputs: int, n_references: int, share: float = 0.95) -> tuple[float, float]:
    """Between which shares of inputs a rank is with probability `share` if all ranks are equally likely.

    >>> uniform_band(800, 40)
    (0.015, 0.03625)
    """
    from scipy.special import bdtr

    counts = np.arange(n_inputs + 1)
    below = bdtr(counts, n_inputs, 1 / n_references)
    low, high = (int(np.searchsorted(below, tail)) for tail in ((1 - share) / 2, (1 + share) / 2))
    return low / n_inputs, high / n_inputs


def resampled(ranks: Ranks, weights: ArrayLike, estimator: Estimator = "empirical") -> Disclosure:
    """SRD if speaker s counts ``weights[r, s]`` times, for every r."""
    rows = np.asarray(weights)
    step = max(1, _CELLS // ranks.n_references)
    return _joined(
        disclosure(ranks.histograms(rows[start : start + step]), estimator)
        for start in range(0, max(1, len(rows)), step)
    )


def intervals(
    ranks: Ranks, estimator: Estimator = "empirical", resamples: int = RESAMPLES, seed: int = 0
) -> dict[str, SpeakerInterval]:
    """95 % intervals over speakers, whose inputs stay together; the keys are the fields of `Disclosure`.

    The identification rate is a mean over speakers. The other summaries are resampled; no disclosure and all of it are
    the ends of their scales.
    """
    n, speakers = ranks.n_references, ranks.n_speakers
    value = disclosure(ranks.histograms(np.ones((1, speakers))), estimator)
    again = resampled(ranks, multiplicities(speakers, resamples, generator(seed, "srd resamples")), estimator)
    drawn = {"resamples": resamples, "seed": seed}
    highest = {"max_d": float(np.log2(n)), "mean_d": float(np.log2(n)), "rank_spread": 1.0}
    found = {
        name: studentised_interval(float(getattr(value, name)[0]), getattr(again, name), speakers, drawn, 0.0, high)
        for name, high in highest.items()
    }
    rates = ranks.identified[:, None]
    found["idr"] = mean_intervals(rates, resamples=resamples, seed=seed, label="srd idr", weights=ranks.inputs)[0]
    return found
