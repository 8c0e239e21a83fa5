"""Kaldi archives of float vectors, ``<name>.ark`` with ``<name>.scp``.

A binary vector is ``\\0BFV \\4<dimension><numbers>`` (``BDV`` for float64) after its key and a blank; kaldiio writes
it. Records are copied out of the mapped file by thousands, in file order, and stored in the requested order. A record
of another form (text, another precision, damage) is read by itself, and errors name the line of the scp. Only numbers
are read: kaldiio would also open pickles, audio and pipes, so it never gets the entry of an scp, only bytes whose
header was checked.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from operator import lt
from pathlib import Path

import kaldiio
import numpy as np

from vpeval.core.arrays import AnyFloats, Counts
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path, read_columns, read_lines
from vpeval.data.layout import first_few
from vpeval.embeddings.kaldi_stream import BINARY, Malformed, Stream

StrPath = str | os.PathLike[str]

_LARGEST = 1 << 24
_KINDS = {b"\0BFV \4": np.dtype("<f4"), b"\0BDV \4": np.dtype("<f8")}
_DIGITS = 18
_PRINTABLE = bytes(range(0x21, 0x7F))
_ROWS = 4096
_KEPT = 16 * _ROWS


def write_vectors(
    directory: Path, vectors: Mapping[str, np.ndarray], name: str = "embedding", home: Path | None = None
) -> None:
    """Write vectors, sorted by key, to ``<name>.ark`` and ``<name>.scp`` in `directory`; float64 stays float64.

    The scp names the ark under `home` (default `directory`): where the directory will be once it is published.
    """
    keys = sorted(vectors, key=str.encode)
    write_rows(directory, keys, (np.asarray(vectors[key]) for key in keys), name, home)


def write_rows(
    directory: Path, keys: Sequence[str], rows: Iterable[np.ndarray], name: str = "embedding", home: Path | None = None
) -> None:
    """Write a row (of a matrix, say) for each of `keys`, in the order given; see `write_vectors`."""
    ark = directory / f"{name}.ark"
    named = (directory if home is None else home) / ark.name
    with open(ark, "wb") as file, atomic_path(directory / f"{name}.scp") as scp, open(scp, "wb") as places:
        lines: list[str] = []
        offset = 0
        for key, row in zip(keys, rows, strict=True):
            offset += file.write(f"{key} ".encode())
            lines.append(f"{key} {named}:{offset}\n")
            offset += kaldiio.save_mat(file, row if row.dtype == np.float64 else row.astype("<f4", copy=False))
            if len(lines) == _ROWS:
                places.write("".join(lines).encode())
                lines.clear()
        places.write("".join(lines).encode())


def read_vectors(scp: StrPath) -> dict[str, np.ndarray]:
    """Read every vector named in an scp file into a dict in file order; see `read_scp`."""
    index = read_scp(scp)
    return dict(zip(index.keys, index.vectors(), strict=True))


@dataclass(frozen=True)
class Scp:
    """Where vectors are: key i, on line i + 1 of the file `path`, is in ``arks[ark[i]]`` from byte ``offset[i]`` on."""

    path: StrPath
    keys: list[str]
    arks: tuple[str, ...]
    ark: Counts
    offset: Counts

    def vectors(self, order: Counts | None = None) -> AnyFloats:
        """The vectors as rows of a matrix, by default in the order of the lines; float64 if any of them is.

        NaN, all-zero vectors and unequal dimensions are errors that name the line.
        """
        lines = np.arange(len(self.keys)) if order is None else order
        first = self._record(0)
        if first.ndim != 1 or not first.size:
            found = " x ".join(map(str, first.shape))
            raise InputError(
                f"'{self.keys[0]}' has dimension {found}, expected a vector; extract it again", self.path, 1
            )
        out: AnyFloats = np.empty((len(lines), len(first)), first.dtype)
        odd: list[Counts] = []
        for number, ark in enumerate(self.arks):
            rows = np.flatnonzero(self.ark[lines] == number) if len(self.arks) > 1 else np.arange(len(lines))
            odd.append(rows[_copy(ark, self.offset[lines[rows]], rows, out)])
        for row in sorted(np.concatenate(odd).tolist(), key=lines.__getitem__):
            vector = self._record(int(lines[row]))
            self._check_shape(int(lines[row]), vector, len(first))
            if vector.dtype.itemsize > out.dtype.itemsize:
                out = out.astype(vector.dtype)
            out[row] = vector
        self._check_numbers(lines, out)
        return out

    def lines(self, utts: Sequence[str], source: Path) -> Counts:
        """The line of every utterance of `source`, counted from 0; further vectors of the file are ignored."""
        index = {utt: line for line, utt in enumerate(self.keys)}
        if missing := [utt for utt in utts if utt not in index]:
            count = f"{len(missing)} of {len(utts)} utterances of {source}"
            raise InputError(f"has no vectors of {count} ({first_few(missing)})", self.path)
        return np.array([index[utt] for utt in utts])

    def _record(self, line: int) -> np.ndarray:
        """One vector, in any of Kaldi's forms."""
        ark, offset = self.arks[self.ark[line]], int(self.offset[line])
        with open(ark, "rb") as file:
            file.seek(offset)
            content = file.read(_LARGEST)
        try:
            if content.startswith(BINARY):
                return _read_binary(content)
            return Stream(content, binary=False).array().astype(np.float32)
        except Malformed as error:
            message = f"cannot read {ark}:{offset} ({error}); extract the embeddings again"
            raise InputError(message, self.path, line + 1) from None

    def _check_shape(self, line: int, vector: np.ndarray, dimension: int) -> None:
        if vector.shape == (dimension,):
            return
        found = " x ".join(map(str, vector.shape))
        wanted = f"dimension {dimension} as in the lines above"
        raise InputError(
            f"'{self.keys[line]}' has dimension {found}, expected {wanted}; extract it again", self.path, line + 1
        )

    def _check_numbers(self, lines: Counts, vectors: AnyFloats) -> None:
        for start in range(0, len(vectors), _ROWS):
            block = vectors[start : start + _ROWS]
            # A sum of squares that is neither 0 nor infinite says in one pass that all is well.
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                squares = np.einsum("ij,ij->i", block, block)
            for place in np.flatnonzero(~np.isfinite(squares) | (squares == 0)).tolist():
                if np.isfinite(block[place]).all() and block[place].any():
                    continue
                kind = "all zero" if np.isfinite(block[place]).all() else "not finite"
                line = int(lines[start + place])
                raise InputError(f"the vector of '{self.keys[line]}' is {kind}; extract it again", self.path, line + 1)


