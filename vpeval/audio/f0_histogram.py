"""F0 histograms for similarity rank disclosure (Chandra et al., arXiv 2605.07291, section 4.2.3).

F0 is tracked with pYIN (Mauch & Dixon, 2014) between 65 and 450 Hz every 10 ms; unvoiced frames are dropped. The paper
counts integer pitch lags and has 107 of them: that is the range of ⌊8000 / F0⌋ from ⌊8000 / 450⌋ = 17 to
⌊8000 / 65⌋ = 123, lags in samples at 8 kHz (at 16 kHz there would be 212). The histogram of an utterance sums to one.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from vpeval.audio.pyin import F0_MAX, F0_MIN

LAG_RATE = 8000
LAGS = np.arange(int(LAG_RATE / F0_MAX), int(LAG_RATE / F0_MIN) + 1)


def f0_histogram(f0: NDArray[np.floating]) -> NDArray[np.float32] | None:
    """Share of voiced frames at each of the 107 lags; None without a voiced frame.

    >>> histogram = f0_histogram(np.array([100.0, np.nan, 100.1, 400.0, 400.0]))
    >>> {int(LAGS[k]): float(histogram[k]) for k in np.flatnonzero(histogram)}
    {20: 0.5, 79: 0.25, 80: 0.25}
    """
    voiced = f0[np.isfinite(f0)]
    if not len(voiced):
        return None
    lags = np.clip(LAG_RATE / voiced, LAGS[0], LAGS[-1]).astype(np.int64)
    return (np.bincount(lags - LAGS[0], minlength=len(LAGS)) / len(voiced)).astype(np.float32)
