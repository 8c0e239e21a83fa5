"""Trials of a data directory, their scores, and the text of pairs that both are.

``trials`` (``spk utt target|nontarget``) is matched with ``scores`` (``spk utt score``). Both files may be in any
order, but they must hold the same pairs, each once. Trials that are too many for a tuple of tuples look like one: a
full cross product is described by its sides (`CrossTrials`), and a large file is read by columns, when its trials are
needed (`TrialFile`).

Text of pairs, ``<first> <second> <value>`` on a line: trials, scores of trials, scores of pairs of utterances.

Ten million lines are a usual size. Names are kept once each and rows as numbers into them; files are read and written
in blocks of many lines by functions that loop in C. Every error names the line.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice, repeat
from os import PathLike
from typing import overload

import numpy as np
from numpy.typing import NDArray

from vpeval.core.arrays import Bools, Counts, Counts32, Floats, Indices
from vpeval.core.errors import InputError, TooFew
from vpeval.core.files import atomic_path, column_blocks, to_number
from vpeval.data import layout

StrPath = str | PathLike[str]
Pair = tuple[str, str]
Block = Sequence[Sequence[str]]

_PAIR_ROWS = 1 << 16


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
        for start in range(0, len(self), _PAIR_ROWS):
            rows = slice(start, start + _PAIR_ROWS)
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


Trial = tuple[str, str, str]
Name = Callable[[str], str]

_ROWS = 1 << 14
_LABELS = np.array(layout.LABELS[::-1])  # by whether it is a target


class TrialRows(Sequence[Trial]):
    """Trials in C-locale order: ``(speaker, utterance, label)``."""

    @abstractmethod
    def blocks(self) -> Iterator[Block]:
        """Speakers, utterances and labels of all trials, many at a time."""

    @abstractmethod
    def with_utterances(self, utts: Collection[str]) -> TrialRows:
        """The trials of some utterances."""

    @abstractmethod
    def renamed(self, spk_id: Name, utt_id: Name) -> TrialRows:
        """The same with other ids."""

    @property
    @abstractmethod
    def targets(self) -> int:
        """How many are target trials."""

    def __iter__(self) -> Iterator[Trial]:
        for block in self.blocks():
            yield from zip(*block, strict=True)

    @overload
    def __getitem__(self, index: int) -> Trial: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Trial, ...]: ...

    def __getitem__(self, index: int | slice) -> Trial | tuple[Trial, ...]:
        if isinstance(index, slice):
            return tuple(islice(self, *index.indices(len(self))))
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(index)
        return next(islice(self, place, None))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as that of a list


@dataclass(frozen=True, eq=False)
class CrossTrials(TrialRows):
    """Every enrolled speaker with every utterance; a target is an utterance with its own speaker."""

    speakers: tuple[str, ...]
    owner: Mapping[str, str]
    """Utterance → speaker, for the trial utterances; both in C-locale order."""

    def __len__(self) -> int:
        return len(self.speakers) * len(self.owner)

    def blocks(self) -> Iterator[Block]:
        """Some thousand trials of an enrolled speaker at a time."""
        utts, owners = list(self.owner), np.array(list(self.owner.values()))
        for spk in self.speakers:
            for start in range(0, len(utts), _ROWS):
                some = slice(start, start + _ROWS)
                labels = _LABELS[(owners[some] == spk).astype(np.intp)].tolist()
                yield list(repeat(spk, len(labels))), utts[some], labels

    def with_utterances(self, utts: Collection[str]) -> CrossTrials:
        """The trials of some utterances."""
        return CrossTrials(self.speakers, {utt: spk for utt, spk in self.owner.items() if utt in utts})

    def renamed(self, spk_id: Name, utt_id: Name) -> CrossTrials:
        """The same with other ids."""
        owner = sorted((utt_id(utt), spk_id(spk)) for utt, spk in self.owner.items())
        return CrossTrials(tuple(sorted(map(spk_id, self.speakers))), dict(owner))

    @property
    def targets(self) -> int:
        """How many are target trials."""
        enrolled = set(self.speakers)
        return sum(spk in enrolled for spk in self.owner.values())


@dataclass(frozen=True, eq=False)
class TrialFile(TrialRows):
    """The trials of a large file, which is read and checked when they are first used."""

    load: Callable[[], tuple[PairRows, Bools]]

    @classmethod
    def at(cls, path: StrPath, utts: Collection[str]) -> TrialFile:
        """Those of file `path`, in a directory that has the utterances `utts`."""

        def load() -> tuple[PairRows, Bools]:
            rows, is_target = read_labelled(path)
            unknown = np.array([utt not in utts for utt in rows.seconds], bool)[rows.second]
            if unknown.any():
                row = int(unknown.argmax())
                name = rows.seconds[rows.second[row]]
                raise InputError(f"utterance '{name}' is not in utt2spk; remove the line", path, row + 1)
            rows.refuse_repeats(path, "trial")
            return rows, is_target

        return cls(load)

    @cached_property
    def _sorted(self) -> tuple[PairRows, Bools]:
        rows, is_target = self.load()
        if (np.diff(rows.keys) > 0).all():
            return rows, is_target
        order = np.argsort(rows.keys)
        return PairRows(rows.firsts, rows.seconds, rows.first[order], rows.second[order]), is_target[order]

    def __len__(self) -> int:
        return len(self._sorted[0])

    def blocks(self) -> Iterator[Block]:
        """Some thousand trials at a time."""
        rows, is_target = self._sorted
        start = 0
        for first, second in rows.blocks():
            yield first, second, _LABELS[is_target[start : start + len(first)].astype(np.intp)].tolist()
            start += len(first)

    def with_utterances(self, utts: Collection[str]) -> TrialFile:
        """The trials of some utterances."""

        def load() -> tuple[PairRows, Bools]:
            rows, is_target = self._sorted
            kept = np.array([utt in utts for utt in rows.seconds], bool)[rows.second]
            return PairRows(rows.firsts, rows.seconds, rows.first[kept], rows.second[kept]), is_target[kept]

        return TrialFile(load)

    def renamed(self, spk_id: Name, utt_id: Name) -> TrialFile:
        """The same with other ids."""

        def load() -> tuple[PairRows, Bools]:
            rows, is_target = self._sorted
            (firsts, first), (seconds, second) = (
                _in_order([name(each) for each in names], column)
                for name, names, column in (
                    (spk_id, rows.firsts, rows.first),
                    (utt_id, rows.seconds, rows.second),
                )
            )
            return PairRows(firsts, seconds, first, second), is_target

        return TrialFile(load)

    @property
    def targets(self) -> int:
        """How many are target trials."""
        return int(self._sorted[1].sum())


def read_labelled(path: StrPath) -> tuple[PairRows, Bools]:
    """The pairs of a trials file in file order, and which are targets; a label that is none is an InputError."""

    def parse(texts: list[str], line: int) -> Bools:
        if set(texts) <= set(layout.LABELS):
            return np.fromiter(map(layout.LABELS[0].__eq__, texts), np.bool_, len(texts))
        row = next(i for i, text in enumerate(texts) if text not in layout.LABELS)
        raise InputError(f"'{texts[row]}' is not a label; write target or nontarget", path, line + row)

    rows, is_target = read_pairs(path, layout.FIELDS["trials"], parse)
    return rows, is_target.astype(np.bool_, copy=False)


def write_trials(path: StrPath, trials: Sequence[Trial]) -> None:
    """Write trials in C-locale order."""
    if isinstance(trials, TrialRows):
        write_pairs(path, trials.blocks())
    else:
        write_pairs(path, [list(zip(*sorted(trials), strict=True))] if trials else [])


def count_targets(trials: Sequence[Trial]) -> int:
    """How many are target trials."""
    if isinstance(trials, TrialRows):
        return trials.targets
    return sum(label == layout.LABELS[0] for _, _, label in trials)


def _in_order(names: list[str], column: Counts32) -> tuple[list[str], Counts32]:
    """Names in C-locale order, and a column of numbers into them."""
    order = sorted(range(len(names)), key=names.__getitem__)
    place = np.empty(len(names), np.int32)
    place[order] = np.arange(len(names), dtype=np.int32)
    return [names[i] for i in order], place[column]


@dataclass(frozen=True)
class Trials:
    """The rows of a trials file, in file order; row i stands on line i + 1."""

    path: StrPath
    rows: PairRows
    is_target: Bools

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class TrialSpeakers:
    """Who speaks in each trial, as indices into `names`."""

    names: list[str]
    enroll: Indices
    trial: Indices


def read_trials(path: StrPath) -> Trials:
    """Read a trials file that has target and nontarget trials and no pair twice."""
    rows, is_target = read_labelled(path)
    if not len(rows):
        raise InputError("holds no trials; is this the right file?", path)
    for label, missing in (("target", not is_target.any()), ("nontarget", is_target.all())):
        if missing:
            raise TooFew(f"holds no {label} trials; both kinds are needed to score", path)
    rows.refuse_repeats(path, "pair")
    return Trials(path, rows, is_target)


def read_scores(path: StrPath, trials: Trials) -> Floats:
    """The score of every trial, in the order of the trials."""
    rows, scores = read_pair_scores(path, "speaker", "utterance")
    wanted, found = trials.rows.keys, rows.keys_in(trials.rows)
    if np.array_equal(wanted, found):
        return scores
    order = np.argsort(found)
    place = np.minimum(np.searchsorted(found, wanted, sorter=order), len(order) - 1)
    matched = order[place]
    absent = found[matched] != wanted
    if absent.any():
        row = int(absent.argmax())
        message = f"trial '{trials.rows.describe(row)}' has no score in {path}; score it"
        raise InputError(message, trials.path, row + 1)
    if len(rows) > len(wanted):
        extra = np.ones(len(rows), bool)
        extra[matched] = False
        row = int(extra.argmax())
        message = f"no trial '{rows.describe(row)}' in {trials.path}; remove the score or use its trials"
        raise InputError(message, path, row + 1)
    return scores[matched]


def write_scores(path: StrPath, trials: Trials, scores: Floats) -> None:
    """Write the scores of trials, in their order."""
    write_pair_scores(path, score_blocks(trials.rows, scores))


def trial_speakers(
    trials: Trials, utt2spk: Mapping[str, str] | None = None, source: StrPath = "utt2spk"
) -> TrialSpeakers:
    """Find the speaker of every trial utterance.

    With `utt2spk` (read from `source`) its speakers are used and checked against the labels. Without it, the speaker
    is the enrolled one for utterances with a target trial, else the utterance-id up to the first '-', else the
    utterance itself.
    """
    rows = trials.rows
    own = _targets(trials)
    if utt2spk is None:
        names_of = [
            rows.firsts[spk] if spk >= 0 else utt.partition("-")[0] or utt
            for utt, spk in zip(rows.seconds, own.tolist(), strict=True)
        ]
    else:
        names_of = _checked_speakers(trials, utt2spk, source)
    names = sorted({*rows.firsts, *names_of})
    index = {name: i for i, name in enumerate(names)}
    enroll, trial = (np.array([index[name] for name in given], np.intp) for given in (rows.firsts, names_of))
    return TrialSpeakers(names, enroll[rows.first], trial[rows.second])


def _targets(trials: Trials) -> Counts:
    """The enrolled speaker whom every utterance is a target of, as a number; -1 where there is none."""
    lines = np.flatnonzero(trials.is_target)
    spk, utt = trials.rows.first[lines], trials.rows.second[lines]
    own = np.full(len(trials.rows.seconds), -1)
    own[utt[::-1]] = spk[::-1]  # the first one counts
    if (wrong := own[utt] != spk).any():
        row = int(wrong.argmax())
        one, other = (trials.rows.firsts[number] for number in (own[utt[row]], spk[row]))
        message = f"'{trials.rows.seconds[utt[row]]}' is a target of both '{one}' and '{other}'"
        raise InputError(f"{message}; an utterance has one speaker", trials.path, int(lines[row]) + 1)
    return own


def _checked_speakers(trials: Trials, utt2spk: Mapping[str, str], source: StrPath) -> list[str]:
    """The speakers of the trial utterances by `utt2spk`, if it agrees with the labels."""
    rows = trials.rows
    given = [utt2spk.get(utt) for utt in rows.seconds]
    enrolled = {name: number for number, name in enumerate(rows.firsts)}
    number = np.array([-1 if name is None else enrolled.get(name, -1) for name in given])
    unknown = np.array([name is None for name in given])
    bad = unknown[rows.second] | ((number[rows.second] == rows.first) != trials.is_target)
    if bad.any():
        row = int(bad.argmax())
        spk, utt = rows.firsts[rows.first[row]], rows.seconds[rows.second[row]]
        if utt not in utt2spk:
            raise InputError(f"utterance '{utt}' is not in {source}; add it", trials.path, row + 1)
        label = "target" if trials.is_target[row] else "nontarget"
        message = f"{label} trial of '{spk}', but {source} says that '{utt}' is spoken by '{utt2spk[utt]}'; correct one"
        raise InputError(message, trials.path, row + 1)
    return [name for name in given if name is not None]
