"""Kaldi's object files: tokens, numbers, vectors and matrices, in binary or in text form.

A binary file begins with ``\\0B``; its numbers carry their size in a byte in front, vectors and matrices a name such as
``FM`` (matrix of floats). A text file has the same tokens with decimal numbers and ``[ … ]`` between them.
"""

from __future__ import annotations

import re
import struct
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from vpeval.core.arrays import Floats
from vpeval.core.errors import InputError

BINARY = b"\0B"
"""How binary files and records begin."""

_SPACE = re.compile(rb"\s*")
_WORD = re.compile(rb"[^\s]+")
_TEXT_VALUE = re.compile(rb"\s*(\[[^\]]*\]|[^\s<]\S*)")
_ARRAYS = {b"FV ": ("<f4", 1), b"DV ": ("<f8", 1), b"FM ": ("<f4", 2), b"DM ": ("<f8", 2)}
_LARGEST = 1 << 28  # numbers in a matrix: a cut or foreign file must not ask for all memory


class Malformed(Exception):
    """What is wrong with an object; whoever reads a file knows where it is and says so."""


@dataclass
class Stream:
    """The rest of a file, from `at` on."""

    content: bytes
    binary: bool
    at: int = field(default=0)

    def token(self) -> str:
        """The next word."""
        found = _WORD.match(self.content, self._skip_space())
        if not found:
            raise Malformed("the file ends too early")
        self.at = found.end() + self.binary  # a token of a binary file has one blank behind it
        try:
            return found.group().decode()
        except UnicodeDecodeError:
            raise Malformed("holds bytes where a word is expected") from None

    def expect(self, wanted: str) -> None:
        """Skip a word that must be there."""
        if (found := self.token()) != wanted:
            raise Malformed(f"expected {wanted}, found {_shown(found)}")

    def line(self) -> str:
        """The rest of the line; lines are text in both forms."""
        end = self.content.find(b"\n", self.at)
        if end < 0:
            raise Malformed("the file ends too early")
        line, self.at = self.content[self.at : end], end + 1
        try:
            return line.decode().strip()
        except UnicodeDecodeError:
            raise Malformed("holds bytes where text is expected") from None

    def at_token(self) -> bool:
        """Whether a ``<Token>`` comes next."""
        return self.content[self._skip_space() if not self.binary else self.at :][:1] == b"<"

    def number(self, kind: str) -> float:
        """A number: `kind` is ``int`` or ``float``, which a binary file does not distinguish."""
        if not self.binary:
            text = self._text_value()
            try:
                return float(text)
            except ValueError:
                raise Malformed(f"expected a number, found {_shown(text)}") from None
        size = self._take(1)[0]
        code = {("int", 4): "<i", ("int", 8): "<q", ("float", 4): "<f", ("float", 8): "<d"}.get((kind, size))
        if code is None:
            raise Malformed("holds other bytes where a number is expected")
        return float(struct.unpack(code, self._take(size))[0])

    def truth(self) -> bool:
        """``T`` or ``F``."""
        found = self._take(1).decode("latin-1") if self.binary else self._text_value()
        if found not in ("T", "F"):
            raise Malformed(f"expected T or F, found {_shown(found)}")
        return found == "T"

    def integers(self) -> list[int]:
        """A vector of whole numbers."""
        if not self.binary:
            return [int(value) for value in self._text_array()]
        if self._take(1) != b"\4":
            raise Malformed("holds other bytes where a vector of whole numbers is expected")
        count = self._size()
        return np.frombuffer(self._take(4 * count), "<i4").tolist()

    def array(self) -> Floats:
        """A vector or a matrix."""
        if not self.binary:
            return self._text_array()
        name = self._take(3)
        if name not in _ARRAYS:
            raise Malformed(f"holds {_shown(name.decode('latin-1'))} where a vector or matrix of numbers is expected")
        kind, dimensions = _ARRAYS[name]
        shape = []
        for _ in range(dimensions):
            if self._take(1) != b"\4":
                raise Malformed("holds other bytes where the size of a matrix is expected")
            shape.append(self._size())
        count = int(np.prod(shape, dtype=np.int64))
        if count > _LARGEST:
            raise Malformed(f"claims to hold {count} numbers")
        values = np.frombuffer(self._take(count * int(kind[-1])), kind).astype(np.float64)
        return values.reshape(shape)

    def value(self) -> bytes:
        """Whatever stands before the next ``<Token>``, for fields that are not used."""
        if not self.binary:
            return self._text_value().encode()
        ahead = self.content[self.at : self.at + 3]
        start = self.at
        if ahead in _ARRAYS:
            self.array()
        elif ahead[:1] in (b"T", b"F"):
            self.at += 1
        elif ahead[:1] in (b"\4", b"\x08"):
            self._take(1 + ahead[0])
        else:
            raise Malformed("holds bytes that are no value of Kaldi's")
        return self.content[start : self.at]

    def _skip_space(self) -> int:
        found = _SPACE.match(self.content, self.at)
        return found.end() if found else self.at

    def _take(self, size: int) -> bytes:
        read = self.content[self.at : self.at + size]
        if len(read) < size:
            raise Malformed("the file ends too early")
        self.at += size
        return read

    def _size(self) -> int:
        size = int(struct.unpack("<i", self._take(4))[0])
        if size < 0:
            raise Malformed(f"claims to hold {size} numbers")
        return size

    def _text_value(self) -> str:
        found = _TEXT_VALUE.match(self.content, self.at)
        if not found:
            raise Malformed("the file ends too early" if self._skip_space() == len(self.content) else "has no value")
        self.at = found.end()
        return found.group(1).decode("latin-1")

    def _text_array(self) -> Floats:
        text = self._text_value()
        if not text.startswith("["):
            raise Malformed(f"expected [ … ], found {_shown(text)}")
        rows = [row.split() for row in text[1:-1].strip().splitlines()]
        if len({len(row) for row in rows}) > 1:
            raise Malformed("has rows of different lengths")
        try:
            values = np.array(rows, np.float64)
        except ValueError:
            raise Malformed("holds something that is no number") from None
        # "[ 1 2 ]" is a vector; a matrix begins its rows on a new line.
        return values if text[1:].lstrip(" \t").startswith("\n") else values.reshape(-1)


