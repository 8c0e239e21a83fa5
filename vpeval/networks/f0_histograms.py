"""Histograms of F0 as an encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from vpeval.audio.pitch_lags import LAGS, f0_histogram, track_lags
from vpeval.core.config import read_config


class F0Histogram:
    """How often each F0 occurs; a uniform histogram where there is no voiced frame."""

    def __init__(self, config: Path) -> None:
        read_config(config, encoder=str, similarity=str)

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """107 shares that sum to one."""
        histogram = f0_histogram(track_lags(wave))
        return np.full(len(LAGS), 1 / len(LAGS), np.float32) if histogram is None else histogram
