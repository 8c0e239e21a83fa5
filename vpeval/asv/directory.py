"""A speaker encoder from a local SpeechBrain directory, as its EncoderClassifier has it, without network."""

from __future__ import annotations

from pathlib import Path

import torch

from vpeval.asv.hyperparams import HYPERPARAMS, read_hyperparams
from vpeval.asv.speechbrain import InputNormalization
from vpeval.asv.weights import load_weights
from vpeval.core.errors import InputError

_PARTS = ("compute_features", "mean_var_norm", "embedding_model")


def read_modules(directory: Path) -> tuple[torch.nn.Module, torch.nn.Module, torch.nn.Module]:
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
