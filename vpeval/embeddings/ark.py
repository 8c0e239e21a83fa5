"""Embedding directories: ``embedding.ark``, ``embedding.scp`` and ``utt2spk``, in Kaldi's formats."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import kaldiio
import numpy as np

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.tables import read_lines


def write_vectors(
    directory: Path, vectors: Mapping[str, np.ndarray], name: str = "embedding", home: Path | None = None
) -> None:
    """Write vectors, sorted by key, to ``<name>.ark`` and ``<name>.scp`` in `directory`; float64 stays float64.

    The scp names the ark under `home` (default `directory`): where the directory will be once it is published.
    """
    ark = directory / f"{name}.ark"
    named = (directory if home is None else home) / ark.name
    lines = []
    with open(ark, "wb") as file:
        for key in sorted(vectors, key=str.encode):
            offset = file.tell() + len(key.encode()) + 1
            vector = np.asarray(vectors[key])
            kaldiio.save_ark(file, {key: vector if vector.dtype == np.float64 else vector.astype(np.float32)})
            lines.append(f"{key} {named}:{offset}\n")
    write_text(directory / f"{name}.scp", "".join(lines))


def read_vectors(scp: str | os.PathLike[str]) -> dict[str, np.ndarray]:
    """Read every vector named in an scp file into a dict in file order, in the precision it is stored in.

    An ark that is not found from the current directory is looked for beside the scp. NaN, all-zero vectors,
    duplicate keys and unequal dimensions are errors that name the line.
    """
    vectors: dict[str, np.ndarray] = {}
    arks: dict[str, str] = {}
    handles: dict[str, Any] = {}
    shape: tuple[int, ...] | None = None
    try:
        for number, line in read_lines(scp):
            key, *place = line.split(maxsplit=1)
            ark, _, offset = place[0].rstrip().rpartition(":") if place else ("", "", "")
            if not ark or not offset.isdecimal():
                raise InputError("expected <utterance> <ark file>:<offset>", scp, number)
            if key in vectors:
                raise InputError(f"'{key}' appears twice; keep one line", scp, number)
            if ark not in arks:
                arks[ark] = _find_ark(ark, scp, number)
            vector = _load(arks[ark], int(offset), handles, scp, number)
            if vector.ndim != 1 or (shape is not None and vector.shape != shape):
                wanted = "a vector" if shape is None else f"dimension {shape[0]} as in the lines above"
                found = " x ".join(map(str, vector.shape))
                raise InputError(f"'{key}' has dimension {found}, expected {wanted}; extract it again", scp, number)
            if not np.isfinite(vector).all() or not vector.any():
                kind = "all zero" if np.isfinite(vector).all() else "not finite"
                raise InputError(f"the vector of '{key}' is {kind}; extract it again", scp, number)
            shape = vector.shape
            vectors[key] = vector
    finally:
        for handle in handles.values():
            handle.close()
    if not vectors:
        raise InputError("holds no vectors", scp)
    return vectors


def _find_ark(ark: str, scp: str | os.PathLike[str], number: int) -> str:
    for candidate in (Path(ark), Path(scp).parent / Path(ark).name):
        if candidate.is_file():
            return str(candidate)
    raise InputError(f"{ark} is neither there nor beside the scp; extract the embeddings again", scp, number)


def _load(ark: str, offset: int, handles: dict[str, Any], scp: str | os.PathLike[str], number: int) -> np.ndarray:
    place = f"{ark}:{offset}"
    # kaldiio meets a damaged ark with whatever its parser trips over, so no narrower class will do.
    try:
        loaded = kaldiio.load_mat(place, fd_dict=handles)
        handles[ark].seek(offset)
        head = handles[ark].read(10)
    except Exception as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise InputError(f"cannot read {place} ({reason}); extract the embeddings again", scp, number) from None
    if not isinstance(loaded, np.ndarray) or loaded.dtype.kind != "f":
        raise InputError(f"{place} does not hold a vector of floats", scp, number)
    # A binary vector begins "\0BFV ", 4 (the size of an integer), dimension; kaldiio takes what there is of the rest.
    if head[3:5] == b"V " and int.from_bytes(head[6:], "little") != len(loaded):
        raise InputError(f"{ark} is cut off; extract the embeddings again", scp, number)
    return loaded
