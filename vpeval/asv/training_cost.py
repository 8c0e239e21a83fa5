"""The cost of a training, before it starts: memory of a process, time of an epoch.

A few steps of the real network with the real loss are made on two and on four crops. What autograd keeps for the way
back grows with the batch, so that two sizes give what one crop needs; weights, gradients and the moments of Adam come
on top. Time is measured where the estimate is made. Of another machine, a GPU above all, the number of operations
(forward and backward, as torch counts them) gives the time, at so many operations a second.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.utils.flop_counter import FlopCounterMode

from vpeval.asv.train_network import Corpus, Profile, freeze, hold_out
from vpeval.audio.io import RATE, read_audio
from vpeval.networks.neural import NeuralEncoder
from vpeval.networks.speechbrain import AdditiveAngularMargin, Classifier, LogSoftmaxWrapper

SUSTAINED = 10e12
"""Operations a second that a GPU of a few years ago keeps up in float32 convolutions; a fraction of its peak."""
_SIZES = (2, 4)
_COPIES = 4  # of every weight: itself, its gradient, and two moments
_RUNTIME = 600 << 20  # torch and what it imports
_READ = 8


@dataclass(frozen=True)
class Estimate:
    """Sizes in bytes and seconds of one epoch; `device` is where they were measured."""

    utts: int
    speakers: int
    steps: int
    weights: int
    memory: float
    seconds: float
    reading: float
    operations: float
    device: str
    processes: int

    @property
    def on_gpu(self) -> float:
        """Seconds of an epoch on GPUs, one for each process, by their operations alone."""
        return self.operations / SUSTAINED / self.processes


def estimate(encoder: NeuralEncoder, profile: Profile, corpus: Corpus, seed: int, processes: int) -> Estimate:
    """Of training `encoder` on `corpus` by so many processes; nothing is trained."""
    freeze(encoder, profile)
    chosen, held_out = hold_out(corpus, profile.validation_share, seed)
    batch = min(profile.batch, len(chosen))
    steps = len(chosen) // batch
    step = _step(encoder, profile, len(corpus.speakers))
    kept = [_kept(step, size) for size in _SIZES]
    per_crop = (kept[1] - kept[0]) / (_SIZES[1] - _SIZES[0])
    fixed = kept[0] - _SIZES[0] * per_crop
    weights = sum(p.numel() * p.element_size() for p in encoder.network.parameters())
    # Gradients of activations come on top, a layer or two at a time.
    memory = _RUNTIME + _COPIES * weights + fixed + 1.2 * per_crop * math.ceil(batch / processes)
    with FlopCounterMode(display=False) as counter:
        step(_SIZES[0])
    crops = steps * batch + len(held_out) / 3  # validation has no backward pass, which is two thirds of a step
    return Estimate(
        utts=len(chosen),
        speakers=len(corpus.speakers),
        steps=steps,
        weights=weights,
        memory=memory,
        seconds=crops * _timed(lambda: step(_SIZES[1])) / _SIZES[1] / processes,
        reading=crops * _timed(lambda: [read_audio(wav) for wav in corpus.wavs[:_READ]]) / min(_READ, len(corpus.wavs)),
        operations=crops * counter.get_total_flops() / _SIZES[0],
        device=encoder.device.type,
        processes=processes,
    )


def _step(encoder: NeuralEncoder, profile: Profile, speakers: int) -> Callable[[int], None]:
    """A function that makes a step, except for the optimiser, on so many crops of noise."""
    network = encoder.network.train()
    samples = int(profile.crop_seconds * RATE)
    dimension = encoder.forward(torch.zeros(2, RATE)).shape[-1]
    classifier = Classifier(dimension, lin_neurons=dimension, out_neurons=speakers).to(encoder.device)
    loss = LogSoftmaxWrapper(AdditiveAngularMargin(profile.margin, profile.scale))

    def step(crops: int) -> None:
        waves = torch.randn(crops, samples, generator=torch.Generator().manual_seed(0))
        labels = torch.zeros(crops, 1, dtype=torch.long, device=encoder.device)
        loss(classifier(encoder.forward(0.1 * waves)), labels).backward()
        network.zero_grad()

    return step


def _kept(step: Callable[[int], None], crops: int) -> float:
    """Bytes that autograd keeps in a step."""
    kept: dict[int, int] = {}

    def note(tensor: torch.Tensor) -> torch.Tensor:
        storage = tensor.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
        step(crops)
    return float(sum(kept.values()))


def _timed(work: Callable[[], object]) -> float:
    """Seconds, the lesser of two."""
    seconds = []
    for _ in range(2):
        start = time.perf_counter()
        work()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds)
