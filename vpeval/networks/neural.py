"""Speaker encoders made of SpeechBrain's features, normalisation and network, which steps/train_asv.sh can train."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from vpeval.core import models
from vpeval.core.config import read_config, read_yaml
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.networks import compute
from vpeval.networks.compute import load_weights, save_weights
from vpeval.networks.encoders import long_enough, make_encoder
from vpeval.networks.hyperparams import HYPERPARAMS, read_hyperparams
from vpeval.networks.speechbrain import ECAPA_TDNN, Fbank, InputNormalization, Xvector

_PARTS = ("compute_features", "mean_var_norm", "embedding_model")


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
        vector: np.ndarray = self.forward(torch.from_numpy(long_enough(wave)).unsqueeze(0)).reshape(-1).cpu().numpy()
        return vector

    @property
    def on_gpu(self) -> bool:
        """Whether several utterances at a time are faster."""
        return self.device.type == "cuda"

    @torch.inference_mode()
    def start(self, waves: Sequence[np.ndarray]) -> Callable[[], np.ndarray]:
        """Begin to compute the vectors of waves of one length; the function that is returned waits for them.

        On a GPU nothing waits here: copies in both directions go through pinned memory.
        """
        batch = torch.from_numpy(np.stack([long_enough(wave) for wave in waves]))
        if not self.on_gpu:
            computed: np.ndarray = self.forward(batch).squeeze(1).numpy()
            return lambda: computed
        vectors = self.forward(batch.pin_memory()).squeeze(1)
        copy = torch.empty(vectors.shape, dtype=vectors.dtype).pin_memory()
        copy.copy_(vectors, non_blocking=True)
        copied = torch.cuda.Event()
        copied.record()

        def wait() -> np.ndarray:
            copied.synchronize()
            return np.asarray(copy.numpy())

        return wait

    def forward(self, waves: torch.Tensor) -> torch.Tensor:
        """Vectors (batch × 1 × dimension) of waves of one length."""
        batch = waves.to(self.device, non_blocking=True)
        lengths = torch.ones(len(batch), device=self.device)
        vectors: torch.Tensor = self.network(self.normalize(self.features(batch), lengths), lengths)
        return vectors

    def save(self, config: Path, out: Path) -> None:
        """Write the encoder that was made of `config`, with its present weights, to directory `out`.

        ``out/encoder.yaml`` is its new configuration.
        """
        settings = {**read_yaml(config), "model": "model.ckpt"}
        save_weights(self.network, out / "model.ckpt")
        write_text(out / "encoder.yaml", yaml.safe_dump(settings, sort_keys=False, default_flow_style=None))


class _Configured(NeuralEncoder):
    """An encoder whose yaml gives its sizes and its weights.

    `model` is a name in conf/models.yaml, a .ckpt file next to the yaml, or none: then there are no weights, and the
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
        super().__init__(*_read_modules(self.directory))

    def save(self, config: Path, out: Path) -> None:
        """Again a directory of SpeechBrain's kind."""
        save_weights(self.network, out / "embedding_model.ckpt")
        shutil.copy(self.directory / "hyperparams.yaml", out / "hyperparams.yaml")
        write_text(out / "encoder.yaml", "encoder: speechbrain\ndirectory: .\n")


def _read_modules(directory: Path) -> tuple[torch.nn.Module, torch.nn.Module, torch.nn.Module]:
    """Features, normalisation and network of a directory, with its weights."""
    hyperparams = directory / HYPERPARAMS
    made = read_hyperparams(directory, f"a SpeechBrain EncoderClassifier ({HYPERPARAMS}, embedding_model.ckpt)")
    if missing := [name for name in _PARTS if not isinstance(made.get(name), torch.nn.Module)]:
        raise InputError(f"names no {', '.join(missing)}; is it a speaker encoder?", hyperparams)
    features, normalize, network = (made[name] for name in _PARTS)
    if isinstance(normalize, InputNormalization) and normalize.norm_type == "global":
        raise InputError("mean_var_norm is global, which needs stored statistics; only sentence works", hyperparams)
    load_weights(network, directory / "embedding_model.ckpt")
    return features, normalize, network


def trainable_encoder(config: Path) -> NeuralEncoder:
    """An encoder to be trained, with random weights where the yaml names none."""
    encoder = make_encoder(config)
    if not isinstance(encoder, NeuralEncoder):
        raise InputError("describes no network that can be trained here", config)
    return encoder
