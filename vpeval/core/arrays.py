"""Types of arrays, and arrays from .npz files: numbers and text, never pickled objects."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vpeval.core.errors import InputError

Floats = NDArray[np.float64]
Floats32 = NDArray[np.float32]
AnyFloats = NDArray[np.floating]
Counts = NDArray[np.int64]
Counts32 = NDArray[np.int32]
Indices = NDArray[np.intp]
Bools = NDArray[np.bool_]
Bytes = NDArray[np.uint8]
Texts = NDArray[np.bytes_]


def read_arrays(
    path: str | PathLike[str], what: str, again: str, dimensions: Mapping[str, int] | None = None
) -> dict[str, np.ndarray[Any, Any]]:
    """All arrays of a file that should hold `what`; anything else is an InputError that says what to do (`again`).

    Those in `dimensions` must be there, with that many dimensions; their numbers must be finite.
    """
    try:
        with np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except FileNotFoundError:
        raise InputError(f"no such file; {again}", path) from None
    except (
        OSError,
        ValueError,
        EOFError,
        AttributeError,
        zipfile.BadZipFile,
        zlib.error,
        NotImplementedError,
    ) as error:
        raise InputError(f"holds no {what} ({_first_line(error)}); {again}", path) from None
    for name, count in (dimensions or {}).items():
        if name not in arrays or arrays[name].ndim != count or not _is_usable(arrays[name]):
            raise InputError(f"holds no {what} (it has no '{name}' of the right kind); {again}", path)
    return arrays


def _is_usable(array: np.ndarray[Any, Any]) -> bool:
    return array.dtype.kind == "U" or (array.dtype.kind in "fiu" and bool(np.isfinite(array).all()))


def _first_line(error: Exception) -> str:
    if "pickle" in str(error):
        return "it is no file of arrays, or one of objects, which are not opened"
    return (str(error).strip().splitlines() or [type(error).__name__])[0]