def open_stream(path: Path) -> Stream:
    """A file of Kaldi's, at its first token."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputError("no such file; see docs/models.md for the files of the challenge's models", path) from None
    except OSError as error:
        raise InputError(f"cannot be read ({error.strerror})", path) from None
    binary = content.startswith(BINARY)
    return Stream(content, binary, len(BINARY) if binary else 0)


def read_array(path: Path, dimensions: int) -> Floats:
    """A file that is one vector (``mean.vec``) or one matrix (``transform.mat``)."""
    stream = open_stream(path)
    kind = "vector" if dimensions == 1 else "matrix"
    try:
        values = stream.array()
        if values.ndim != dimensions or not values.size:
            raise Malformed(f"holds no {kind}")
    except (Malformed, ValueError) as error:
        raise InputError(f"is no {kind} of Kaldi's ({error})", path) from None
    if not np.isfinite(values).all():
        raise InputError("holds NaN or infinite numbers", path)
    return values


def _shown(found: str) -> str:
    return repr(found if len(found) <= 30 else found[:30] + "…")


def find_home(directory: Path, name: str, what: str) -> Path:
    """The one directory in or below `directory` that has a file `name`."""
    if not directory.is_dir():
        raise InputError(f"no such directory; put {what} of Kaldi's there (docs/models.md)", directory)
    patterns = ("/".join(["*"] * depth + [name]) for depth in range(3))
    for pattern in patterns:
        if found := sorted(path.parent for path in directory.glob(pattern) if path.is_file()):
            if len(found) > 1:
                places = ", ".join(str(path.relative_to(directory)) for path in found)
                raise InputError(f"has {name} in several places ({places}); name one of them", directory)
            return found[0]
    raise InputError(f"holds no {name}; put {what} of Kaldi's there (docs/models.md)", directory)
