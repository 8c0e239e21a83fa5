"""What the components of x-vector and TDNN networks compute, as layers of PyTorch.

A layer turns values of some frames into values of others: an affine layer of a TDNN uses frames around, statistics
are pooled over all frames there are (Snyder et al., ICASSP 2018). Everything is as at test time: batch normalisation
with its stored statistics, no dropout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from vpeval.core.arrays import Floats
from vpeval.embeddings.kaldi_stream import Malformed
from vpeval.networks.kaldi.descriptors import Frames, Stretch
from vpeval.networks.kaldi.nnet3 import Component

Fields = Mapping[str, Any]

_NORM_FLOOR = 2.0**-66  # as in Kaldi, so that silence is not divided by zero


class Layer(torch.nn.Module):
    """A layer whose output at a frame depends on that frame only; derived ones use further frames."""

    dimension: int | None = None
    """The dimension of its input; None: any."""

    def domain(self, inner: Frames) -> Frames:
        """The frames it can answer for, given those of its input."""
        return inner

    def needs(self, frames: Frames) -> Frames:
        """The frames of the input that it needs for its output at `frames`."""
        return frames

    def forward(self, inner: Stretch, frames: Frames) -> torch.Tensor:
        """Its values at `frames`."""
        return self.pointwise(inner.over(frames))

    def pointwise(self, values: torch.Tensor) -> torch.Tensor:
        """Its values at the frames of `values`."""
        return values


class Affine(Layer):
    """A matrix and a bias, applied to the frames at `offsets` side by side."""

    weight: torch.Tensor
    bias: torch.Tensor | None

    def __init__(self, weight: Floats, bias: Floats | None, offsets: Sequence[int] = (0,)) -> None:
        super().__init__()
        if weight.ndim != 2 or weight.shape[1] % len(offsets) or (bias is not None and bias.shape != weight.shape[:1]):
            raise Malformed("matrix and bias do not fit each other")
        self.offsets = tuple(offsets)
        self.dimension = weight.shape[1] // len(offsets)
        self.register_buffer("weight", _tensor(weight))
        self.register_buffer("bias", None if bias is None else _tensor(bias))

    def domain(self, inner: Frames) -> Frames:
        """Where the whole context is there."""
        return Frames(inner.first - min(self.offsets), inner.last - max(self.offsets))

    def needs(self, frames: Frames) -> Frames:
        """The context."""
        return Frames(frames.first + min(self.offsets), frames.last + max(self.offsets))

    def forward(self, inner: Stretch, frames: Frames) -> torch.Tensor:
        """One product for all frames."""
        context = torch.cat([inner.over(frames.shifted(offset)) for offset in self.offsets], dim=1)
        return torch.nn.functional.linear(context, self.weight, self.bias)


class ScaleAndShift(Layer):
    """Every dimension times a number, plus a number."""

    scale: torch.Tensor
    shift: torch.Tensor

    def __init__(self, scale: Floats, shift: Floats) -> None:
        super().__init__()
        self.dimension = len(scale)
        self.register_buffer("scale", _tensor(scale))
        self.register_buffer("shift", _tensor(shift))

    def pointwise(self, values: torch.Tensor) -> torch.Tensor:
        """Frame by frame."""
        return values * self.scale + self.shift


class Pointwise(Layer):
    """A function of every number, or of the numbers of a frame."""

    def __init__(self, function: Callable[[torch.Tensor], torch.Tensor]) -> None:
        super().__init__()
        self.function = function

    def pointwise(self, values: torch.Tensor) -> torch.Tensor:
        """Frame by frame."""
        return self.function(values)


class Normalize(Layer):
    """Scales every block of a frame to a root mean square of `rms`; may add the logarithm of what it was."""

    def __init__(self, dimension: int, block: int, rms: float, add_log: bool) -> None:
        super().__init__()
        self.dimension, self.block, self.rms, self.add_log = dimension, block, rms, add_log

    def pointwise(self, values: torch.Tensor) -> torch.Tensor:
        """Frame by frame."""
        blocks = values.reshape(-1, self.block)
        norm = (blocks.square().mean(dim=1, keepdim=True) / self.rms**2).clamp(min=_NORM_FLOOR).sqrt()
        scaled = blocks / norm
        if self.add_log:
            scaled = torch.cat((scaled, (norm * self.rms).log()), dim=1)
        return scaled.reshape(len(values), -1)


class StatisticsExtraction(Layer):
    """Count, sum and sum of squares over `output` frames, sampled every `period` frames."""

    def __init__(self, dimension: int, period: int, output: int, squares: bool) -> None:
        super().__init__()
        self.dimension, self.period, self.output, self.squares = dimension, period, output, squares

    def domain(self, inner: Frames) -> Frames:
        """Wherever one frame of the group is there."""
        groups = inner.rounded(self.output)
        return Frames(groups.first, groups.last + self.output - 1)

    def needs(self, frames: Frames) -> Frames:
        """The whole groups."""
        groups = frames.rounded(self.output)
        return Frames(groups.first, groups.last + self.output - 1)

    def forward(self, inner: Stretch, frames: Frames) -> torch.Tensor:
        """The statistics of the group that each frame is in."""
        columns = [torch.ones(len(inner.values), 1, device=inner.values.device), inner.values]
        if self.squares:
            columns.append(inner.values.square())
        single = torch.cat(columns, dim=1)
        if self.output == 1:
            return Stretch(inner.first, single).over(frames)
        times = torch.arange(inner.first, inner.first + len(single))
        groups = frames.rounded(self.output)
        sums = single.new_zeros((groups.last - groups.first) // self.output + 1, single.shape[1])
        rows = (times - groups.first).div(self.output, rounding_mode="floor")
        used = ((times % self.output) % self.period == 0) & (rows >= 0) & (rows < len(sums))
        sums.index_add_(0, rows[used].to(single.device), single[used.to(single.device)])
        wanted = torch.arange(frames.first, frames.last + 1)
        return sums[(wanted - groups.first).div(self.output, rounding_mode="floor").to(single.device)]


class StatisticsPooling(Layer):
    """Mean and standard deviation over the frames `left` before to `right` after, as far as there are any."""

    def __init__(self, fields: Fields) -> None:
        super().__init__()
        self.dimension, self.period = int(fields["InputDim"]), _positive(fields, "InputPeriod")
        self.left, self.right = int(fields["LeftContext"]), int(fields["RightContext"])
        self.logs, self.deviations = int(fields["NumLogCountFeatures"]), bool(fields["OutputStddevs"])
        self.floor: float = fields["VarianceFloor"]

    def domain(self, inner: Frames) -> Frames:
        """Wherever one frame can be pooled."""
        return Frames(inner.first - self.right, inner.last + self.left)

    def needs(self, frames: Frames) -> Frames:
        """All that is pooled."""
        return Frames(frames.first - self.left, frames.last + self.right)

    def forward(self, inner: Stretch, frames: Frames) -> torch.Tensor:
        """Frame by frame; there is one as a rule."""
        there = Frames(inner.first, inner.first + len(inner.values) - 1)
        rows = []
        for frame in range(frames.first, frames.last + 1):
            window = Frames(frame - self.left, frame + self.right)
            skipped = max(0, -(-(there.first - window.first) // self.period)) * self.period
            pooled = Frames(window.first + skipped, min(window.last, there.last))
            rows.append(inner.over(pooled)[:: self.period].sum(dim=0))
        sums = torch.stack(rows)
        counts, values = sums[:, :1], sums[:, 1:] / sums[:, :1]
        if self.deviations:
            half = values.shape[1] // 2
            variance = (values[:, half:] - values[:, :half].square()).clamp(min=self.floor)
            values = torch.cat((values[:, :half], variance.sqrt()), dim=1)
        return torch.cat((counts.log().expand(-1, self.logs), values), dim=1)


def make_layer(component: Component) -> Layer:
    """The layer that a component of a file is; an unknown type or a lacking field raises Malformed."""
    make = _LAYERS.get(component.type)
    if make is None:
        raise Malformed(
            f"component '{component.name}' is a {component.type}, which x-vector and TDNN networks do not have"
        )
    try:
        return make(component.fields)
    except KeyError as error:
        raise Malformed(f"component '{component.name}' ({component.type}) has no <{error.args[0]}>") from None
    except (Malformed, ValueError, TypeError, AttributeError) as error:
        raise Malformed(f"component '{component.name}' ({component.type}): {error}") from None


def _tensor(values: Floats) -> torch.Tensor:
    if not np.isfinite(values).all():
        raise Malformed("holds NaN or infinite numbers")
    return torch.from_numpy(values.astype(np.float32))


def _batch_norm(fields: Fields) -> Layer:
    if not fields["Count"] > 0:
        raise Malformed("has no statistics; was the network trained?")
    scale = fields["TargetRms"] / np.sqrt(np.maximum(fields["StatsVar"], 0) + fields["Epsilon"])
    shift = -fields["StatsMean"] * scale
    blocks = int(fields["Dim"]) // _positive(fields, "BlockDim")
    return ScaleAndShift(np.tile(scale, blocks), np.tile(shift, blocks))


def _tdnn(fields: Fields) -> Layer:
    bias = fields["BiasParams"]
    return Affine(fields["LinearParams"], bias if bias.size else None, fields["TimeOffsets"])


def _scale_and_shift(fields: Fields) -> Layer:
    scale, shift = fields.get("Scales"), fields.get("Offsets")
    return ScaleAndShift(
        np.ones_like(shift) if scale is None else scale, np.zeros_like(scale) if shift is None else shift
    )


def _normalize(fields: Fields) -> Layer:
    dimension = int(fields.get("InputDim") or fields["Dim"])
    block = _positive({"BlockDim": dimension, **fields}, "BlockDim")
    return Normalize(dimension, block, fields.get("TargetRms", 1.0), bool(fields.get("AddLogStddev", False)))


def _extraction(fields: Fields) -> Layer:
    return StatisticsExtraction(
        int(fields["InputDim"]),
        _positive(fields, "InputPeriod"),
        _positive(fields, "OutputPeriod"),
        bool(fields["IncludeVarinance"]),
    )


def _positive(fields: Fields, name: str) -> int:
    if fields[name] < 1:
        raise Malformed(f"<{name}> is {fields[name]:g}")
    return int(fields[name])


_LAYERS: dict[str, Callable[[Fields], Layer]] = {
    "AffineComponent": lambda fields: Affine(fields["LinearParams"], fields["BiasParams"]),
    "NaturalGradientAffineComponent": lambda fields: Affine(fields["LinearParams"], fields["BiasParams"]),
    "FixedAffineComponent": lambda fields: Affine(fields["LinearParams"], fields["BiasParams"]),
    "LinearComponent": lambda fields: Affine(fields["Params"], None),
    "TdnnComponent": _tdnn,
    "RectifiedLinearComponent": lambda _: Pointwise(torch.relu),
    "SigmoidComponent": lambda _: Pointwise(torch.sigmoid),
    "TanhComponent": lambda _: Pointwise(torch.tanh),
    "SoftmaxComponent": lambda _: Pointwise(lambda values: values.softmax(dim=1)),
    "LogSoftmaxComponent": lambda _: Pointwise(lambda values: values.log_softmax(dim=1)),
    "BatchNormComponent": _batch_norm,
    "NormalizeComponent": _normalize,
    "StatisticsExtractionComponent": _extraction,
    "StatisticsPoolingComponent": StatisticsPooling,
    "ScaleAndOffsetComponent": _scale_and_shift,
    "PerElementScaleComponent": lambda fields: ScaleAndShift(fields["Params"], np.zeros_like(fields["Params"])),
    "NaturalGradientPerElementScaleComponent": lambda fields: ScaleAndShift(
        fields["Params"], np.zeros_like(fields["Params"])
    ),
    "PerElementOffsetComponent": _scale_and_shift,
    "FixedScaleComponent": _scale_and_shift,
    "FixedBiasComponent": lambda fields: ScaleAndShift(np.ones_like(fields["Bias"]), fields["Bias"]),
    "NoOpComponent": lambda _: Layer(),
    "DropoutComponent": lambda _: Layer(),
    "GeneralDropoutComponent": lambda _: Layer(),
    "SpecAugmentTimeMaskComponent": lambda _: Layer(),
    "BackpropTruncationComponent": lambda _: Layer(),
}
