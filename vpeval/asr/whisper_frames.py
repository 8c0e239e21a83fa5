"""What Whisper's encoder (Radford et al., ICML 2023) hears, as one vector: features of how something is said."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from faster_whisper import WhisperModel

from vpeval.audio.io import RATE
from vpeval.core import models
from vpeval.core.config import read_config

_HOP = 160
_FRAMES_PER_STATE = 2
_MARGIN_SECONDS = 1
_MOST_SECONDS = 28


class WhisperFrames:
    """Mean and standard deviation over time of the states of the last layer; the weights stay as they are."""

    def __init__(self, config: Path) -> None:
        settings = read_config(config, encoder=str, model=str, compute=str, classifier=str, penalty=float)
        directory = models.locate(models.find_model(settings["model"]))
        self.whisper = WhisperModel(str(directory), device="auto", compute_type=settings["compute"], cpu_threads=1)

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """1024 numbers for mono 16 kHz samples, of which the first 28 s count."""
        wave = wave[: _MOST_SECONDS * RATE]
        # A second of silence behind the speech, as without any the last states are not to be trusted.
        padded = np.pad(wave, (0, _MARGIN_SECONDS * RATE))
        features = self.whisper.feature_extractor(padded, padding=0)
        states = np.asarray(self.whisper.encode(features), dtype=np.float32)[0]
        spoken = states[: max(1, len(wave) // (_HOP * _FRAMES_PER_STATE))].astype(np.float64)
        return np.concatenate([spoken.mean(axis=0), spoken.std(axis=0)]).astype(np.float32)
