"""Text of pairs, ``<first> <second> <value>`` on a line: trials, scores of trials, scores of pairs of utterances.

Ten million lines are a usual size. Names are kept once each and rows as numbers into them; files are read and written
in blocks of many lines by functions that loop in C. Every error names the line.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from os import PathLike

import numpy as np
from numpy.typing import NDArray

from vpeval.core.arrays import Counts, Counts32, Floats
from vpeval.core.columns import column_blocks
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path
from vpeval.core.tables import to_number

StrPath = str | PathLike[str]
Pair = tuple[str, str]
Block = Sequence[Sequence[str]]

_ROWS = 1 << 16


@dataclass(frozen=True)
class PairRows:
    """Pairs of names: row i is ``firsts[first[i]]`` and ``seconds[second[i]]``; both lists of names are sorted."""

    firsts: list[str]
    seconds: list[str]
    first: Counts32
    second: Counts32

    @classmethod
    def from_pairs(cls, pairs: Iterable[Pair]) -> PairRows:
        """Rows of single pairs."""
        collected = _Collected()
        collected.add(*zip(*pairs, strict=True))
        return collected.rows()

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[Pair]:
        for first, second in self.blocks():
            yield from zip(first, second, strict=True)

    def blocks(self) -> Iterator[tuple[list[str], list[str]]]:
        """The names of both columns, many rows at a time."""
        for start in range(0, len(self), _ROWS):
            rows = slice(start, start + _ROWS)
            yield (
                list(map(self.firsts.__getitem__, self.first[rows].tolist())),
                list(map(self.seconds.__getitem__, self.second[rows].tolist())),
            )

    def describe(self, row: int) -> str:
        """A row for a message."""
        return f"{self.firsts[self.first[row]]} {self.seconds[self.second[row]]}"

    @property
    def keys(self) -> Counts:
        """One number for every row, in the order of names."""
        return self.first * np.int64(len(self.seconds)) + self.second

    def keys_in(self, other: PairRows) -> Counts:
        """The number that every row has among the keys of `other`; -1 where that does not know a name."""
        first, second = (
            _places(self.firsts, other.firsts)[self.first],
            _places(self.seconds, other.seconds)[self.second],
        )
        return np.where((first < 0) | (second < 0), -1, first * len(other.seconds) + second)

    def refuse_repeats(self, path: StrPath, kind: str) -> None:
        """Raise an InputError if a pair stands on two lines of file `path`."""
        keys = self.keys
        if (keys[1:] > keys[:-1]).all():
            return
        order = np.argsort(keys, kind="stable")
        again = order[1:][keys[order[1:]] == keys[order[:-1]]]
        if len(again):
            row = int(again.min())
            raise InputError(f"{kind} '{self.describe(row)}' appears twice; keep one line", path, row + 1)


def read_pairs(
    path: StrPath, names: Sequence[str], parse: Callable[[list[str], int], NDArray[np.generic]]
) -> tuple[PairRows, NDArray[np.generic]]:
    """The pairs of a file whose lines have the fields `names`, and the values that `parse` makes of the third.

    `parse` takes the third fields of some lines and the number of the first line.
    """
    collected = _Collected()
    values = []
    for line, (first, second, third) in column_blocks(path, *names):
        collected.add(first, second)
        values.append(parse(third, line))
    return collected.rows(), np.concatenate(values) if values else np.empty(0)


def read_pair_scores(path: StrPath, first: str, second: str) -> tuple[PairRows, Floats]:
    """Read ``<first> <second> <score>`` lines with finite scores and no pair twice; row i stands on line i + 1."""
    rows, scores = read_pairs(path, (first, second, "score"), lambda texts, line: _numbers(path, texts, line))
    if not len(rows):
        raise InputError("holds no scores; is this the right file?", path)
    rows.refuse_repeats(path, "pair")
    return rows, scores.astype(np.float64, copy=False)


def write_pair_scores(path: StrPath, blocks: Iterable[tuple[Sequence[str], Sequence[str], Floats]]) -> None:
    """Write ``<first> <second> <score>`` lines; a score has the digits that read as the same number."""
    write_pairs(path, ((first, second, _digits(scores)) for first, second, scores in blocks))


def score_blocks(rows: PairRows, scores: Floats) -> Iterator[tuple[list[str], list[str], Floats]]:
    """The rows with their scores, as `write_pair_scores` takes them."""
    start = 0
    for first, second in rows.blocks():
        yield first, second, scores[start : start + len(first)]
        start += len(first)


def write_pairs(path: StrPath, blocks: Iterable[Block]) -> None:
    """Write ``<first> <second> <value>`` lines, atomically."""
    with atomic_path(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        for block in blocks:
            file.write("".join(map("%s %s %s\n".__mod__, zip(*block, strict=True))))


class _Collected:
    """Rows of pairs in the making: names are numbered as they appear."""

    def __init__(self) -> None:
        self._numbers = _Numbers(), _Numbers()
        self._parts: tuple[list[Counts32], list[Counts32]] = [], []

    def add(self, *columns: Sequence[str]) -> None:
        """More rows."""
        for numbers, parts, names in zip(self._numbers, self._parts, columns, strict=True):
            parts.append(np.fromiter(map(numbers.__getitem__, names), np.int32, len(names)))

    def rows(self) -> PairRows:
        """All rows, their names in order."""
        names, columns = [], []
        for numbers, parts in zip(self._numbers, self._parts, strict=True):
            ordered = sorted(numbers)
            place = np.empty(len(ordered), np.int32)
            place[[numbers[name] for name in ordered]] = np.arange(len(ordered), dtype=np.int32)
            names.append(ordered)
            columns.append(place[np.concatenate(parts)] if parts else np.empty(0, np.int32))
        return PairRows(names[0], names[1], columns[0], columns[1])


class _Numbers(dict[str, int]):
    """Numbers of names; a new one gets the next."""

    def __missing__(self, name: str) -> int:
        self[name] = len(self)
        return self[name]


def _places(names: Sequence[str], among: Sequence[str]) -> Counts:
    known = {name: number for number, name in enumerate(among)}
    return np.array([known.get(name, -1) for name in names], np.int64)


def _numbers(path: StrPath, texts: list[str], line: int) -> Floats:
    """Parse finite numbers; the first that is not one is an error with its line, `line` being that of the first."""
    joined = "".join(texts)
    numbers = np.empty(len(texts))
    try:
        if "_" in joined or not joined.isascii():
            raise ValueError("only Python takes these for numbers")
        numbers[:] = np.fromiter(map(float, texts), np.float64, len(texts))
    except ValueError:
        for i, text in enumerate(texts):
            try:
                numbers[i] = to_number(text)
            except ValueError:
                raise InputError(f"score '{text}' is not a number; correct it", path, line + i) from None
    if not np.isfinite(numbers).all():
        i = int(np.argmin(np.isfinite(numbers)))
        raise InputError(f"score '{texts[i]}' is not finite; find out why the scorer gave it", path, line + i)
    return numbers


def _digits(scores: Floats) -> list[str]:
    texts = list(map(repr, scores.tolist()))
    for i in np.flatnonzero(scores == np.trunc(scores)).tolist():
        texts[i] = texts[i].removesuffix(".0")
    return texts
