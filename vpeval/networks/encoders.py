"""Speaker encoders behind one interface: a wave in, a vector out.

A new encoder is a class with `embed`: in a file of one's own that a yaml of conf/asv/ names (docs/attackers.md), or in
this package with a line in `vpeval.networks.kinds`. The module of an encoder is imported when it is used, so that
embeddings depend on the code of their own encoder only.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Protocol, cast

import numpy as np
import yaml

from vpeval.core.errors import InputError
from vpeval.networks import compute
from vpeval.networks.kinds import SIMILARITY, class_of, program_of, settings_of

_SHORTEST = 4000  # a quarter of a second: shorter audio has too few frames for statistics pooling


class Encoder(Protocol):
    """What extraction needs of a speaker encoder."""

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """The float32 vector of mono 16 kHz samples."""


def load_encoder(config: Path) -> Encoder:
    """The encoder that a yaml of conf/asv/ describes; computes on one thread, as jobs run side by side."""
    compute.set_up()
    if not has_weights(config):
        raise InputError("has no weights (none); train it with steps/train_asv.py", config)
    return make_encoder(config)


def has_weights(config: Path) -> bool:
    """Whether an encoder can be used without training."""
    if program_of(config):
        return True
    class_of(config)
    settings = yaml.safe_load(config.read_text(encoding="utf-8"))
    return "none" not in (settings.get("model"), settings.get("codebook"))


def make_encoder(config: Path) -> Encoder:
    """The same without asking for weights."""
    if program := program_of(config):
        return _load_program(program, config)
    module, name = class_of(config)
    return cast(Encoder, getattr(import_module(module), name)(config))


def long_enough(wave: np.ndarray) -> np.ndarray:
    """The wave, repeated if it is very short."""
    return wave if len(wave) >= _SHORTEST else np.pad(wave, (0, _SHORTEST - len(wave)), mode="wrap")


class Program:
    """An encoder in the clothes of ours: what it returns is checked."""

    def __init__(self, path: Path, encoder: Any) -> None:
        self._path, self._encoder = path, encoder

    def embed(self, wave: np.ndarray) -> np.ndarray:
        """The vector, whatever kind of list of numbers it came as."""
        given = self._encoder.embed(wave)
        try:
            vector = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError):
            raise InputError(f"embed() must return numbers, not {type(given).__name__}", self._path) from None
        if vector.ndim != 1 or not vector.size:
            raise InputError(f"embed() must return one vector, not an array of shape {vector.shape}", self._path)
        return vector


def _load_program(path: Path, config: Path) -> Program:
    """The encoder in `path`; keys of the yaml other than `encoder` and `similarity` go to its constructor."""
    module = _load(path)
    classes = [
        kind
        for _, kind in inspect.getmembers(module, inspect.isclass)
        if kind.__module__ == module.__name__ and callable(getattr(kind, "embed", None))
    ]
    if len(classes) != 1:
        names = ", ".join(kind.__name__ for kind in classes) or "none"
        raise InputError(f"must define one class with embed(self, wave); there are: {names}", path)
    settings = {key: value for key, value in settings_of(config).items() if key not in ("encoder", SIMILARITY)}
    try:
        inspect.signature(classes[0]).bind(**settings)
    except TypeError as error:
        raise InputError(f"{classes[0].__name__} of {path} does not take these settings: {error}", config) from None
    return Program(path, classes[0](**settings))


def _load(path: Path) -> ModuleType:
    """Run the file as a module; its neighbours can be imported by their names."""
    spec = importlib.util.spec_from_file_location(f"{path.stem}_of_an_attacker", path)
    assert spec is not None and spec.loader is not None, "the name ends in .py"
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the author's code does
        places = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
        line = error.lineno if isinstance(error, SyntaxError) else next(iter(places[::-1]), None)
        raise InputError(f"cannot be loaded: {type(error).__name__}: {error}", path, line) from error
    return module
