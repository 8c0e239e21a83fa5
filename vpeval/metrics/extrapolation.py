"""Legal metrics beyond the speakers that there are, and how to tell on those that there are whether it works.

Linkability. If a stranger is nearer to a test speaker than the right one with probability q, the speaker is linked
among N with probability (1-q)^(N-1). With q distributed over speakers as Beta(α, β), the number of rivals among N-1 is
beta-binomial and

    π_link(N) = B(α, β+N-1) / B(α, β),

which falls as N^-α. α and β are fitted to the ranks that were measured (`metrics.betabinomial`). What fewer speakers
would have shown follows as well: the rivals that are left among n of them are hypergeometric (`subsample_ranks`).

Singling out has no such form; the logit of what it has beyond chance is continued as a line over log N (`continued`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vpeval.core.seeds import generator
from vpeval.metrics.betabinomial import fit_beta_binomial
from vpeval.metrics.vectors import Counts

Floats = NDArray[np.float64]

EXACT = 512
DRAWS = 10


def rank_counts(rivals: Counts, n_all: int, weights: Floats) -> Floats:
    """How often the true speaker has rank 1 … M, for every row of weights of the speakers."""
    return np.stack([np.bincount(rivals, weights=row, minlength=n_all) for row in weights])


def subsample_ranks(rivals: Counts, n_all: int, n: int, seed: int = 0) -> Floats:
    """The histogram of ranks among `n`, the right one and n-1 others of all; `rivals` are those among all.

    Up to `EXACT` speakers it is the expectation over the others, beyond that the mean of some draws.
    """
    if n_all <= EXACT:
        from scipy.stats import hypergeom

        numbers, counts = np.unique(rivals, return_counts=True)
        return counts @ hypergeom.pmf(np.arange(n), n_all - 1, numbers[:, None], n - 1)
    drawn = generator(seed, "subsample_ranks ranks").hypergeometric(rivals, n_all - 1 - rivals, n - 1, (DRAWS, len(rivals)))
    return np.bincount(drawn.ravel(), minlength=n) / DRAWS


def linkability_at(counts: Floats, n: int) -> Floats:
    """π_link among `n`, any number, by the beta-binomial that fits each histogram of ranks.

    >>> linkability_at(np.ones((1, 40)), 400).round(6).tolist()
    [0.0025]
    """
    from scipy.special import betaln

    alpha, beta = fit_beta_binomial(counts)
    with np.errstate(invalid="ignore"):
        found = np.exp(betaln(alpha, beta + n - 1) - betaln(alpha, beta))
    return np.where(alpha > 0, found, 1.0)


def continued(sizes: Counts, values: Floats, speakers: int, n: int) -> Floats:
    """Rates (row) over `sizes` (column), continued to `n`; a rate of 0 or 1 counts as half a speaker more or less.

    >>> continued(np.array([10, 20, 40]), np.array([[0.5, 0.5, 0.5]]), 38, 1000).tolist()
    [0.5]
    """
    inside = np.clip(values, 0.5 / speakers, 1 - 0.5 / speakers)
    logit, x = np.log(inside / (1 - inside)), np.log(sizes)
    x = x - x.mean()
    slope = (logit * x).sum(axis=1) / np.square(x).sum()
    return 1 / (1 + np.exp(-(logit.mean(axis=1) + slope * (np.log(n) - np.log(sizes).mean()))))
