"""Step 3 of B1, CPU profile: a small acoustic model from content, F0 and speaker vector to the vocoder's parameters.

The acoustic model is a stack of dilated convolutions over frames of 20 ms, modulated by the speaker vector. It predicts
the log envelope in 80 mel bands and the noisiness in four, twice per frame, and learns in minutes on two cores.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

from vpeval.anon import vocoder
from vpeval.anon.xvector.features import Example, frame_count, pitch_features
from vpeval.audio.io import RATE
from vpeval.core.arrays import AnyFloats, Floats, Floats32
from vpeval.core.files import atomic_path
from vpeval.networks.compute import fill, load_state, read_size

log = logging.getLogger(__name__)
MELS = 80
OUTPUTS = MELS + len(vocoder.BAND_EDGES) - 1


@dataclass(frozen=True)
class Size:
    """Dimensions of the acoustic model."""

    content: int
    speaker: int
    channels: int = 192
    blocks: int = 5


class AcousticModel(nn.Module):
    """(batch, frames, content), (batch, frames, 4), (batch, speaker) → (batch, 2 · frames, 84)."""

    def __init__(self, size: Size, dropout: float = 0.0) -> None:
        super().__init__()
        self.size = size
        self.entrance = nn.Linear(size.content + 4, size.channels)
        self.blocks = nn.ModuleList(_Block(size, 2 ** (number % 3), dropout) for number in range(size.blocks))
        self.exit = nn.Linear(size.channels, 2 * OUTPUTS)
        self.mean = nn.Buffer(torch.zeros(OUTPUTS))
        self.spread = nn.Buffer(torch.ones(OUTPUTS))

    def forward(self, content: Tensor, pitch: Tensor, speaker: Tensor) -> Tensor:
        """Predict the normalised parameters."""
        hidden = self.entrance(torch.cat((content, pitch), dim=2)).transpose(1, 2)
        speaker = speaker * speaker.shape[1] ** 0.5  # a unit vector's components are small
        for block in self.blocks:
            hidden = block(hidden, speaker)
        batch, frames, _ = content.shape
        return self.exit(hidden.transpose(1, 2)).reshape(batch, 2 * frames, OUTPUTS)


class _Block(nn.Module):
    def __init__(self, size: Size, dilation: int, dropout: float) -> None:
        super().__init__()
        self.convolution = nn.Conv1d(size.channels, size.channels, 5, padding=2 * dilation, dilation=dilation)
        self.normalization = nn.GroupNorm(1, size.channels)
        self.modulation = nn.Linear(size.speaker, 2 * size.channels)
        self.dropout = nn.Dropout(dropout)

    def forward(self, hidden: Tensor, speaker: Tensor) -> Tensor:
        scale, shift = self.modulation(speaker).unsqueeze(2).chunk(2, dim=1)
        inner = self.normalization(self.convolution(hidden)) * (1 + scale) + shift
        return hidden + self.dropout(nn.functional.gelu(inner))


def to_target(speech: vocoder.Speech, frames: int) -> Floats32:
    """The vocoder's parameters as the acoustic model has them: 2 · `frames` rows."""
    rows = np.concatenate((speech.envelope @ _to_mel().T, speech.noise), axis=1)
    rows = np.pad(rows[: 2 * frames], ((0, max(0, 2 * frames - len(rows))), (0, 0)), mode="edge")
    return rows.astype(np.float32)


def from_target(rows: AnyFloats, f0: Floats) -> vocoder.Speech:
    """The other way round; the noisiness of unvoiced frames is 1 by definition."""
    noise = np.where(f0[:, None] > 0, np.clip(rows[:, MELS:], 0, 1), 1.0)
    return vocoder.Speech(f0, rows[:, :MELS] @ _from_mel().T, noise)


def _mel_places() -> Floats:
    top = 2595 * np.log10(1 + RATE / 2 / 700)
    return 700 * (10 ** (np.linspace(0, top, MELS) / 2595) - 1)


@cache
def _from_mel() -> Floats:
    """Linear interpolation from mel-spaced frequencies to bins, 513 x 80."""
    bins = np.arange(vocoder.BINS) * RATE / vocoder.FFT
    return np.stack([np.interp(bins, _mel_places(), row) for row in np.eye(MELS)], axis=1)


@cache
def _to_mel() -> Floats:
    """Weighted means of bins around mel-spaced frequencies, 80 x 513."""
    bins = np.arange(vocoder.BINS) * RATE / vocoder.FFT
    places = _mel_places()
    width = np.maximum(np.gradient(places), RATE / vocoder.FFT)
    triangles = np.maximum(0, 1 - np.abs(bins - places[:, None]) / width[:, None])
    return triangles / triangles.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Training:
    """How long and how to learn.

    A few dozen speakers are soon learnt by heart. Three settings work against that: dropout; noise added to the
    content, whose variance is about 1; and mixing, how far from the speaker's mean vector to that of the utterance (0
    to 1) the vector of an example may be.
    """

    steps: int = 1000
    batch: int = 16
    frames: int = 100
    rate: float = 2e-3
    dropout: float = 0.0
    noise: float = 0.0
    mixing: float = 0.0
    seed: int = 0


