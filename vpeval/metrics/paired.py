"""Two systems on the same speech: how far apart they are, and whether that may be chance.

Both are measured on the same speakers, and a resample draws the same speakers for both (`resampling` tells how often a
trial then counts), so that what is common to both cancels. A difference is assessed by its standard error over
resamples: value less bias, over the standard error, against Student's distribution with a degree of freedom less per
group of speakers than there are speakers. p can be as small as the speakers allow, whatever the number of resamples; a
share of resamples cannot be below 1/resamples, which no correction for many tests survives. It is never below
2^(1-speakers), which a sign test reaches if all speakers agree: tails beyond that are those of Student's distribution
and not of the speakers. From six speakers on, p is below 0.05 where the interval is clear of 0, and only there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vpeval.metrics.intervals import FEWEST
from vpeval.metrics.scores import Floats


@dataclass(frozen=True)
class Assessed:
    """A difference with its 95 % interval and the two-sided p value of "no difference"; None where none can be told."""

    value: float
    lower: float | None = None
    upper: float | None = None
    p_value: float | None = None


def assess(value: float, samples: Floats, speakers: int, groups: int = 1) -> Assessed:
    """Assess a difference by its values for resampled speakers, who were drawn within each of `groups`.

    >>> assess(0.0, np.zeros(100), speakers=10)
    Assessed(value=0.0, lower=0.0, upper=0.0, p_value=1.0)
    """
    freedom = speakers - groups
    if freedom < FEWEST - 1 or not len(samples) or not np.isfinite(value) or not np.isfinite(samples).all():
        return Assessed(value)
    least = 2.0 ** (1 - speakers)
    error = float(np.std(samples)) * np.sqrt(speakers / freedom)
    if error <= 1e-12 * max(1.0, abs(value)):
        return Assessed(value, value, value, least if value else 1.0)
    from scipy.special import stdtr, stdtrit

    centre = 2 * value - float(np.mean(samples))
    reach = float(stdtrit(freedom, 0.975)) * error
    p = max(least, min(1.0, 2 * float(stdtr(freedom, -abs(centre) / error))))
    return Assessed(value, min(value, centre - reach), max(value, centre + reach), p)