def read_scp(path: StrPath) -> Scp:
    """Read the places of vectors; an ark that is not found from the current directory is searched next to the scp.

    A line that names no place in an ark, a key that appears twice and an ark that is nowhere are errors that name it.
    """
    if regular := _read_one_ark(path):
        keys, names, ark, offset = regular
    else:
        keys, names, ark, offset = _read_any_arks(path)
    if not (all(map(lt, keys, islice(keys, 1, None))) or len(set(keys)) == len(keys)):
        first: dict[str, int] = {}
        line, key = next((i, key) for i, key in enumerate(keys, start=1) if first.setdefault(key, i) != i)
        raise InputError(f"'{key}' appears twice; keep one line", path, line)
    arks = tuple(_find_ark(name, path, int(np.argmax(ark == number)) + 1) for number, name in enumerate(names))
    return Scp(path, keys, arks, ark, offset)


def _read_binary(content: bytes) -> AnyFloats:
    """The vector or matrix at the beginning of `content`."""
    if content[len(BINARY) : 5] not in (b"FV ", b"DV ", b"FM ", b"DM "):
        raise Malformed(f"holds {content[2:5].decode('latin-1')!r} where a vector or matrix of numbers is expected")
    try:
        values: AnyFloats = kaldiio.matio.read_kaldi(BytesIO(content))
    except (AssertionError, ArithmeticError, ValueError, struct.error):
        raise Malformed("the file ends too early, or holds other bytes where a size is expected") from None
    if len(values) != int.from_bytes(content[6:10], "little"):  # kaldiio returns what is left of a vector
        raise Malformed("the file ends too early")
    return values


