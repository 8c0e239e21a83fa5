"""Two readers of data files besides `core.files`: one for a million lines, one for files with faults.

`read_column` reads a file that is as our tools write it (sorted, one blank between key and value) and returns a mapping
that is equal to the dictionary of `core.tables.read_table` in a tenth of its memory: keys are one array, values one
string of bytes with their places. Any other file, right or wrong, is left to that function, which raises the errors.
`read_raw` reads whatever can be read, for the validator and utils/fix_data_dir.py, which must see past the first fault.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import ItemsView, Iterator, Mapping, Sequence, ValuesView
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np

from vpeval.core.arrays import Bools, Bytes, Counts, Texts
from vpeval.data import layout

LARGE = 4 << 20
"""Bytes from which on a file is worth a column; a dictionary is simpler."""

_FEW = 1 << 14
_BLOCK = 4 << 20
_ROWS = 1 << 16
_NEWLINE, _BLANK = 10, 32
_OTHER_BLANKS = re.compile(r"[^\S \n]")


class Column(Mapping[str, str]):
    """Key → value in the order of keys; value i is the bytes from ``places[i]`` to ``places[i + 1]`` of `content`."""

    def __init__(self, index: Texts, content: bytearray, places: Counts) -> None:
        self.index, self.content, self.places = index, content, places

    def __len__(self) -> int:
        return len(self.index)

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self), _ROWS):
            yield from map(bytes.decode, self.index[first : first + _ROWS].tolist())

    def __getitem__(self, key: str) -> str:
        row = self._row(key)
        if row is None:
            raise KeyError(key)
        return self._value(row)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self._row(key) is not None

    def __repr__(self) -> str:
        return f"Column of {len(self)} rows"

    def items(self) -> ItemsView[str, str]:
        """Keys with values."""
        return _Items(self)

    def values(self) -> ValuesView[str]:
        """The values, in the order of keys."""
        return _Values(self)

    def select(self, keys: Sequence[str]) -> Mapping[str, str]:
        """The rows of some keys, in their order; a key that is not here is left out."""
        wanted = [key.encode() for key in keys]
        fit = np.array(wanted, self.index.dtype)  # what is longer than any key of ours is cut
        rows = np.minimum(np.searchsorted(self.index, fit), len(self) - 1)
        found = self.index[rows].tolist()
        if len(keys) > _FEW and found == wanted and (np.diff(rows) > 0).all():
            return self._some(rows)
        return {key: self._value(row) for key, row, have, want in zip(keys, rows.tolist(), found, wanted, strict=True)
                if have == want}  # fmt: skip

    def _some(self, rows: Counts) -> Column:
        """Ascending rows as a column of their own."""
        lengths = np.diff(self.places)
        kept = np.zeros(len(self), bool)
        kept[rows] = True
        content = bytearray(np.frombuffer(self.content, np.uint8)[np.repeat(kept, lengths)])
        return Column(self.index[rows], content, np.concatenate(([0], lengths[rows].cumsum())))

    def distinct(self) -> list[str]:
        """The values, each once, sorted."""
        return [value.decode() for value in np.unique(self.value_index()).tolist()]

    def value_index(self) -> Texts:
        """The values as an array, for tables whose values are short."""
        return _fixed(np.frombuffer(self.content, np.uint8), np.diff(self.places))

    def are_positive(self) -> bool:
        """Whether all values are numbers above zero; False also where that is not plain."""
        try:
            numbers = self.value_index().astype(np.float64)
        except ValueError:
            return False
        return bool(((numbers > 0) & np.isfinite(numbers)).all())

    def _row(self, key: str) -> int | None:
        wanted = key.encode()
        if len(wanted) > self.index.dtype.itemsize:
            return None
        row = int(np.searchsorted(self.index, np.array(wanted, self.index.dtype)))
        return row if row < len(self) and self.index[row] == wanted else None

    def _value(self, row: int) -> str:
        return self.content[self.places[row] : self.places[row + 1]].decode()

    def block_of_values(self, first: int, last: int) -> list[str]:
        """The values of some rows."""
        places = self.places[first : last + 1].tolist()
        block = self.content[places[0] : places[-1]]
        if block.isascii():  # then characters are where bytes are
            text, start = block.decode(), places[0]
            return [text[a - start : b - start] for a, b in pairwise(places)]
        return [self.content[a:b].decode() for a, b in pairwise(places)]


def read_column(path: Path, empty: bool = False, keys: Texts | None = None) -> Column | None:
    """The table of a large, regular and sorted file; None for any other. With `empty`, values may be missing.

    With `keys`, the index of another column, a file that has others is None as well, and the index is shared.
    """
    if path.stat().st_size < max(1, LARGE):
        return None
    index: list[Texts] = []
    content = bytearray()
    lengths: list[Counts] = [np.zeros(1, np.int64)]
    count = 0
    with open(path, "rb") as file:
        for block in _blocks(file):
            parsed = _parse(block, empty)
            if parsed is None:
                return None
            own, values, sizes = parsed
            if keys is None:
                index.append(own)
            elif not np.array_equal(own, keys[count : count + len(own)]):
                return None
            content += values
            lengths.append(sizes)
            count += len(own)
    places = np.concatenate(lengths).cumsum()
    if keys is not None:
        return Column(keys, content, places) if count == len(keys) else None
    joined = np.concatenate(index)
    return Column(joined, content, places) if (joined[:-1] < joined[1:]).all() else None


class _Items(ItemsView[str, str]):
    """Without a search for every key."""

    _mapping: Column

    def __iter__(self) -> Iterator[tuple[str, str]]:
        yield from zip(self._mapping, self._mapping.values(), strict=True)


class _Values(ValuesView[str]):
    _mapping: Column

    def __iter__(self) -> Iterator[str]:
        for first in range(0, len(self._mapping), _ROWS):
            yield from self._mapping.block_of_values(first, first + _ROWS)


def _blocks(file: BinaryIO) -> Iterator[bytes]:
    """Whole lines, some megabytes at a time."""
    left = b""
    while chunk := file.read(_BLOCK):
        whole, newline, rest = chunk.rpartition(b"\n")
        if newline:
            yield left + whole + newline
            left = rest
        else:
            left += chunk
    if left:
        yield left


def _parse(block: bytes, empty: bool) -> tuple[Texts, bytes, Counts] | None:
    """Keys, values and lengths of values; None if there is anything unusual in the block."""
    text = np.frombuffer(block, np.uint8)
    ends = np.flatnonzero(text == _NEWLINE)
    if block[-1] != _NEWLINE or np.count_nonzero(text < _BLANK) != len(ends) or not _is_plain(block):
        return None
    starts = np.concatenate(([0], ends[:-1] + 1))
    blanks = np.append(np.flatnonzero(text == _BLANK), len(text))
    key_ends = np.minimum(blanks[np.searchsorted(blanks, starts)], ends)
    value_starts = np.minimum(key_ends + 1, ends)
    alone = key_ends == ends
    doubled = (text[value_starts] == _BLANK) & ~alone
    if (key_ends == starts).any() or (text[ends - 1] == _BLANK).any() or doubled.any() or (alone.any() and not empty):
        return None
    keys, values = key_ends - starts, ends - value_starts
    taken = _every_other(keys, value_starts - key_ends, values, ends + 1 - value_starts - values)
    inside = text[taken[0]]
    return _fixed(inside, keys), text[taken[1]].tobytes(), values


def _every_other(*lengths: Counts) -> tuple[Bools, Bools]:
    """Where the first and where the third of four kinds of pieces are, that follow each other in every line."""
    counts = np.stack(lengths, axis=1).ravel()
    kinds = np.repeat(np.tile(np.arange(4, dtype=np.int8), len(lengths[0])), counts)
    return kinds == 0, kinds == 2


def _is_plain(block: bytes) -> bool:
    """Whether it is UTF-8 text without blanks of other kinds than ours."""
    if block.isascii():
        return True
    try:
        return not _OTHER_BLANKS.search(block.decode())
    except UnicodeDecodeError:
        return False


def _fixed(text: Bytes, lengths: Counts) -> Texts:
    """Pieces of these lengths, of which `text` consists, as an array of strings of one width."""
    width = max(1, int(lengths.max()))
    if (lengths == width).all():
        return np.frombuffer(text.tobytes(), f"S{width}")
    rows, ends = np.zeros((len(lengths), width), np.uint8), lengths.cumsum()
    for first in range(0, len(lengths), _ROWS):
        part = lengths[first : first + _ROWS]
        last = int(ends[first + len(part) - 1])
        rows[first : first + len(part)][np.arange(width) < part[:, None]] = text[last - int(part.sum()) : last]
    return rows.view(f"S{width}")[:, 0]


class RawLine(NamedTuple):
    """A line that holds something: its number in the file, its first field, and what follows."""

    number: int
    key: str
    value: str

    @property
    def text(self) -> str:
        """The line, without surplus blanks before, after or behind the key."""
        return f"{self.key} {self.value}".rstrip()

    @property
    def fields(self) -> list[str]:
        """The key and the words that follow it."""
        return [self.key, *self.value.split()]


@dataclass(frozen=True)
class RawFile:
    """The usable lines of a text file, and the numbers of those that are not plain text lines."""

    path: Path
    lines: list[RawLine]
    blank: list[int]
    garbled: list[int]
    windows: list[int]
    ends_with_newline: bool
    marked: bool = False
    """Whether it begins with a byte-order mark, which is no part of the first line."""

    @cached_property
    def well_formed(self) -> list[RawLine]:
        """The lines with as many fields as this file must have."""
        if self.path.name == "text":
            return self.lines
        fields = layout.FIELDS.get(self.path.name)
        if fields:
            return [line for line in self.lines if len(line.fields) == len(fields)]
        return [line for line in self.lines if line.value]


def read_raw(path: Path) -> RawFile:
    """Read whatever can be read of `path`."""
    whole = path.read_bytes()
    content = whole.removeprefix(codecs.BOM_UTF8)
    lines: list[RawLine] = []
    blank: list[int] = []
    garbled: list[int] = []
    windows: list[int] = []
    for number, line in enumerate(content.removesuffix(b"\n").split(b"\n") if content else [], start=1):
        try:
            text = line.decode()
        except UnicodeDecodeError:
            garbled.append(number)
            continue
        if text.endswith("\r"):
            windows.append(number)
        words = text.split(maxsplit=1)
        if "\0" in text:
            garbled.append(number)
        elif not words:
            blank.append(number)
        else:
            lines.append(RawLine(number, words[0], words[1].rstrip() if len(words) > 1 else ""))
    return RawFile(path, lines, blank, garbled, windows, content.endswith(b"\n"), len(content) < len(whole))
