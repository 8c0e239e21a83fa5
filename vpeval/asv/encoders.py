"""Speaker encoders behind one interface: a wave in, a vector out.

A new encoder is a class with `embed` and a line in `_ENCODERS`, plus a yaml in conf/asv/. Those made of SpeechBrain's
features, normalisation and network derive from `NeuralEncoder`, which steps/train_asv.sh can also train.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
import yaml

from vpeval.asv.directory import read_modules
from vpeval.asv.speechbrain import ECAPA_TDNN, Fbank, InputNormalization, Xvector
from vpeval.asv.weights import load_weights, save_weights
from vpeval.audio.f0_histogram import LAGS, f0_histogram
from vpeval.audio.pyin import track_pyin
from vpeval.core import compute, models
from vpeval.core.config import choose, read_config
from vpeval.core.errors import InputError
from vpeval.core.files import write_text

_SHORTEST = 4000  # a quarter of a second: below that the statistics pooling has next to nothing to pool


class Encoder(Protocol):
    """What extraction needs of a speaker encoder."""

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """The float32 vector of mono 16 kHz samples."""


class NeuralEncoder:
    """Filterbanks, their normalisation, and a network with statistics pooling."""

    def __init__(self, features: torch.nn.Module, normalize: torch.nn.Module, network: torch.nn.Module) -> None:
        self.device = compute.device()
        self.features = features.to(self.device).eval()
        self.normalize = normalize.to(self.device).eval()
        self.network = network.to(self.device).eval()

    @torch.inference_mode()
    def embed(self, wave: np.ndarray) -> np.ndarray:
        """One utterance at a time: padding to a common length would change the vector."""
        if len(wave) < _SHORTEST:
            wave = np.pad(wave, (0, _SHORTEST - len(wave)), mode="wrap")
        vector: np.ndarray = self.forward(torch.from_numpy(wave).unsqueeze(0)).reshape(-1).cpu().numpy()
        return vector

    def forward(self, waves: torch.Tensor) -> torch.Tensor:
        """Vectors (batch × 1 × dimension) of waves of one length."""
        batch = waves.to(self.device)
        lengths = torch.ones(len(batch), device=self.device)
        vectors: torch.Tensor = self.network(self.normalize(self.features(batch), lengths), lengths)
        return vectors

    def save(self, config: Path, out: Path) -> None:
        """Write the encoder that was made of `config`, with its present weights, to directory `out`.

        ``out/encoder.yaml`` is its new configuration.
        """
        settings = {**yaml.safe_load(config.read_text()), "model": "model.ckpt"}
        save_weights(self.network, out / "model.ckpt")
        write_text(out / "encoder.yaml", yaml.safe_dump(settings, sort_keys=False, default_flow_style=None))


class _Configured(NeuralEncoder):
    """An encoder whose yaml gives its measures and where its weights are.

    `model` is a name in conf/models.yaml, a .ckpt file beside the yaml, or none: then there are no weights, and the
    encoder is only where a training starts.
    """

    def __init__(self, config: Path) -> None:
        settings = read_config(config, encoder=str, model=str, mels=int, channels=list, dimension=int)
        network = self.make_network(settings)
        if settings["model"] != "none":
            load_weights(network, self._weights(config, settings["model"]))
        normalize = InputNormalization(norm_type="sentence", std_norm=False)
        super().__init__(Fbank(n_mels=settings["mels"]), normalize, network)

    def make_network(self, settings: dict[str, Any]) -> torch.nn.Module:
        raise NotImplementedError

    @staticmethod
    def _weights(config: Path, model: str) -> Path:
        if model.endswith(".ckpt"):
            return config.parent / model
        return models.locate(models.find_model(model)) / "embedding_model.ckpt"


class Ecapa(_Configured):
    """SpeechBrain's ECAPA-TDNN (Desplanques et al., Interspeech 2020)."""

    def make_network(self, settings: dict[str, Any]) -> torch.nn.Module:
        """Of any width."""
        network: torch.nn.Module = ECAPA_TDNN(
            settings["mels"], channels=settings["channels"], lin_neurons=settings["dimension"]
        )
        return network


class XVector(_Configured):
    """SpeechBrain's x-vector TDNN (Snyder et al., ICASSP 2018)."""

    def make_network(self, settings: dict[str, Any]) -> torch.nn.Module:
        """The five layers of the paper, of any width."""
        network: torch.nn.Module = Xvector(
            in_channels=settings["mels"], tdnn_channels=settings["channels"], lin_neurons=settings["dimension"]
        )
        return network


class SpeechBrainDirectory(NeuralEncoder):
    """Any directory that SpeechBrain's EncoderClassifier loads: hyperparams.yaml and embedding_model.ckpt."""

    def __init__(self, config: Path) -> None:
        settings = read_config(config, encoder=str, directory=str)
        self.directory = config.parent / settings["directory"]
        super().__init__(*read_modules(self.directory))

    def save(self, config: Path, out: Path) -> None:
        """Again a directory of SpeechBrain's kind."""
        save_weights(self.network, out / "embedding_model.ckpt")
        shutil.copy(self.directory / "hyperparams.yaml", out / "hyperparams.yaml")
        write_text(out / "encoder.yaml", "encoder: speechbrain\ndirectory: .\n")


class F0Histogram:
    """The melody instead of the voice: how often which F0 occurs; the same for all where there is no voiced frame."""

    def __init__(self, config: Path) -> None:
        read_config(config, encoder=str, similarity=str)

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """107 shares that sum to one."""
        histogram = f0_histogram(track_pyin(wave))
        return np.full(len(LAGS), 1 / len(LAGS), np.float32) if histogram is None else histogram


def _whisper_frames(config: Path) -> Encoder:
    from vpeval.asr.whisper_frames import WhisperFrames  # on demand, as it brings CTranslate2 along

    return WhisperFrames(config)


_ENCODERS: dict[str, Callable[[Path], Encoder]] = {
    "ecapa": Ecapa,
    "xvector": XVector,
    "speechbrain": SpeechBrainDirectory,
    "f0_histogram": F0Histogram,
    "whisper_frames": _whisper_frames,
}


def load_encoder(config: Path) -> Encoder:
    """The encoder that a yaml of conf/asv/ describes; computes on one thread, as jobs run side by side."""
    compute.set_up()
    if not has_weights(config):
        raise InputError("has no weights (model: none); train it with steps/train_asv.sh --mode scratch", config)
    return choose(config, "encoder", _ENCODERS)(config)


def make_encoder(config: Path) -> NeuralEncoder:
    """An encoder to be trained, with random weights where the yaml names none."""
    encoder = choose(config, "encoder", _ENCODERS)(config)
    if not isinstance(encoder, NeuralEncoder):
        raise InputError("describes no network, so that there is nothing to train", config)
    return encoder


def has_weights(config: Path) -> bool:
    """Whether an encoder can be used without training."""
    choose(config, "encoder", _ENCODERS)
    return bool(yaml.safe_load(config.read_text()).get("model") != "none")
