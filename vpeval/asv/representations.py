"""Attackers that learn a representation in one go: phone units, and encoders without what changes with the voice.

**Units** are the centres of k-means (Lloyd, 1982; seeds as Arthur & Vassilvitskii, 2007, draw them) on frozen features;
`vpeval.networks.units` has the encoder that counts them.

**Nuisance** is what changes with the voice alone, and is removed from an encoder so that timbre does not help it.
Every training utterance is embedded as it is and in several voices that are drawn at random
(`vpeval.asv.perturbation`). Words, rhythm, rate and intonation are the same each time, so that the vectors of an
utterance differ by the voice only. With S their covariance around the means of the utterances, μ the mean of all
vectors and d their dimension,

    x ↦ (S + λ·tr(S)/d·I)^(-1/2) · (x - μ)

makes directions count less in a cosine the more they follow the voice: within-class covariance normalisation (Hatch et
al., Interspeech 2006), where utterances are the classes. Speakers need not be known, and S needs little speech. The map
becomes part of the network's last layer, which is linear: the result is an encoder of the same kind and as fast.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
import yaml

from vpeval.asv.perturbation import Perturbation
from vpeval.audio.io import RATE, read_audio
from vpeval.core.arrays import AnyFloats, Floats, Floats32
from vpeval.core.config import read_config, read_yaml
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path, write_text
from vpeval.core.seeds import generator
from vpeval.data.directory import DataDir
from vpeval.networks.encoders import has_weights
from vpeval.networks.neural import NeuralEncoder, trainable_encoder
from vpeval.networks.units import FrozenFeatures, nearest

if TYPE_CHECKING:
    from vpeval.asv.train_attackers import Training


_CODEBOOK = "codebook.npy"
_TOLERANCE = 1e-3


def learn_units(training: Training, work: Path) -> str:
    """Learn phone units and write the encoder to ``work/out``; return what they were learnt from."""
    utts, frames = train_units(training.encoder, training.profile, _utterances(training), training.seed, work / "out")
    return f"units of {frames} frames of {utts} utterances"


def learn_nuisance(training: Training, work: Path) -> str:
    """Take the nuisance out of an encoder and write it to ``work/out``; return what the nuisance was learnt from."""
    utts, minutes = train_nuisance(
        training.encoder, training.profile, _utterances(training), training.seed, work / "out"
    )
    return f"nuisance of {utts} utterances, {minutes:.1f} minutes"


def _utterances(training: Training) -> list[tuple[str, str]]:
    return [pair for directory in training.data for pair in DataDir.load(directory).wav.items()]


def train_units(config: Path, profile: Path, utts: Sequence[tuple[str, str]], seed: int, out: Path) -> tuple[int, int]:
    """Learn the codebook of an encoder from utterances (id, audio) and write it with its yaml to `out`.

    Returns the numbers of utterances and frames that were used: utterances are drawn until there is as much speech as
    the profile wants, so that the time of training does not grow with the corpus.
    """
    wanted = read_config(profile, units=int, minutes=float, iterations=int)
    if min(wanted.values()) <= 0:
        raise InputError("'units', 'minutes' and 'iterations' must be greater than 0", profile)
    features = FrozenFeatures(config)
    count, frames = 0, []
    budget = wanted["minutes"] * 60 * RATE / features.hop
    for _, wave in _in_random_order(utts, generator(seed, "units", "order")):
        frames.append(features(wave))
        count += len(frames[-1])
        if count >= budget:
            break
    try:
        centres = find_centres(
            np.concatenate(frames), wanted["units"], wanted["iterations"], generator(seed, "units", "centres")
        )
    except ValueError as error:
        raise InputError(f"'units': {error}; ask for fewer or train on more speech", profile) from None
    with atomic_path(out / _CODEBOOK) as temporary, open(temporary, "wb") as file:
        np.save(file, centres, allow_pickle=False)
    settings = {**read_yaml(config), "codebook": _CODEBOOK}
    write_text(out / "encoder.yaml", yaml.safe_dump(settings, sort_keys=False))
    return len(frames), count


def find_centres(frames: AnyFloats, count: int, iterations: int, rng: np.random.Generator) -> Floats:
    """`count` centres of the frames; fewer than `iterations` rounds are made where nothing moves any more.

    A centre that no frame is nearest to goes to the frame that is farthest from its own.
    """
    if len(frames) < count:
        raise ValueError(f"{len(frames)} frames for {count} centres")
    centres = _seeds(frames, count, rng)
    owner = np.full(len(frames), -1)
    for _ in range(iterations):
        found, distance = nearest(frames, centres)
        if np.array_equal(found, owner):
            break
        owner = found
        sizes = np.bincount(owner, minlength=count)
        order = np.argsort(owner, kind="stable")
        starts = np.concatenate([[0], np.cumsum(sizes)])
        farthest = iter(np.argsort(-distance, kind="stable"))
        for centre in range(count):
            own = order[starts[centre] : starts[centre + 1]]
            centres[centre] = (
                frames[own].mean(axis=0, dtype=np.float64) if len(own) else np.asarray(frames[next(farthest)])
            )
    return centres


def _seeds(frames: AnyFloats, count: int, rng: np.random.Generator) -> Floats:
    """Frames drawn one after the other, each with a probability in proportion to its squared distance to the others."""
    chosen = [int(rng.integers(len(frames)))]
    distance = np.full(len(frames), np.inf)
    while len(chosen) < count:
        distance = np.minimum(distance, nearest(frames, np.asarray(frames[chosen[-1:]], np.float64))[1])
        total = np.cumsum(distance)
        if total[-1] <= 0:
            raise ValueError(f"only {len(chosen)} different frames for {count} centres")
        chosen.append(int(np.searchsorted(total, rng.random() * total[-1], side="right").clip(0, len(frames) - 1)))
    return np.asarray(frames[chosen], np.float64)


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
    def from_voices(cls, utterances: Iterable[AnyFloats]) -> Nuisance:
        """From vectors (voice × dimension) of every utterance, which are read once and not kept."""
        count = freedom = 0
        total: Floats | float = 0.0
        scatter: Floats | float = 0.0
        for vectors in utterances:
            around = vectors - vectors.mean(axis=0, dtype=np.float64)
            scatter = scatter + around.T @ around
            total = total + vectors.sum(axis=0, dtype=np.float64)
            count, freedom = count + len(vectors), freedom + len(vectors) - 1
        if not freedom:
            raise ValueError("there is no utterance in two voices")
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

    Returns the number of utterances that were used and how many minutes they last: they are drawn until there is as
    much speech as the profile wants, so that the time of training does not grow with the corpus.
    """
    wanted = Profile.read(profile)
    if not has_weights(config):
        raise InputError("has no weights, so that it has no nuisance to remove", config)
    encoder = trainable_encoder(config)
    lengths: list[int] = []

    def embed_voices() -> Iterator[Floats32]:
        for utt, wave in _in_random_order(utts, generator(seed, "nuisance", "order")):
            voices = [wave]
            voices += [
                wanted.perturb(wave, generator(seed, "nuisance", utt, number)) for number in range(wanted.voices)
            ]
            lengths.append(len(wave))
            yield np.stack([encoder.embed(voice) for voice in voices])
            if sum(lengths) >= wanted.minutes * 60 * RATE:
                return

    try:
        nuisance = Nuisance.from_voices(embed_voices())
        whitening = nuisance.whitening(wanted.shrinkage)
    except ValueError as error:
        raise InputError(f"{error}; check 'perturb' and the training speech", profile) from None
    try:
        append(encoder, whitening, nuisance.mean)
    except ValueError as error:
        raise InputError(f"{error}, so that the nuisance cannot be removed there", config) from None
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


def _in_random_order(utts: Sequence[tuple[str, str]], rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Utterances (id, audio) with their samples, in random order; progress goes to the log of the job."""
    for number, index in enumerate(rng.permutation(len(utts)), start=1):
        utt, wav = utts[index]
        yield utt, read_audio(wav)
        if number % 10 == 0 or number == len(utts):
            print(f"progress: {number}/{len(utts)}", flush=True)
