"""Tables of millions of lines by columns: the fields of `tables.read_rows`, block by block instead of line by line.

A block is split into fields in one call. Whether every line has as many as it should follows from where fields begin
and lines end, in a few passes over the bytes; an irregular block is read again line by line by `read_rows`, so that
errors are the same and name the line.
"""

from __future__ import annotations

from collections.abc import Iterator
from os import PathLike

import numpy as np

from vpeval.core.errors import InputError
from vpeval.core.tables import parse_rows

_BLOCK = 1 << 22


def read_columns(path: str | PathLike[str], *names: str) -> list[list[str]]:
    """The columns of a file whose lines have exactly the fields `names`; row i stands on line i + 1.

    ``utts, speakers = read_columns("data/dev/utt2spk", "utterance", "speaker")``
    """
    columns: list[list[str]] = [[] for _ in names]
    for _, block in column_blocks(path, *names):
        for column, part in zip(columns, block, strict=True):
            column += part
    return columns


def column_blocks(path: str | PathLike[str], *names: str) -> Iterator[tuple[int, list[list[str]]]]:
    """The columns of one block of lines after the other, each with the number of its first line."""
    try:
        file = open(path, "rb")  # noqa: SIM115 (closed below; errors of opening are not those of reading)
    except FileNotFoundError:
        raise InputError("no such file", path) from None
    except (IsADirectoryError, NotADirectoryError):
        raise InputError("is not a file", path) from None
    with file:
        first, left = 1, b""
        while chunk := file.read(_BLOCK):
            whole, newline, rest = chunk.rpartition(b"\n")
            if not newline:
                left += chunk
                continue
            block, left = left + whole + newline, rest
            yield first, _columns(block, path, first, names)
            first += block.count(b"\n")
        if left:
            yield first, _columns(left + b"\n", path, first, names)


def _columns(block: bytes, path: str | PathLike[str], first: int, names: tuple[str, ...]) -> list[list[str]]:
    width = len(names)
    if _is_regular(np.frombuffer(block, np.uint8), width):
        fields = block.decode("ascii").split()
    else:
        fields = [field for _, row in parse_rows(block, path, first, *names) for field in row]
    return [fields[i::width] for i in range(width)]


def _is_regular(text: np.ndarray, width: int) -> bool:
    """Whether all is printable ASCII, blanks, tabs and line ends, and every line has `width` fields."""
    if int(text.max()) >= 0x7F:
        return False
    blank = text <= 0x20
    known = (text == 0x20) | (text == 0x0A) | (text == 0x09) | (text == 0x0D)
    if not np.array_equal(blank, known):
        return False
    ends = np.flatnonzero(text == 0x0A)
    begins = np.flatnonzero(~blank & np.concatenate(([True], blank[:-1])))
    if len(begins) != width * len(ends):
        return False
    # The last field of a line begins before the line ends, and the first of the next one after it.
    return bool((begins[width - 1 :: width] < ends).all() and (begins[width::width] > ends[:-1]).all())
