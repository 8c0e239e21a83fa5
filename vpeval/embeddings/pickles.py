"""Pickles of the Speaker-Linkability reproduction: dictionaries of arrays, and of scores by speaker and N.

A pickle is a program, and loading one runs it. Here it may make numpy arrays, numbers, text and plain containers; any
other name that it asks for is refused before anything is called.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, BinaryIO

import numpy as np

from vpeval.core.errors import InputError

_ARRAYS = {
    ("multiarray", "_reconstruct"),
    ("multiarray", "scalar"),
    ("numeric", "_frombuffer"),
}
_PLAIN = {
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
    ("collections", "OrderedDict"),
    ("_codecs", "encode"),
    ("builtins", "list"),
    ("builtins", "dict"),
}
"""What a pickle may call: what numpy makes arrays and numbers of (in either of its packages), and containers."""


class _Restricted(pickle.Unpickler):
    """An unpickler for the names above."""

    def find_class(self, module: str, name: str) -> Any:
        package, _, inner = module.rpartition(".")
        if (module, name) in _PLAIN or (package in ("numpy.core", "numpy._core") and (inner, name) in _ARRAYS):
            return super().find_class(module, name)
        raise pickle.UnpicklingError(
            f"asks for {module}.{name}; only numpy arrays, numbers, text and plain containers are read: save it so, "
            "such as with tensor.numpy()"
        )


def read_pickle(path: str | PathLike[str]) -> Any:
    """What a pickle of arrays and plain containers holds; anything else is an InputError, and nothing of it is run."""
    try:
        with open(path, "rb") as file:
            return _load(file)
    except FileNotFoundError:
        raise InputError("no such file", path) from None
    except pickle.UnpicklingError as error:
        raise InputError(str(error), path) from None
    except (
        EOFError,
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        ImportError,
        RecursionError,
    ) as error:
        raise InputError(f"is no pickle of arrays ({error})", path) from None


def _load(file: BinaryIO) -> Any:
    return _Restricted(file).load()


def read_vectors(content: Any, path: str | PathLike[str]) -> dict[str, list[np.ndarray]]:
    """Vectors by speaker or utterance: of each key a vector, or a list of several."""
    found: dict[str, list[np.ndarray]] = {}
    if not isinstance(content, Mapping) or not content:
        raise InputError("must hold a dictionary of vectors", path)
    dimensions = set()
    for key, value in content.items():
        several = np.asarray(value) if isinstance(value, np.ndarray) else _stack(value)
        if several is None or several.dtype.kind not in "fiu" or several.ndim not in (1, 2) or not several.size:
            raise InputError(f"'{key}' has neither a vector of numbers nor a list of vectors", path)
        rows = np.atleast_2d(several).astype(np.float32)
        if not np.isfinite(rows).all():
            raise InputError(f"a vector of '{key}' has numbers that are not finite", path)
        dimensions.add(rows.shape[1])
        found[_name(key, path)] = list(rows)
    if len(dimensions) > 1:
        raise InputError(f"vectors have different dimensions: {', '.join(map(str, sorted(dimensions)))}", path)
    return found


def _stack(value: Any) -> np.ndarray | None:
    """A list of vectors, each of one row or of several axes of length one, as a matrix."""
    if not isinstance(value, Sequence) or isinstance(value, (str, bytes)):
        return None
    try:
        rows = [np.asarray(row).squeeze() for row in value]
        return np.stack(rows) if rows and rows[0].ndim else np.asarray(value)
    except ValueError:
        return None


def read_scores(content: Any, path: str | PathLike[str]) -> dict[str, dict[int, tuple[float, ...]]]:
    """Scores of speakers: {speaker: {N: [the score of every seed]}}."""
    found: dict[str, dict[int, tuple[float, ...]]] = {}
    if not isinstance(content, Mapping) or not content:
        raise InputError("must hold a dictionary {speaker: {N: [score, …]}}", path)
    for speaker, by_size in content.items():
        if not isinstance(by_size, Mapping) or not by_size:
            raise InputError(f"speaker '{speaker}' has no scores by N", path)
        sizes = {}
        for n, scores in by_size.items():
            try:
                values = tuple(float(score) for score in np.atleast_1d(np.asarray(scores, np.float64)))
                size = int(n)
            except (TypeError, ValueError):
                raise InputError(f"scores of '{speaker}' at N = {n} are no numbers", path) from None
            if size < 2 or not values or not all(0 <= value <= 1 for value in values):
                raise InputError(
                    f"scores of '{speaker}' at N = {n} must be from 0 to 1, among 2 speakers or more", path
                )
            sizes[size] = values
        found[_name(speaker, path)] = sizes
    return found


def holds_scores(content: Any) -> bool:
    """Whether a pickle holds scores of speakers by N, and not vectors."""
    return isinstance(content, Mapping) and bool(content) and all(isinstance(v, Mapping) for v in content.values())


def _name(key: Any, path: str | PathLike[str]) -> str:
    name = str(key)
    if not name or name.split() != [name]:
        raise InputError(f"'{name}' cannot be the name of a speaker or utterance: it has spaces or is empty", path)
    return name
