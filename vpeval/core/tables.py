"""Kaldi text tables: one entry a line, the key first, fields separated by blanks.

This is the only reader of such files (``utt2spk``, ``wav.scp``, ``text``, ``trials``, ``scores`` …); every error
names file and line.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterable, Iterator, Mapping
from operator import itemgetter
from os import PathLike
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path

_ROWS = 1 << 14


def read_lines(path: str | PathLike[str], blanks: bool = False) -> Iterator[tuple[int, str]]:
    """Yield (line number, line without its end) of a UTF-8 text file; blank lines are errors, or skipped (`blanks`)."""
    try:
        raw = Path(path).read_bytes()
    except FileNotFoundError:
        raise InputError("no such file", path) from None
    except (IsADirectoryError, NotADirectoryError):
        raise InputError("is not a file", path) from None
    yield from _lines_of(raw, path, 1, blanks)


def read_rows(path: str | PathLike[str], *names: str) -> Iterator[tuple[int, list[str]]]:
    """Yield (line number, fields) of lines that have exactly the fields `names`.

    ``for line, (spk, utt, label) in read_rows(trials, "speaker", "utterance", "target|nontarget"): …``
    """
    yield from _rows(read_lines(path), path, names)


def parse_rows(raw: bytes, path: str | PathLike[str], first: int, *names: str) -> Iterator[tuple[int, list[str]]]:
    """The rows of some lines of file `path`, the first of which has the number `first`."""
    yield from _rows(_lines_of(raw, path, first), path, names)


def _lines_of(raw: bytes, path: str | PathLike[str], first: int, blanks: bool = False) -> Iterator[tuple[int, str]]:
    if not raw:
        return
    if first == 1:
        raw = raw.removeprefix(codecs.BOM_UTF8)  # of an editor; it is no part of the first key
    for number, line in enumerate(raw.removesuffix(b"\n").split(b"\n"), start=first):
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError:
            raise InputError("is not UTF-8 text; is this the right file?", path, number) from None
        if "\0" in text:
            raise InputError("holds a NUL byte; is this a text file?", path, number)
        if not text.strip():
            if blanks:
                continue
            raise InputError("blank line; remove it", path, number)
        yield number, text.rstrip("\r")


def _rows(
    lines: Iterator[tuple[int, str]], path: str | PathLike[str], names: tuple[str, ...]
) -> Iterator[tuple[int, list[str]]]:
    for number, text in lines:
        fields = text.split()
        if len(fields) != len(names):
            wanted = " ".join(f"<{name}>" for name in names)
            raise InputError(f"{len(fields)} fields where {len(names)} are expected: {wanted}", path, number)
        yield number, fields


def read_table(path: str | PathLike[str], value: str = "value", empty: bool = False) -> dict[str, str]:
    """Read ``<key> <value …>`` lines into a dict in file order; the value is the rest of the line.

    `value` names the second field in errors; with `empty` a key may stand alone (as in ``text``).
    """
    table: dict[str, str] = {}
    for number, text in read_lines(path):
        key, *rest = text.split(maxsplit=1)
        if not rest and not empty:
            raise InputError(f"'{key}' has no {value}; expected <key> <{value}>", path, number)
        if key in table:
            raise InputError(f"'{key}' appears twice; keep one line", path, number)
        table[key] = rest[0].rstrip() if rest else ""
    return table


def to_number(text: str) -> float:
    """A number as files have it; what only Python reads as one, such as 1_0, is a ValueError.

    >>> to_number("-1.5e-3")
    -0.0015
    """
    if "_" in text or not text.isascii():
        raise ValueError(f"'{text}' is not a number")
    return float(text)


def is_pipe(entry: str) -> bool:
    """Whether a wav.scp entry is a command whose output is the audio (``flac -dcs x.flac |``)."""
    return entry.rstrip().endswith("|")


def write_table(path: str | PathLike[str], table: Mapping[str, str] | Iterable[tuple[str, str]]) -> None:
    """Write ``<key> <value>`` lines, sorted by key in the C locale, atomically."""
    rows = table.items() if isinstance(table, Mapping) else table
    ordered = sorted(rows, key=itemgetter(0))  # Python orders text as its bytes in UTF-8 are ordered
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        for start in range(0, len(ordered), _ROWS):
            file.write("".join([f"{k} {v}".rstrip() + "\n" for k, v in ordered[start : start + _ROWS]]))
