"""Step 3 of B1, full profile: SpeechBrain's HiFi-GAN from content, F0 and speaker vector straight to the waveform.

As in the challenge's joint HiFi-GAN systems, the generator (Kong et al., NeurIPS 2020) is conditioned on the
frames of content and F0 and on the speaker vector, and trained against period and scale discriminators with feature
matching and a mel-spectrogram loss.
"""

from __future__ import annotations

import itertools
import logging
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from vpeval.anon.xvector.features import FRAME, Example, frame_count, pitch_features
from vpeval.audio.io import RATE
from vpeval.core.arrays import Floats, Floats32
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path
from vpeval.networks import compute
from vpeval.networks.compute import fill, load_state, read_size

log = logging.getLogger(__name__)
_MEL_WEIGHT, _MATCH_WEIGHT = 45.0, 10.0


@dataclass(frozen=True)
class Size:
    """Dimensions of the generator; the product of `factors` must be the 320 samples of a frame."""

    content: int
    speaker: int
    channels: int
    factors: tuple[int, ...]
    kernels: tuple[int, ...]
    blocks: tuple[int, ...]


@dataclass(frozen=True)
class Training:
    """How long and how to learn."""

    steps: int
    batch: int
    frames: int
    rate: float = 2e-4
    seed: int = 0


def _hifigan() -> Any:
    from vpeval.networks import speechbrain  # noqa: F401  imports SpeechBrain the way it can be imported

    from speechbrain.lobes.models import HifiGAN  # isort: skip

    return HifiGAN


