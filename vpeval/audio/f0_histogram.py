"""F0 histograms for similarity rank disclosure (Chandra et al., arXiv 2605.07291, section 4.2.3).

F0 is tracked with pYIN between 65 and 450 Hz every 10 ms; unvoiced frames are dropped. The paper counts integer pitch
lags and has 107 of them, which are those at 8 kHz (at 16 kHz there would be 212). The histogram of an utterance sums
to one.
"""

from __future__ import annotations

import numpy as np

from vpeval.audio.pitch_lags import LAGS
from vpeval.core.arrays import Counts, Floats32


def f0_histogram(lags: Counts) -> Floats32 | None:
    """Share of voiced frames at each of the 107 lags; None without a voiced frame (lag 0 is unvoiced).

    >>> histogram = f0_histogram(np.array([80, 0, 79, 20, 20]))
    >>> {int(LAGS[k]): float(histogram[k]) for k in np.flatnonzero(histogram)}
    {20: 0.5, 79: 0.25, 80: 0.25}
    """
    voiced = lags[lags > 0]
    if not len(voiced):
        return None
    return (np.bincount(voiced - LAGS[0], minlength=len(LAGS)) / len(voiced)).astype(np.float32)
