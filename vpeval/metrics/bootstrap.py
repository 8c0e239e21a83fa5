"""Speaker-level bootstrap: how far a number would move if other speakers had been recorded.

Trials of one speaker depend on each other, so whole speakers are drawn with replacement and all values of a speaker
move together (Efron & Tibshirani, An introduction to the bootstrap, 1993; percentile interval). A resample is a vector
of multiplicities m with sum(m) = number of speakers: speaker i counts m[i] times.

Interval ends are sample values (the outer neighbour of the percentile), so infinite values are harmless.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from vpeval.core.seeds import generator

RESAMPLES = 1000
"""How often speakers are drawn by default, for all intervals."""

# Multiplicities are made and used in blocks of about this many numbers, which bounds the memory at some 100 MB.
_BLOCK = 4_000_000


@dataclass(frozen=True)
class Interval:
    """A confidence interval, both ends included."""

    lower: float
    upper: float


def multiplicities(speakers: int, resamples: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """How often each speaker is drawn in each resample: an array resamples × speakers, every row sums to `speakers`."""
    drawn = rng.integers(speakers, size=(resamples, speakers))
    drawn += np.arange(resamples)[:, None] * speakers
    return np.bincount(drawn.ravel(), minlength=resamples * speakers).reshape(resamples, speakers)


def percentile_interval(samples: ArrayLike, level: float = 0.95) -> Interval:
    """The central `level` of the samples."""
    values = np.asarray(samples, dtype=np.float64)
    tail = (1 - level) / 2
    lower = np.quantile(values, tail, method="lower")
    upper = np.quantile(values, 1 - tail, method="higher")
    return Interval(float(lower), float(upper))


def interval_notes(resamples: int, seed: int, redrawn: int = 0) -> dict[str, object]:
    """What a record says about how its interval was made; nothing if there is none."""
    if resamples == 0:
        return {}
    return {"interval": "speaker bootstrap", "resamples": resamples, "redrawn": redrawn, "seed": seed}


def bootstrap_mean(
    values_per_speaker: ArrayLike, resamples: int = RESAMPLES, seed: int = 0, label: str = "mean"
) -> Interval:
    """Interval of the mean over speakers of one value per speaker.

    >>> bootstrap_mean([0.25, 0.25, 0.25])
    Interval(lower=0.25, upper=0.25)
    """
    values = np.asarray(values_per_speaker, dtype=np.float64)
    if values.ndim != 1:
        raise ValueError(f"one value per speaker is expected, not an array of shape {values.shape}")
    return bootstrap_means(values[:, None], resamples, seed, label)[0]


def bootstrap_means(
    values_per_speaker: ArrayLike, resamples: int = RESAMPLES, seed: int = 0, label: str = "mean"
) -> list[Interval]:
    """Interval of the mean over speakers for every column of a matrix speakers × columns.

    All columns share the resamples, so that curves over the columns move as one.
    """
    values = np.asarray(values_per_speaker, dtype=np.float64)
    if values.ndim != 2 or len(values) == 0:
        raise ValueError(f"a matrix speakers × columns is expected, not an array of shape {values.shape}")
    speakers = len(values)
    rng = generator(seed, label)
    block = max(1, _BLOCK // speakers)
    means = [
        _weighted_sums(multiplicities(speakers, min(block, resamples - start), rng), values) / speakers
        for start in range(0, resamples, block)
    ]
    return [percentile_interval(column) for column in np.concatenate(means).T]


def _weighted_sums(weights: NDArray[np.int64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    # Not a matrix product: BLAS adds in an order that depends on its threads, and the last digit with it.
    return np.einsum("rs,sc->rc", weights, values)
