"""States of Whisper's encoder (Radford et al., ICML 2023): frame by frame, or as one vector for an utterance."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from faster_whisper import WhisperModel

from vpeval.audio.io import RATE
from vpeval.core import models
from vpeval.core.arrays import Floats32
from vpeval.core.config import read_config

HOP = 320
"""Samples from one state to the next."""
_MARGIN_SECONDS = 1
_MOST = 28 * RATE


class WhisperStates:
    """States of the last layer, 50 a second; the weights stay as they are."""

    def __init__(self, model: str, compute: str) -> None:
        directory = models.locate(models.find_model(model))
        self.whisper = WhisperModel(str(directory), device="auto", compute_type=compute, cpu_threads=1)

    def __call__(self, wave: np.ndarray) -> Floats32:
        """States × dimension for mono 16 kHz samples; at least one. Longer audio than 28 s is encoded in parts."""
        parts = [self._states(wave[start : start + _MOST]) for start in range(0, max(1, len(wave)), _MOST)]
        return np.concatenate(parts)

    def _states(self, wave: np.ndarray) -> Floats32:
        # A second of silence behind the speech, as without any the last states are not to be trusted.
        padded = np.pad(wave, (0, _MARGIN_SECONDS * RATE))
        features = self.whisper.feature_extractor(padded, padding=0)
        states = np.asarray(self.whisper.encode(features), dtype=np.float32)[0]
        return states[: max(1, len(wave) // HOP)]


class WhisperFrames:
    """Mean and standard deviation over time of the states."""

    def __init__(self, config: Path) -> None:
        settings = read_config(config, encoder=str, model=str, compute=str, classifier=str, penalty=float)
        self.states = WhisperStates(settings["model"], settings["compute"])

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """1024 numbers for mono 16 kHz samples, of which the first 28 s count."""
        states = self.states(wave[:_MOST]).astype(np.float64)
        return np.concatenate([states.mean(axis=0), states.std(axis=0)]).astype(np.float32)
