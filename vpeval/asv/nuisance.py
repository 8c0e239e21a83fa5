"""Take out of an encoder what changes with the voice alone, so that timbre does not help it.

Every training utterance is heard as it is and in several voices that are drawn at random (`vpeval.asv.perturbation`).
Words, rhythm, rate and intonation are the same each time, so that the vectors of an utterance differ by the voice only.
With S their covariance around the means of the utterances, μ the mean of all vectors and d their dimension,

    x ↦ (S + λ·tr(S)/d·I)^(-1/2) · (x - μ)

makes directions count less in a cosine the more they follow the voice: within-class covariance normalisation (Hatch et
al., Interspeech 2006), where utterances are the classes. Speakers need not be known, and S needs little speech. The map
becomes part of the network's last layer, which is linear: the result is an encoder of the same kind and as fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from vpeval.asv.encoders import has_weights
from vpeval.asv.neural import NeuralEncoder, trainable_encoder
from vpeval.asv.perturbation import Perturbation
from vpeval.asv.waves import in_random_order
from vpeval.audio.io import RATE
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.seeds import generator

Floats = NDArray[np.float64]

_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Profile:
    """A training configuration: how many voices an utterance gets, of how much speech, and λ."""

    voices: int
    minutes: float
    shrinkage: float
    perturb: Perturbation

    @classmethod
    def read(cls, path: Path) -> Profile:
        """Read and check a yaml."""
        settings = read_config(path, voices=int, minutes=float, shrinkage=float, perturb=dict)
        profile = cls(**{**settings, "perturb": Perturbation.read(settings["perturb"], path)})
        for name in ("voices", "minutes", "shrinkage"):
            if getattr(profile, name) <= 0:
                raise InputError(f"'{name}' must be greater than 0", path)
        return profile


@dataclass(frozen=True)
class Nuisance:
    """The mean of all vectors, and their covariance around the means of their utterances."""

    mean: Floats
    covariance: Floats

    @classmethod
    def of(cls, utterances: Iterable[NDArray[np.floating]]) -> Nuisance:
        """Of vectors, voice × dimension for every utterance, which are looked at once and not kept."""
        count = freedom = 0
        total: Floats | float = 0.0
        scatter: Floats | float = 0.0
        for vectors in utterances:
            around = vectors - vectors.mean(axis=0, dtype=np.float64)
            scatter = scatter + around.T @ around
            total = total + vectors.sum(axis=0, dtype=np.float64)
            count, freedom = count + len(vectors), freedom + len(vectors) - 1
        if not freedom:
            raise ValueError("no utterance was heard in two voices")
        return cls(np.asarray(total / count), np.asarray(scatter / freedom))

    def whitening(self, shrinkage: float) -> Floats:
        """The symmetric matrix by which vectors, less the mean, are multiplied."""
        values, basis = np.linalg.eigh(self.covariance)
        level = float(values.mean())
        if level <= 0:
            raise ValueError("another voice does not change any vector")
        scale: Floats = (np.maximum(values, 0) + shrinkage * level) ** -0.5
        return (basis * scale) @ basis.T


def train_nuisance(
    config: Path, profile: Path, utts: Sequence[tuple[str, str]], seed: int, out: Path
) -> tuple[int, float]:
    """Learn the nuisance of a pretrained encoder from utterances (id, audio) and write the encoder without it to `out`.

    Returns the number of utterances that were heard and how many minutes they last: they are drawn until there is as
    much speech as the profile wants, so that the time of training does not grow with the corpus.
    """
    wanted = Profile.read(profile)
    if not has_weights(config):
        raise InputError("has no weights, so that there is nothing to take a nuisance out of", config)
    encoder = trainable_encoder(config)
    lengths: list[int] = []

    def heard() -> Iterator[NDArray[np.float32]]:
        for utt, wave in in_random_order(utts, generator(seed, "nuisance", "order")):
            voices = [wave]
            voices += [
                wanted.perturb(wave, generator(seed, "nuisance", utt, number)) for number in range(wanted.voices)
            ]
            lengths.append(len(wave))
            yield np.stack([encoder.embed(voice) for voice in voices])
            if sum(lengths) >= wanted.minutes * 60 * RATE:
                return

    try:
        nuisance = Nuisance.of(heard())
        whitening = nuisance.whitening(wanted.shrinkage)
    except ValueError as error:
        raise InputError(f"{error}; look at 'perturb' and at the training speech", profile) from None
    try:
        append(encoder, whitening, nuisance.mean)
    except ValueError as error:
        raise InputError(f"{error}, so that nothing can be taken out of it there", config) from None
    encoder.save(config, out)
    return len(lengths), sum(lengths) / RATE / 60


def append(encoder: NeuralEncoder, matrix: Floats, mean: Floats) -> None:
    """Make an encoder give ``matrix @ (x - mean)`` where it gave x: its last layer has to be linear."""
    probe = np.random.default_rng(0).normal(0, 0.1, RATE).astype(np.float32)
    wanted = matrix @ (encoder.embed(probe) - mean)
    layers = [part for part in encoder.network.modules() if isinstance(part, (torch.nn.Linear, torch.nn.Conv1d))]
    if not layers or len(layers[-1].weight) != len(mean) or layers[-1].bias is None:
        raise ValueError("the network does not end in a linear layer")
    weight, bias = (part.detach().cpu().numpy().astype(np.float64) for part in (layers[-1].weight, layers[-1].bias))
    with torch.no_grad():
        layers[-1].weight.copy_(torch.from_numpy(np.tensordot(matrix, weight, 1)))
        layers[-1].bias.copy_(torch.from_numpy(matrix @ (bias - mean)))
    if np.abs(encoder.embed(probe) - wanted).max() > _TOLERANCE * np.abs(wanted).max():
        raise ValueError("the network does not end in a linear layer")
