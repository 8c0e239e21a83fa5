"""Encoders that somebody else wrote: one class with `embed` in a Python file that a yaml of conf/asv/ names."""

from __future__ import annotations

import importlib.util
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from vpeval.asv.kinds import SIMILARITY, settings_of
from vpeval.core.errors import InputError


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


def load_program(path: Path, config: Path) -> Program:
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
