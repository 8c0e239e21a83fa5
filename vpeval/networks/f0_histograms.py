"""Histograms of F0 as an encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vpeval.audio.pitch_lags import LAGS, TRACK_RATE, track_lags
from vpeval.core.config import read_config
from vpeval.embeddings.symbols import Frames, histogram


class F0Histogram:
    """How often each F0 occurs among voiced frames; a uniform histogram where there is none."""

    count, rate = len(LAGS), TRACK_RATE

    def __init__(self, config: Path) -> None:
        read_config(config, "inputs", encoder=str, similarity=str, inputs=str)

    def symbols(self, wave: np.ndarray) -> Frames:
        """The number of the pitch lag of every frame, 0 where unvoiced."""
        lags = track_lags(wave)
        return np.where(lags > 0, lags - LAGS[0] + 1, 0).astype(np.uint16)

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """107 shares that sum to one."""
        return histogram(self.symbols(wave), self.count)