_Places = tuple[list[str], list[str], Counts, Counts]
"""Keys, names of arks, which ark each is in, and offsets."""


def _read_one_ark(path: StrPath) -> _Places | None:
    """The lines of a file that names one ark throughout, as ours do; None for any other, right or wrong."""
    try:
        content = Path(path).read_bytes()
    except OSError:
        return None
    _, _, place = content.partition(b"\n")[0].partition(b" ")
    ark, _, _ = place.rpartition(b":")
    lines = content.count(b"\n")
    # Without the name of the ark, every line is a key, a blank, a number and a line end.
    short = content.replace(b" " + ark + b":", b" ")
    is_regular = short.endswith(b"\n") and short.translate(None, _PRINTABLE) == b" \n" * lines
    if not ark or not is_regular or len(short) + lines * (len(ark) + 1) != len(content):
        return None
    fields = short.decode().split()
    keys, numbers = fields[::2], fields[1::2]
    if len(fields) != 2 * lines or not "".join(numbers).isdecimal() or max(map(len, numbers)) > _DIGITS:
        return None
    return keys, [ark.decode()], np.zeros(lines, np.int64), np.fromstring(" ".join(numbers), np.int64, sep=" ")


def _read_any_arks(path: StrPath) -> _Places:
    keys, places = _columns(path)
    if not keys:
        raise InputError("holds no vectors", path)
    parts = [place.rpartition(":") for place in places]
    for line, (name, _, number) in enumerate(parts, start=1):
        if not (name and number.isdecimal() and number.isascii() and len(number) <= _DIGITS):
            raise InputError("expected <utterance> <ark file>:<offset>", path, line)
    place_of = {name: i for i, name in enumerate(dict.fromkeys(name for name, _, _ in parts))}
    ark = np.array([place_of[name] for name, _, _ in parts], np.int64)
    return keys, list(place_of), ark, np.array([int(number) for _, _, number in parts], np.int64)


def _columns(path: StrPath) -> tuple[list[str], list[str]]:
    """Keys and places; where a path has blanks in it, a line at a time."""
    try:
        keys, places = read_columns(path, "utterance", "ark file>:<offset")
    except InputError:
        rows = [(number, text.split(maxsplit=1)) for number, text in read_lines(path)]
        if short := next((number for number, fields in rows if len(fields) < 2), None):
            raise InputError("expected <utterance> <ark file>:<offset>", path, short) from None
        keys, places = [fields[0] for _, fields in rows], [fields[1].rstrip() for _, fields in rows]
    return keys, places


def _find_ark(ark: str, scp: StrPath, line: int) -> str:
    for candidate in (Path(ark), Path(scp).parent / Path(ark).name):
        if candidate.is_file():
            return str(candidate)
    raise InputError(f"{ark} is neither there nor next to the scp; extract the embeddings again", scp, line)


def _copy(ark: str, offsets: Counts, rows: Counts, out: AnyFloats) -> Counts:
    """Copy the vectors at `offsets` to `rows` of `out`; return the places of those that are none of that form."""
    mark = next(mark for mark, kind in _KINDS.items() if kind == out.dtype)
    head = np.frombuffer(mark + out.shape[1].to_bytes(4, "little"), np.uint8)
    record = np.dtype([("head", np.uint8, len(head)), ("row", out.dtype, out.shape[1])])
    last = Path(ark).stat().st_size - record.itemsize
    odd = [np.flatnonzero(offsets > last)]
    if last >= 0:
        order = np.argsort(offsets, kind="stable")
        order = order[: len(order) - len(odd[0])]
        with open(ark, "rb") as file:
            data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        # One record may begin at every byte; picking some of these overlapping windows copies each at once.
        windows = np.ndarray(last + 1, f"V{record.itemsize}", data, strides=(1,))
        for start in range(0, len(order), _ROWS):
            part = order[start : start + _ROWS]
            found = windows[offsets[part]].view(record)
            fits = (found["head"] == head).all(axis=1)
            out[rows[part]] = found["row"]
            odd.append(part[~fits])
            # What was copied need not stay in memory as part of the file, too.
            if start % _KEPT == 0:
                data.madvise(mmap.MADV_DONTNEED)
    return np.concatenate(odd)
