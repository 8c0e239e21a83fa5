"""A small convolutional CTC network on log-mel energies, quick to train on a CPU.

Residual blocks of time-depthwise and pointwise convolutions (as in QuartzNet, Kriman et al., ICASSP 2020): without
recurrence an epoch over twenty minutes of speech takes seconds.
"""

from __future__ import annotations

import torch
from torch import nn

from vpeval.networks.speechbrain import Fbank, InputNormalization


class ConvCTC(nn.Module):
    """Waves in, log-probabilities of the labels out, one frame in 10 ms · `stride`."""

    def __init__(self, labels: int, mels: int, channels: int, blocks: int, kernel: int, stride: int, dropout: float):
        super().__init__()
        self.stride = stride
        self.features = Fbank(n_mels=mels)
        self.normalize = InputNormalization(norm_type="sentence", std_norm=False)
        self.inlet = nn.Sequential(
            nn.Conv1d(mels, channels, 5, stride=stride, padding=2), nn.BatchNorm1d(channels), nn.ReLU()
        )
        self.body = nn.Sequential(*(_Block(channels, kernel, dropout) for _ in range(blocks)))
        self.outlet = nn.Linear(channels, labels)

    def forward(self, waves: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Batch × frames × labels; `lengths` are relative to the longest wave, as everywhere in SpeechBrain."""
        return self.classify(self.mels(waves, lengths))

    @torch.no_grad()
    def mels(self, waves: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        """Normalised log-mel energies, batch × frames × mels."""
        energies: torch.Tensor = self.normalize(self.features(waves), lengths)
        return energies

    def classify(self, mels: torch.Tensor) -> torch.Tensor:
        """Log-probabilities from log-mel energies."""
        hidden = self.body(self.inlet(mels.transpose(1, 2)))
        logprobs: torch.Tensor = self.outlet(hidden.transpose(1, 2)).log_softmax(-1)
        return logprobs


class _Block(nn.Module):
    def __init__(self, channels: int, kernel: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Conv1d(channels, channels, kernel, padding=kernel // 2, groups=channels),
            nn.Conv1d(channels, channels, 1),
            nn.BatchNorm1d(channels),
            nn.ReLU(),
            nn.Dropout(dropout),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = x + self.layers(x)
        return result
