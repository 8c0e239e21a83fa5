"""Similarity rank disclosure (SRD): what the rank of the true reference tells about a speaker, in bits.

Bäckström et al. (arXiv 2508.05250); Chandra et al., Evaluating voice anonymisation using similarity rank disclosure
(arXiv 2605.07291). For every input the N references are ranked by similarity; p_k is the share of inputs whose true
reference has rank k. With γ = p (empirical) or a beta-binomial fit of p (see below), observing rank j
discloses ε_j = log2(N·γ_j) bits, and

    MaxD = max_j ε_j     MeanD = Σ_j γ_j ε_j = KL(γ ‖ uniform)     IdR = γ_1     RS = #{j : γ_j > 1/N} / N.

Ties: "mid" spreads an input evenly over the ranks of its tie block; "strict" gives the last rank of the block, so that
a tie counts as a failure, as in legal linkability (then IdR is π_link at N' = N).

A perfect anonymiser does not measure 0 bits: with n inputs the empirical γ scatters around 1/N. `floor` is what n
uniform ranks measure (about MeanD 0.036 and MaxD 0.6 for n = 800, N = 40) and belongs to every value.

Beta-binomial rank distribution fitted to rank histograms, with the probability of rank 1 held to the observed one.

γ_j = BetaBin(j-1; N-1, α, β). The fit of Bäckström et al. (arXiv 2508.05250), as used by Chandra et al. (arXiv
2605.07291), maximises the likelihood under γ_1 = p_1. For every β exactly one α meets the constraint, since

    ln γ_1 = ln B(α, β+N-1) - ln B(α, β)

falls from 0 to -∞ in α; so the search is one-dimensional: a grid over ln β, then a golden section around its best
point. All histograms of a stack are fitted at once. Where rank 1 was never observed, half an observation stands in for
p_1; where nothing else was observed, all mass is on rank 1.

Beyond `EXACT` ranks, the likelihood is taken from bins of neighbouring ranks, at most 1/32 as wide as they are far from
the nearer end; ln γ bends so little within one that two points with the mean and the variance of the observations there
stand for them all. ln α and ln β move by less than 10⁻⁵, the disclosures by less than 10⁻⁵ bits, a rank spread by a
rank.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from vpeval.core.arrays import Floats
from vpeval.core.errors import refuse_unknown
from vpeval.core.seeds import generator
from vpeval.metrics.intervals import RESAMPLES, SpeakerInterval, multiplicities, share_intervals, studentised_interval
from vpeval.metrics.ranks import Ranks

Estimator = Literal["empirical", "beta-binomial"]

_CELLS = 1 << 21


@dataclass(frozen=True)
class Disclosure:
    """The four summaries for every histogram of a stack; bits for the first two, fractions for the others."""

    max_d: Floats
    mean_d: Floats
    idr: Floats
    rank_spread: Floats

    def __str__(self) -> str:
        """A line for every histogram."""
        rows = zip(self.max_d, self.mean_d, self.idr, self.rank_spread, strict=True)
        return "\n".join(
            f"MaxD {highest:.3f} bit, MeanD {mean:.3f} bit, IdR {idr:.3f}, rank spread {spread:.3f}"
            for highest, mean, idr, spread in rows
        )


def disclosure(histograms: Floats, estimator: Estimator = "empirical") -> Disclosure:
    """SRD of every row of `histograms` (observations per rank 1 … N).

    >>> d = disclosure(np.array([[2.0, 1.0, 1.0, 0.0]]))
    >>> float(d.max_d[0]), float(d.mean_d[0]), float(d.idr[0]), float(d.rank_spread[0])
    (1.0, 0.5, 0.5, 0.25)
    """
    refuse_unknown("estimator", estimator, get_args(Estimator))
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
    found["idr"] = share_intervals(rates, resamples, ranks.inputs)[0]
    return found


EXACT = 2048
"""Ranks up to which every one counts by itself in the likelihood."""

_GRID = np.linspace(-7.0, 14.0, 43)
_GOLDEN = (np.sqrt(5) - 1) / 2
_SECTIONS = 40
_BETA_CELLS = 1 << 20


def fit_beta_binomial(histograms: Floats) -> tuple[Floats, Floats]:
    """α and β for every row of `histograms` (how often each rank 1 … N was observed; fractions are fine).

    A row with nothing but rank 1 gets α = 0, β = 1.
    """
    alpha = np.zeros(len(histograms))
    beta = np.ones(len(histograms))
    spread = np.flatnonzero(histograms[:, 1:].any(axis=1))
    n = histograms.shape[1]
    ranks, counts = np.arange(n, dtype=np.float64)[None], histograms
    if n > EXACT:
        ranks, counts = _condense(histograms)
    step = max(1, _BETA_CELLS // (counts.shape[1] * len(_GRID)))
    for start in range(0, len(spread), step):
        rows = spread[start : start + step]
        points = ranks if len(ranks) == 1 else ranks[rows]
        alpha[rows], beta[rows] = _fit(n, histograms[rows, 0], points, counts[rows])
    return alpha, beta


def beta_binomial(n: int, alpha: Floats, beta: Floats) -> Floats:
    """γ_1 … γ_N for every pair of parameters; α = 0 is all mass on rank 1."""
    k = np.arange(n - 1)
    a, b = alpha[:, None], beta[:, None]
    # Neighbouring ranks have a simple ratio; beta functions of large parameters would lose digits.
    first = -np.log1p(a / (b + k)).sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore"):
        ratios = np.log((n - 1 - k) / (k + 1) * (a + k) / (b + n - 2 - k))
    return np.exp(first + np.cumsum(np.insert(ratios, 0, 0, axis=1), axis=1))


def _condense(histograms: Floats) -> tuple[Floats, Floats]:
    """Two points per bin of ranks, from 0, with the mean and the variance of what each histogram has there."""
    n = histograms.shape[1]
    edges = [0]
    while edges[-1] < n:
        far = min(edges[-1], n - 1 - edges[-1])
        edges.append(min(n, edges[-1] + max(1, far // 32)))
    starts = np.array(edges[:-1])
    offset = np.arange(n) - np.repeat(starts, np.diff(edges))
    total = np.add.reduceat(histograms, starts, axis=1)
    safe = np.where(total > 0, total, 1)
    mean = np.add.reduceat(histograms * offset, starts, axis=1) / safe
    square = np.add.reduceat(histograms * offset**2, starts, axis=1) / safe
    deviation = np.sqrt(np.maximum(square - mean**2, 0))
    middle = starts + mean
    return np.hstack((middle - deviation, middle + deviation)), np.hstack((total, total)) / 2


def _fit(n: int, at_first: Floats, ranks: Floats, counts: Floats) -> tuple[Floats, Floats]:
    """Fit rows of `counts` at `ranks` from 0 (one row for all, or a row each); `at_first` were at rank 0."""
    log_p1 = np.log(np.where(at_first > 0, at_first, 0.5) / counts.sum(axis=1))[:, None]

    def likelihood(log_beta: Floats) -> Floats:
        return _log_likelihood(n, ranks, counts, _solve_alpha(n, np.exp(log_beta), log_p1), np.exp(log_beta))

    best = np.argmax(likelihood(np.broadcast_to(_GRID, (len(counts), len(_GRID)))), axis=1)
    low = _GRID[np.maximum(best - 1, 0)][:, None]
    high = _GRID[np.minimum(best + 1, len(_GRID) - 1)][:, None]
    for _ in range(_SECTIONS):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        values = likelihood(np.concatenate((left, right), axis=1))
        rises = values[:, :1] < values[:, 1:]
        low, high = np.where(rises, left, low), np.where(rises, high, right)
    beta = np.exp((low + high) / 2)
    return _solve_alpha(n, beta, log_p1)[:, 0], beta[:, 0]


def _solve_alpha(n: int, beta: Floats, log_p1: Floats) -> Floats:
    """The α for which ln γ_1 = log_p1.

    -ln γ_1 is increasing and concave in α, so Newton's method started at 0 climbs to the root without overshooting.
    """
    from scipy.special import digamma, gammaln

    alpha = np.zeros(np.broadcast_shapes(beta.shape, log_p1.shape))
    offset = gammaln(beta + n - 1) - gammaln(beta) + -log_p1
    for _ in range(100):
        total = alpha + beta
        step = (offset - gammaln(total + n - 1) + gammaln(total)) / (digamma(total + n - 1) - digamma(total))
        alpha = alpha + np.maximum(step, 0)
        if (step <= 1e-13 * alpha).all():
            break
    return alpha


def _log_likelihood(n: int, ranks: Floats, counts: Floats, alpha: Floats, beta: Floats) -> Floats:
    """Σ_j h_j ln γ_j without its constant part, for a matrix of parameters (one row per histogram)."""
    from scipy.special import betaln

    seen = np.flatnonzero(counts.any(axis=0))
    a, b, k = alpha[:, :, None], beta[:, :, None], ranks[:, None, seen]
    observed = np.einsum("rj,rgj->rg", counts[:, seen], betaln(a + k, b + n - 1 - k))
    return observed - counts.sum(axis=1, keepdims=True) * betaln(alpha, beta)
