"""Who is in a random crowd: a person and N-1 others, drawn without replacement from the M-1 others that there are.

If K of all M-1 others are rivals, the number H of rivals in the crowd is hypergeometric, and exactly

    P(H = 0)       = C(M-1-K, N-1) / C(M-1, N-1)  = Π_{k<K} (M-N-k) / (M-1-k),
    E[1 / (1 + H)] = M / (N (K+1)) · (1 - C(M-K-1, N) / C(M, N)),

the probability that nobody rivals the person, and that of picking the person at random among all who do not differ.
Running products keep the digits that ratios of gamma functions lose.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def none_drawn(n_all: int, n: int) -> Floats:
    """P(no rival in a crowd of `n`) for K = 0 … M-1 rivals among `n_all`.

    >>> none_drawn(4, 3).tolist()
    [1.0, 0.3333333333333333, 0.0, 0.0]
    """
    k = np.arange(n_all - 1)
    return np.concatenate(([1.0], np.cumprod(np.maximum(n_all - n - k, 0) / (n_all - 1 - k))))


def picked(n_all: int, n: int) -> Floats:
    """E[1/(1+H)] for K = 0 … M-1 rivals among `n_all`: the chance to pick the person among rivals in a crowd of `n`.

    >>> picked(4, 4).tolist()
    [1.0, 0.5, 0.3333333333333333, 0.25]
    """
    k = np.arange(n_all)
    without = np.cumprod(np.maximum(n_all - n - k, 0) / (n_all - k))
    return n_all / (n * (k + 1)) * (1 - without)
