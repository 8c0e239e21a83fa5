"""d-vectors of an LSTM with generalised end-to-end loss (Wan et al., 2018), as Resemblyzer trained it.

Forty mel channels of power, 25 ms every 10 ms, go through three LSTM layers in segments of 1.6 s, 1.3 of which begin in
every second; the vector is the mean direction of the segments. Quiet speech is made louder, as there. Resemblyzer also
cuts out long silences by a detector of voice (webrtcvad), which is not done here.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import librosa
import numpy as np
import torch

from vpeval.audio.io import RATE
from vpeval.core import models
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.networks import compute
from vpeval.networks.compute import load_state
from vpeval.networks.encoders import long_enough

_FILE = "pretrained.pt"
_MELS, _SIZE, _LAYERS = 40, 256, 3
_HOP, _WINDOW = RATE // 100, RATE // 40
_SEGMENT, _STEP = 160, 77
_COVERED = 0.75
_LOUDNESS = 10 ** (-30 / 20)


class Ge2e:
    """A wave in, the mean direction of its segments out."""

    def __init__(self, config: Path) -> None:
        settings = read_config(config, encoder=str, model=str)
        self.device = compute.device()
        self.lstm = torch.nn.LSTM(_MELS, _SIZE, _LAYERS, batch_first=True)
        self.linear = torch.nn.Linear(_SIZE, _SIZE)
        self._load(models.locate(models.find_model(settings["model"])) / _FILE)
        self.lstm.to(self.device).eval()
        self.linear.to(self.device).eval()

    def _load(self, path: Path) -> None:
        state: dict[str, Any] = load_state(path).get("model_state", {})
        for name, part in (("lstm", self.lstm), ("linear", self.linear)):
            own = {key.removeprefix(f"{name}."): value for key, value in state.items() if key.startswith(f"{name}.")}
            try:
                part.load_state_dict(own)
            except RuntimeError:
                raise InputError("does not hold the network of Resemblyzer", path) from None

    @torch.inference_mode()
    def embed(self, wave: np.ndarray) -> np.ndarray:
        """The vector of an utterance; its length is one."""
        mels = torch.from_numpy(segments(long_enough(wave))).to(self.device)
        _, (hidden, _) = self.lstm(mels)
        directions = torch.nn.functional.normalize(torch.relu(self.linear(hidden[-1])))
        vector: np.ndarray = torch.nn.functional.normalize(directions.mean(dim=0), dim=0).cpu().numpy()
        return vector


def segments(wave: np.ndarray) -> np.ndarray:
    """Mel spectra of the segments of a wave (segments × frames × channels); the last one is filled up, or left out."""
    level = float(np.sqrt(np.mean(np.square(wave))))
    if 0 < level < _LOUDNESS:
        wave = wave * np.float32(_LOUDNESS / level)
    frames = len(wave) // _HOP + 1
    starts = list(range(0, max(1, frames - _SEGMENT + _STEP + 1), _STEP))
    if len(starts) > 1 and (len(wave) - starts[-1] * _HOP) / (_SEGMENT * _HOP) < _COVERED:
        starts.pop()
    missing = (starts[-1] + _SEGMENT) * _HOP - len(wave)
    spectra = librosa.feature.melspectrogram(
        y=np.pad(wave, (0, max(0, missing))), sr=RATE, n_fft=_WINDOW, hop_length=_HOP, n_mels=_MELS
    )
    return np.stack([spectra[:, start : start + _SEGMENT].T for start in starts]).astype(np.float32)
