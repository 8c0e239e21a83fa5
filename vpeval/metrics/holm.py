"""Holm's correction for many tests (A simple sequentially rejective multiple test procedure, 1979).

It keeps the chance of any false alarm among all tests at the level, whatever their dependence.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def holm(p_values: ArrayLike) -> NDArray[np.float64]:
    """Holm's corrected p values, in the order given.

    >>> [round(p, 3) for p in holm([0.01, 0.04, 0.03]).tolist()]
    [0.03, 0.06, 0.06]
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    corrected = np.empty(len(p))
    corrected[order] = np.maximum.accumulate(np.minimum(1.0, (len(p) - np.arange(len(p))) * p[order]))
    return corrected