def train(examples: Sequence[Example], size: Size, training: Training) -> AcousticModel:
    """Fit the acoustic model; the same examples and settings give the same model."""
    torch.manual_seed(training.seed)
    rng = np.random.default_rng(training.seed)
    model = AcousticModel(size, training.dropout)
    everything = np.concatenate([example.target for example in examples])
    model.mean.copy_(torch.from_numpy(everything.mean(axis=0)))
    model.spread.copy_(torch.from_numpy(everything.std(axis=0) + 1e-3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=training.rate)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, training.rate, total_steps=training.steps)
    lengths = np.array([len(example.contents[0]) for example in examples])
    running = 0.0
    for step in range(1, training.steps + 1):
        chosen = rng.choice(len(examples), training.batch, p=lengths / lengths.sum())
        loss = _loss(model, _batch([examples[number] for number in chosen], training, rng))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        running += (loss.item() - running) / min(step, 50)
        if step % 50 == 0 or step == training.steps:
            log.info("  acoustic model: step %d of %d, loss %.3f", step, training.steps, running)
    return model.eval()


def _batch(examples: Sequence[Example], training: Training, rng: np.random.Generator) -> tuple[Tensor, ...]:
    """Crops of one length, padded with zeros where an utterance is shorter; the mask says where it is not."""
    frames = training.frames
    shape = (len(examples), frames)
    content = np.zeros((*shape, examples[0].contents[0].shape[1]), np.float32)
    pitch = np.zeros((*shape, 4), np.float32)
    target = np.zeros((len(examples), 2 * frames, OUTPUTS), np.float32)
    mask = np.zeros((len(examples), 2 * frames, 1), np.float32)
    for row, example in enumerate(examples):
        version = example.contents[rng.integers(len(example.contents))]
        start = int(rng.integers(max(1, len(version) - frames + 1)))
        here = slice(start, start + frames)
        count = len(version[here])
        content[row, :count] = version[here]
        pitch[row, :count] = pitch_features(example.f0)[here]
        target[row, : 2 * count] = example.target[2 * start : 2 * (start + count)]
        mask[row, : 2 * count] = 1
    if training.noise:
        content += training.noise * rng.standard_normal(content.shape, np.float32)
    speaker = np.stack([example.speaker for example in examples])
    if training.mixing:
        speaker = np.stack([_voice(example, training.mixing * rng.random()) for example in examples])
    return tuple(map(torch.from_numpy, (content, pitch, speaker, target, mask)))


def _voice(example: Example, share: float) -> Floats32:
    """A vector between the mean of the speaker and that of the utterance."""
    mixed = (1 - share) * example.speaker + share * example.vector
    return (mixed / np.linalg.norm(mixed)).astype(np.float32)


def _loss(model: AcousticModel, batch: tuple[Tensor, ...]) -> Tensor:
    content, pitch, speaker, target, mask = batch
    error = (model(content, pitch, speaker) - (target - model.mean) / model.spread).abs() * mask
    return error.sum() / (mask.sum() * OUTPUTS)


class CpuSynthesizer:
    """Acoustic model and vocoder."""

    def __init__(self, model: AcousticModel) -> None:
        self.model = model

    @torch.inference_mode()
    def synthesize(
        self, content: Floats32, f0: Floats, speaker: Floats32, length: int, rng: np.random.Generator
    ) -> Floats:
        """`length` samples that say `content` with pitch `f0` and the voice of `speaker`."""
        inputs = (content, pitch_features(f0), speaker)
        rows = self.model(*(torch.from_numpy(np.asarray(array, np.float32))[None] for array in inputs))[0]
        rows = rows * self.model.spread + self.model.mean
        wave = vocoder.synthesize(from_target(rows.numpy().astype(np.float64), f0), length, rng)
        return wave / max(1.0, np.abs(wave).max())

    def save(self, path: Path) -> None:
        """Write size and weights."""
        with atomic_path(path) as temporary:
            torch.save({"size": asdict(self.model.size), "weights": self.model.state_dict()}, temporary)

    @classmethod
    def load(cls, path: Path) -> CpuSynthesizer:
        """Read what `save` wrote."""
        found = load_state(path)
        model = AcousticModel(read_size(Size, found, path))
        fill(model, found.get("weights"), path)
        return cls(model.eval())


@dataclass(frozen=True)
class CpuBackend:
    """The CPU profile of B1."""

    size: Size
    training: Training

    def target(self, wave: np.ndarray, f0: Floats) -> Floats32:
        """Envelope and noisiness, as the vocoder sees them."""
        samples = np.asarray(wave, np.float64)
        speech = vocoder.Speech(f0, vocoder.envelope(samples, f0), vocoder.noisiness(samples, f0))
        return to_target(speech, frame_count(len(wave)))

    def train(self, examples: Sequence[Example]) -> CpuSynthesizer:
        """Fit the acoustic model; the vocoder has nothing to learn."""
        return CpuSynthesizer(train(examples, self.size, self.training))

    def load(self, path: Path) -> CpuSynthesizer:
        """Read a trained acoustic model."""
        return CpuSynthesizer.load(path)
