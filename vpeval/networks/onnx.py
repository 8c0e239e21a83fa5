"""Speaker encoders in ONNX files, as WeSpeaker, 3D-Speaker and others export them.

An ONNX file says nothing about the features it wants, so the yaml declares its front end: log-mel filterbanks of
Kaldi's kind, or the wave itself. The file is read as data: a graph that needs other files or custom operations
is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from vpeval.audio.io import RATE
from vpeval.core import models
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.core.lazy import require
from vpeval.networks.encoders import long_enough

_WINDOWS = ("hamming", "hanning", "povey", "rectangular", "blackman")


@dataclass(frozen=True)
class Fbank:
    """Kaldi's log-mel filterbanks: 25 ms windows every 10 ms, without dither.

    `scale` is what samples in [-1, 1] are multiplied with; `subtract_mean` subtracts the mean of each channel.
    """

    mels: int
    window: str
    scale: float
    subtract_mean: bool

    def __call__(self, wave: np.ndarray) -> np.ndarray:
        """Frames × mels."""
        library = require("kaldi_native_fbank", "Kaldi's filterbanks")
        options = library.FbankOptions()
        options.frame_opts.dither = 0.0
        options.frame_opts.window_type = self.window
        options.mel_opts.num_bins = self.mels
        online = library.OnlineFbank(options)
        online.accept_waveform(RATE, (wave * np.float32(self.scale)).tolist())
        online.input_finished()
        features = np.array([online.get_frame(n) for n in range(online.num_frames_ready)], np.float32)
        return features - features.mean(axis=0) if self.subtract_mean else features


@dataclass(frozen=True)
class Wave:
    """Samples in [-1, 1], multiplied with `scale`."""

    scale: float

    def __call__(self, wave: np.ndarray) -> np.ndarray:
        """The samples."""
        return (wave * self.scale).astype(np.float32)


FrontEnd = Fbank | Wave
_FRONT_ENDS: dict[str, type[Fbank] | type[Wave]] = {"fbank": Fbank, "wave": Wave}


class OnnxEncoder:
    """A graph with one input (batch × frames × mels, or batch × samples) and a vector as its first output."""

    def __init__(self, config: Path) -> None:
        settings = read_config(config, encoder=str, model=str, front_end=dict)
        self.front_end = read_front_end(config, settings["front_end"])
        self.path = _find_file(config, settings["model"])
        self.session = _open(self.path)
        inputs = self.session.get_inputs()
        wanted = 3 if isinstance(self.front_end, Fbank) else 2
        if len(inputs) != 1 or len(inputs[0].shape) != wanted:
            shapes = ", ".join(f"{one.name} {one.shape}" for one in inputs)
            raise InputError(f"takes {shapes}; the front end of {config} makes one input of {wanted} axes", self.path)
        if wanted == 3 and isinstance(inputs[0].shape[2], int) and inputs[0].shape[2] != self.front_end.mels:  # type: ignore[union-attr]
            raise InputError(f"takes {inputs[0].shape[2]} channels; set 'mels' of {config} to that", self.path)
        self.name = inputs[0].name

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """The first output for one utterance."""
        batch = self.front_end(long_enough(wave))[None]
        try:
            output = self.session.run(None, {self.name: batch})[0]
        except Exception as error:  # onnxruntime has no common class for what may be wrong with a graph
            raise InputError(f"cannot be run ({_first_line(error)})", self.path) from None
        vector = np.asarray(output, np.float32)
        if vector.ndim < 2 or vector.shape[0] != 1 or vector.size != vector.shape[-1]:
            raise InputError(f"its first output has the shape {vector.shape}, not that of one vector", self.path)
        return vector.reshape(-1)


def read_front_end(config: Path, settings: Mapping[str, Any]) -> FrontEnd:
    """The front end that a yaml declares: ``{kind: fbank, mels: 80, …}`` or ``{kind: wave, scale: 1}``."""
    kind = _FRONT_ENDS.get(str(settings.get("kind")))
    if kind is None:
        raise InputError(
            f"front_end: 'kind' must be one of {', '.join(_FRONT_ENDS)}, not '{settings.get('kind')}'", config
        )
    types = {"int": int, "float": float, "str": str, "bool": bool}
    values: dict[str, Any] = {}
    for field in fields(kind):
        wanted, value = types[str(field.type)], settings.get(field.name)
        fits = isinstance(value, int | float) if wanted is float else isinstance(value, wanted)
        if not fits or (isinstance(value, bool) and wanted is not bool):
            raise InputError(f"front_end: '{field.name}' must be of type {field.type}, not {value!r}", config)
        values[field.name] = value
    if unknown := [key for key in settings if key != "kind" and key not in values]:
        raise InputError(f"front_end: unknown key '{unknown[0]}'; there are kind, {', '.join(values)}", config)
    if values.get("window", _WINDOWS[0]) not in _WINDOWS:
        raise InputError(f"front_end: 'window' must be one of {', '.join(_WINDOWS)}", config)
    if values.get("mels", 1) < 1 or not values["scale"] > 0:
        raise InputError("front_end: 'mels' and 'scale' must be positive", config)
    return kind(**values)


def _find_file(config: Path, model: str) -> Path:
    if model.endswith(".onnx"):
        return config.parent / model
    entry = models.find_model(model)
    names = [name for name in entry.files if name.endswith(".onnx")]
    if len(names) != 1:
        raise InputError(f"model {model} of conf/models.yaml has no one .onnx file", config)
    return models.locate(entry) / names[0]


def _open(path: Path) -> Any:
    runtime = require("onnxruntime", "this encoder")
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such ONNX file; put it there (docs/models.md)", path) from None
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1  # jobs run side by side
    options.log_severity_level = 4
    try:
        # From memory, not by name: a graph can then not have its weights read from other files.
        return runtime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # see above
        raise InputError(f"is no ONNX graph that can be run ({_first_line(error)})", path) from None


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:200]
