"""Files of Kaldi's, written by hand in both forms: numbers, vectors, matrices, and a small x-vector network."""

import struct
from dataclasses import dataclass

import numpy as np

RELU = "RectifiedLinearComponent"


class Writer:
    """Collects tokens and values in Kaldi's binary or text form."""

    def __init__(self, binary):
        self.binary = binary
        self.content = b"\0B" if binary else b""

    def token(self, *words):
        for word in words:
            self.content += f"{word} ".encode()
        return self

    def text(self, text):
        self.content += text.encode()
        return self

    def int(self, value):
        self.content += b"\4" + struct.pack("<i", value) if self.binary else f"{value} ".encode()
        return self

    def float(self, value):
        self.content += b"\4" + struct.pack("<f", value) if self.binary else f"{value!r} ".encode()
        return self

    def bool(self, value):
        self.content += (b"T" if value else b"F") + (b"" if self.binary else b" ")
        return self

    def ints(self, values):
        if self.binary:
            self.content += b"\4" + struct.pack(f"<i{len(values)}i", len(values), *values)
        else:
            self.content += f"[ {' '.join(map(str, values))} ]\n".encode()
        return self

    def array(self, values, double=False):
        values = np.asarray(values)
        if self.binary:
            name = ("D" if double else "F") + ("V" if values.ndim == 1 else "M")
            self.content += f"{name} ".encode() + b"".join(b"\4" + struct.pack("<i", size) for size in values.shape)
            self.content += values.astype("<f8" if double else "<f4").tobytes()
        else:
            rows = [" ".join(f"{value:.9g}" for value in row) for row in np.atleast_2d(values)]
            self.content += (
                f" [ {rows[0]} ]\n" if values.ndim == 1 else " [\n  " + "\n  ".join(rows) + " ]\n"
            ).encode()
        return self


def updatable(writer, kind):
    return writer.token(f"<{kind}>", "<LearningRateFactor>").float(1.0).token("<MaxChange>").float(0.75).token(
        "<LearningRate>"
    ).float(0.001)  # fmt: skip


def affine(writer, weight, bias):
    updatable(writer, "NaturalGradientAffineComponent").token("<LinearParams>").array(weight)
    writer.token("<BiasParams>").array(bias).token("<RankIn>").int(20).token("<RankOut>").int(80)
    writer.token("<OrthonormalConstraint>").float(0.0).token("<UpdatePeriod>").int(4)
    writer.token("<NumSamplesHistory>").float(2000.0).token("<Alpha>").float(4.0)
    writer.token("</NaturalGradientAffineComponent>")


def relu(writer, dimension):
    writer.token(f"<{RELU}>", "<Dim>").int(dimension).token("<ValueAvg>").array(np.zeros(0))
    writer.token("<DerivAvg>").array(np.zeros(0)).token("<Count>").float(0.0)
    writer.token("<OderivRms>").array(np.zeros(0)).token("<OderivCount>").float(0.0)
    writer.token("<NumDimsSelfRepaired>").float(0.0).token("<NumDimsProcessed>").float(0.0)
    writer.token("<SelfRepairScale>").float(1e-5).token(f"</{RELU}>")


def batch_norm(writer, mean, variance, rms=1.0, count=1000.0, dimension=None):
    writer.token("<BatchNormComponent>", "<Dim>").int(dimension or len(mean)).token("<BlockDim>").int(len(mean))
    writer.token("<Epsilon>").float(0.001).token("<TargetRms>").float(rms).token("<TestMode>").bool(False)
    writer.token("<Count>").float(count).token("<StatsMean>").array(mean).token("<StatsVar>").array(variance)
    writer.token("</BatchNormComponent>")


def extraction(writer, dimension):
    writer.token("<StatisticsExtractionComponent>", "<InputDim>").int(dimension).token("<InputPeriod>").int(1)
    writer.token("<OutputPeriod>").int(1).token("<IncludeVarinance>").bool(True)
    writer.token("</StatisticsExtractionComponent>")


