"""Tolerant reading of data files for the validator and the mender, which must see past the first fault."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from vpeval.data import layout


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
