"""Speaker encoders behind one interface: a wave in, a vector out.

A new encoder is a class with `embed` and a line in `_ENCODERS`, plus a yaml in conf/asv/.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import numpy as np
import torch

from vpeval import models
from vpeval.asv.speechbrain import ECAPA_TDNN, Fbank, InputNormalization
from vpeval.config import choose, read_config

_SHORTEST = 4000  # a quarter of a second: below that the statistics pooling has next to nothing to pool


class Encoder(Protocol):
    """What extraction needs of a speaker encoder."""

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """The float32 vector of mono 16 kHz samples."""


class Ecapa:
    """SpeechBrain's ECAPA-TDNN (Desplanques et al., Interspeech 2020) with weights from the model store."""

    def __init__(self, config: Path) -> None:
        settings = read_config(config, encoder=str, model=str, mels=int, channels=list, dimension=int)
        weights = models.locate(models.find_model(settings["model"])) / "embedding_model.ckpt"
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.features = Fbank(n_mels=settings["mels"]).to(self.device).eval()
        self.normalize = InputNormalization(norm_type="sentence", std_norm=False).to(self.device).eval()
        self.network = ECAPA_TDNN(settings["mels"], channels=settings["channels"], lin_neurons=settings["dimension"])
        self.network.load_state_dict(torch.load(weights, map_location="cpu", weights_only=True))
        self.network.to(self.device).eval()

    @torch.inference_mode()
    def embed(self, wave: np.ndarray) -> np.ndarray:
        """One utterance at a time: padding to a common length would change the vector."""
        if len(wave) < _SHORTEST:
            wave = np.pad(wave, (0, _SHORTEST - len(wave)), mode="wrap")
        batch = torch.from_numpy(wave).unsqueeze(0).to(self.device)
        lengths = torch.ones(1, device=self.device)
        features = self.normalize(self.features(batch), lengths)
        vector: np.ndarray = self.network(features, lengths).reshape(-1).cpu().numpy()
        return vector


_ENCODERS: dict[str, Callable[[Path], Encoder]] = {"ecapa": Ecapa}


def load_encoder(config: Path) -> Encoder:
    """The encoder that a yaml of conf/asv/ describes; computes on one thread, as jobs run side by side."""
    torch.set_num_threads(1)
    torch.use_deterministic_algorithms(True)
    return choose(config, "encoder", _ENCODERS)(config)