def pooling(writer, dimension, right=10000):
    writer.token("<StatisticsPoolingComponent>", "<InputDim>").int(1 + 2 * dimension).token("<InputPeriod>").int(1)
    writer.token("<LeftContext>").int(0).token("<RightContext>").int(right).token("<NumLogCountFeatures>").int(0)
    writer.token("<OutputStddevs>").bool(True).token("<VarianceFloor>").float(1e-10)
    writer.token("</StatisticsPoolingComponent>")


@dataclass
class XVectorNet:
    """A random x-vector network of the usual shape: five layers, pooling, two layers."""

    features: int = 23
    width: int = 24
    pooled: int = 40
    dimension: int = 16
    seed: int = 0

    CONTEXTS = ((-2, -1, 0, 1, 2), (-2, 0, 2), (-3, 0, 3), (0,), (0,))

    def write(self, path, binary=True, output="tdnn7.batchnorm"):
        rng = np.random.default_rng(self.seed)
        lines, parts = [f"input-node name=input dim={self.features}"], []
        below, size = "input", self.features
        for number, context in enumerate(self.CONTEXTS, start=1):
            spliced = ", ".join(f"Offset({below}, {t})" if t else below for t in context)
            spliced = f"Append({spliced})" if len(context) > 1 else spliced
            below, size = self._layer(
                lines, parts, rng, number, spliced, size * len(context), self.pooled if number == 5 else self.width
            )
        lines.append(f"component-node name=stats-extraction-0-10000 component=stats-extraction-0-10000 input={below}")
        parts.append(("stats-extraction-0-10000", lambda w, size=size: extraction(w, size)))
        lines.append(
            "component-node name=stats-pooling-0-10000 component=stats-pooling-0-10000 "
            "input=Round(stats-extraction-0-10000, 1)"
        )
        parts.append(("stats-pooling-0-10000", lambda w, size=size: pooling(w, size)))
        below, size = self._layer(lines, parts, rng, 6, "Round(stats-pooling-0-10000, 1)", 2 * size, self.dimension)
        self._layer(lines, parts, rng, 7, below, size, 12)
        lines.append(f"output-node name=output input={output} objective=linear")
        write_nnet3(path, binary, lines, parts)

    def _layer(self, lines, parts, rng, number, inputs, size, out):
        weight = (rng.standard_normal((out, size)) / np.sqrt(size)).astype(np.float32)
        bias = (0.3 * rng.standard_normal(out)).astype(np.float32)
        mean, variance = rng.random(out).astype(np.float32), (0.2 + rng.random(out)).astype(np.float32)
        name = f"tdnn{number}"
        for kind, below in (("affine", inputs), ("relu", f"{name}.affine"), ("batchnorm", f"{name}.relu")):
            lines.append(f"component-node name={name}.{kind} component={name}.{kind} input={below}")
        parts.append((f"{name}.affine", lambda w: affine(w, weight, bias)))
        parts.append((f"{name}.relu", lambda w: relu(w, out)))
        parts.append((f"{name}.batchnorm", lambda w: batch_norm(w, mean, variance)))
        return f"{name}.batchnorm", out


def write_nnet3(path, binary, lines, parts):
    writer = Writer(binary).token("<Nnet3>").text("\n" + "".join(f"{line}\n" for line in lines) + "\n")
    writer.token("<NumComponents>").int(len(parts))
    for name, write in parts:
        writer.token("<ComponentName>", name)
        write(writer)
        if not binary:
            writer.text("\n")
    path.write_bytes(writer.token("</Nnet3>").content)


def write_array(path, values, binary=True, double=False):
    path.write_bytes(Writer(binary).array(values, double).content)


def write_plda(path, mean, matrix, variances, binary=True):
    writer = Writer(binary).token("<Plda>").array(mean, True).array(matrix, True).array(variances, True)
    path.write_bytes(writer.token("</Plda>").content)
