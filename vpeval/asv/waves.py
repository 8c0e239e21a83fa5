"""Waves as speaker encoders can take them."""

from __future__ import annotations

import numpy as np

_SHORTEST = 4000  # a quarter of a second: below that the statistics pooling has next to nothing to pool


def long_enough(wave: np.ndarray) -> np.ndarray:
    """The wave, repeated if it is very short."""
    return wave if len(wave) >= _SHORTEST else np.pad(wave, (0, _SHORTEST - len(wave)), mode="wrap")