class Generator(nn.Module):
    """(batch, frames, content), (batch, frames, 4), (batch, speaker) → (batch, 1, 320 · frames)."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        if math.prod(size.factors) != FRAME:
            raise InputError(f"the product of 'factors' must be {FRAME}, not {math.prod(size.factors)}")
        self.size = size
        self.network = _hifigan().HifiganGenerator(
            in_channels=size.content + 4 + size.speaker,
            out_channels=1,
            resblock_type="1",
            resblock_dilation_sizes=[[1, 3, 5]] * len(size.blocks),
            resblock_kernel_sizes=list(size.blocks),
            upsample_kernel_sizes=list(size.kernels),
            upsample_initial_channel=size.channels,
            upsample_factors=list(size.factors),
        )

    def forward(self, content: Tensor, pitch: Tensor, speaker: Tensor) -> Tensor:
        """Make the waveform."""
        voice = (speaker * speaker.shape[1] ** 0.5).unsqueeze(1).expand(-1, content.shape[1], -1)
        wave: Tensor = self.network(torch.cat((content, pitch, voice), dim=2).transpose(1, 2))
        return wave


class FullSynthesizer:
    """A trained generator."""

    def __init__(self, generator: Generator) -> None:
        self.device = compute.device()
        self.generator = generator.to(self.device).eval()

    @torch.inference_mode()
    def synthesize(
        self, content: Floats32, f0: Floats, speaker: Floats32, length: int, rng: np.random.Generator
    ) -> Floats:
        """`length` samples that say `content` with pitch `f0` in the voice of `speaker`."""
        inputs = (content, pitch_features(f0), speaker)
        tensors = (torch.from_numpy(np.asarray(array, np.float32))[None].to(self.device) for array in inputs)
        wave: Floats = self.generator(*tensors).reshape(-1).cpu().numpy().astype(np.float64)
        return wave[:length]

    def save(self, path: Path) -> None:
        """Write size and weights."""
        with atomic_path(path) as temporary:
            torch.save({"size": asdict(self.generator.size), "weights": self.generator.state_dict()}, temporary)

    @classmethod
    def load(cls, path: Path) -> FullSynthesizer:
        """Read what `save` wrote."""
        found = load_state(path)
        generator = Generator(read_size(Size, found, path))
        fill(generator, found.get("weights"), path)
        return cls(generator)


@dataclass(frozen=True)
class FullBackend:
    """The full profile of B1."""

    size: Size
    training: Training

    def target(self, wave: np.ndarray, f0: Floats) -> Floats32:
        """The samples themselves, a row for every frame."""
        frames = frame_count(len(wave))
        return np.pad(wave, (0, frames * FRAME - len(wave))).reshape(frames, FRAME).astype(np.float32)

    def train(self, examples: Sequence[Example]) -> FullSynthesizer:
        """Train generator and discriminators in turns."""
        device = compute.device()
        torch.manual_seed(self.training.seed)
        rng = np.random.default_rng(self.training.seed)
        generator = Generator(self.size).to(device)
        game = _Game(generator, _hifigan().HifiganDiscriminator().to(device), self.training)
        lengths = np.array([len(example.target) for example in examples])
        for step in range(1, self.training.steps + 1):
            chosen = rng.choice(len(examples), self.training.batch, p=lengths / lengths.sum())
            batch = _batch([examples[number] for number in chosen], self.training.frames, rng)
            mel_loss = game.play([tensor.to(device) for tensor in batch])
            if step % 100 == 0 or step == self.training.steps:
                log.info("  HiFi-GAN: step %d of %d, mel loss %.3f", step, self.training.steps, mel_loss)
        return FullSynthesizer(generator)

    def load(self, path: Path) -> FullSynthesizer:
        """Read a trained generator."""
        return FullSynthesizer.load(path)


class _Game:
    """One turn of the discriminators, one of the generator."""

    def __init__(self, generator: Generator, discriminator: nn.Module, training: Training) -> None:
        hifigan = _hifigan()
        self.generator, self.discriminator = generator, discriminator
        mel = hifigan.L1SpecLoss(sample_rate=RATE, hop_length=256, win_length=1024, n_fft=1024, mel_fmax=RATE / 2)
        self.generator_loss = hifigan.GeneratorLoss(
            mseg_loss=hifigan.MSEGLoss(),
            mseg_loss_weight=1,
            feat_match_loss=hifigan.MelganFeatureLoss(),
            feat_match_loss_weight=_MATCH_WEIGHT,
            l1_spec_loss=mel,
            l1_spec_loss_weight=_MEL_WEIGHT,
        )
        self.discriminator_loss = hifigan.DiscriminatorLoss(msed_loss=hifigan.MSEDLoss())
        settings = {"lr": training.rate, "betas": (0.8, 0.99)}
        self.generator_steps = torch.optim.AdamW(generator.parameters(), **settings)  # type: ignore[arg-type]
        self.discriminator_steps = torch.optim.AdamW(discriminator.parameters(), **settings)  # type: ignore[arg-type]

    def play(self, batch: Sequence[Tensor]) -> float:
        """Both turns on one batch; returns the generator's mel loss."""
        content, pitch, speaker, real = batch
        fake = self.generator(content, pitch, speaker)
        scores_fake, _ = self.discriminator(fake.detach())
        scores_real, _ = self.discriminator(real)
        self._step(self.discriminator_steps, self.discriminator_loss(scores_fake, scores_real)["D_loss"])
        scores_fake, feats_fake = self.discriminator(fake)
        _, feats_real = self.discriminator(real)
        losses = self.generator_loss(None, fake, real, scores_fake, feats_fake, feats_real)
        self._step(self.generator_steps, losses["G_loss"])
        return float(losses["G_l1_spec_loss"].detach())

    @staticmethod
    def _step(optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()


def _batch(examples: Sequence[Example], frames: int, rng: np.random.Generator) -> list[Tensor]:
    """Crops of one length; an utterance that is shorter is repeated."""
    rows: list[tuple[NDArray[Any], ...]] = []
    for example in examples:
        content = example.contents[rng.integers(len(example.contents))]
        start = int(rng.integers(max(1, len(content) - frames + 1)))
        here = np.fromiter(itertools.islice(itertools.cycle(range(start, len(content))), frames), np.int64)
        wave = example.target[here].reshape(1, -1)
        rows.append((content[here], pitch_features(example.f0)[here], example.speaker, wave))
    return [torch.from_numpy(np.stack(column)) for column in zip(*rows, strict=True)]
