"""A Kaldi data directory in memory: read whole, cut, written whole.

Tables are dictionaries; those of large files are columns (`vpeval.data.table_files`), which behave the same.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from vpeval.core.arrays import Texts
from vpeval.core.errors import InputError
from vpeval.core.files import read_lines, read_rows, read_table, write_table, write_text
from vpeval.core.publish import staged_directory
from vpeval.data import layout, table_files
from vpeval.data.table_files import Column, read_column
from vpeval.data.trials import Trial, TrialFile, TrialRows, write_trials


@dataclass(frozen=True)
class DataDir:
    """Utterances, their speakers, and every table about them; all in C-locale order."""

    path: Path
    utt2spk: Mapping[str, str]
    utt_tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    spk_tables: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    enrolls: tuple[str, ...] | None = None
    trials: Sequence[Trial] | None = None

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DataDir:
        """Read a data directory; anything malformed or inconsistent is an InputError.

        The order of lines does not matter here, and spk2utt is derived from utt2spk, never read. A large trials file
        is read, and checked, when its trials are first used.
        """
        path = Path(path)
        refuse_unreadable(path)
        utt2spk = read_utt2spk(path / "utt2spk")
        names = layout.present(path)
        utt_tables = {
            name: _read_table(path / name, utt2spk, "utterance") for name in names if layout.is_utt_table(name)
        }
        speakers = dict.fromkeys(_distinct(utt2spk))
        spk_tables = {
            name: _read_table(path / name, speakers, "speaker") for name in names if layout.is_spk_table(name)
        }
        enrolls = _read_enrolls(path / "enrolls", utt2spk) if "enrolls" in names else None
        trials = _read_trials(path / "trials", utt2spk) if "trials" in names else None
        return cls(path, utt2spk, utt_tables, spk_tables, enrolls, trials)

    @property
    def name(self) -> str:
        """The name of the set: the last part of its path."""
        return self.path.name or self.path.resolve().name

    @property
    def utts(self) -> list[str]:
        """Utterance ids."""
        return list(self.utt2spk)

    @property
    def speakers(self) -> list[str]:
        """Speaker ids."""
        return list(self.spk2utt)

    @cached_property
    def spk2utt(self) -> dict[str, list[str]]:
        """The utterances of every speaker."""
        return invert(self.utt2spk)

    @property
    def wav(self) -> Mapping[str, str]:
        """wav.scp: audio file or pipe of every utterance."""
        return self.table("wav.scp")

    @property
    def text(self) -> Mapping[str, str]:
        """Transcript of every utterance; may be empty."""
        return self.table("text")

    @cached_property
    def utt2dur(self) -> dict[str, float]:
        """Seconds of every utterance."""
        return {utt: float(seconds) for utt, seconds in self.table("utt2dur").items()}

    @property
    def spk2gender(self) -> Mapping[str, str]:
        """``f`` or ``m`` of every speaker."""
        return self.table("spk2gender")

    def table(self, name: str) -> Mapping[str, str]:
        """The table of file `name`, which must be there."""
        key = layout.table_key(name)
        tables = self.utt_tables if key == "utterance" else self.spk_tables
        if name not in tables:
            raise InputError(f"no such file; add it with one line '<{key}> <value>' per {key}", self.path / name)
        return tables[name]

    def subset(self, utts: Iterable[str]) -> DataDir:
        """The same directory with only `utts`: every table, enrolls and trials are cut accordingly."""
        kept = sorted(dict.fromkeys(utts))  # in order mostly, which a set would undo
        utt2spk = _rows(self.utt2spk, kept)
        if len(utt2spk) < len(kept):
            unknown = [utt for utt in kept if utt not in utt2spk]
            raise InputError(
                f"has no utterance {layout.first_few(unknown)}; choose among those listed", self.path / "utt2spk"
            )
        speakers = sorted(set(utt2spk.values()))
        return replace(
            self,
            utt2spk=utt2spk,
            utt_tables={name: _rows(table, kept) for name, table in self.utt_tables.items()},
            spk_tables={name: _rows(table, speakers) for name, table in self.spk_tables.items()},
            enrolls=None if self.enrolls is None else tuple(utt for utt in self.enrolls if utt in utt2spk),
            trials=None if self.trials is None else _trials_of(self.trials, utt2spk),
        )

    def with_table(self, name: str, table: Mapping[str, str]) -> DataDir:
        """The same directory with the per-utterance or per-speaker file `name` added or exchanged."""
        ordered = dict(sorted(table.items()))
        if layout.table_key(name) == "utterance":
            _check_keys(self.path / name, table, self.utt2spk, "utterance")
            return replace(self, utt_tables={**self.utt_tables, name: ordered})
        _check_keys(self.path / name, table, self.spk2utt, "speaker")
        return replace(self, spk_tables={**self.spk_tables, name: ordered})

    def write(self, path: str | os.PathLike[str], inputs: Iterable[Path] = ()) -> DataDir:
        """Write all files to directory `path`, whole or not at all, and return the DataDir that is there now.

        A data directory of that name that this toolkit wrote is replaced; one that somebody else made or that holds
        anything else, such as audio, is left alone with an InputError; so is one of the `inputs`.
        """
        if not self.utt2spk:
            raise InputError("no utterances to write; choose at least one", path)
        with staged_directory(Path(path), inputs, layout.is_expendable) as temporary:
            write_files(self, temporary)
        return replace(self, path=Path(path))


def invert(utt2spk: Mapping[str, str]) -> dict[str, list[str]]:
    """spk2utt from utt2spk, in C-locale order.

    >>> invert({"b-1": "b", "a-2": "a", "a-1": "a"})
    {'a': ['a-1', 'a-2'], 'b': ['b-1']}
    """
    spk2utt: dict[str, list[str]] = {spk: [] for spk in sorted(set(utt2spk.values()))}
    for utt, spk in sorted(utt2spk.items()):
        spk2utt[spk].append(utt)
    return spk2utt


def read_utt2spk(path: Path) -> Mapping[str, str]:
    """Read and sort an utt2spk file."""
    column = read_column(path) if path.is_file() else None
    if column is not None and b" " not in column.content and all(map(are_safe, (column.index, column.value_index()))):
        return column
    utt2spk: dict[str, str] = {}
    for line, (utt, spk) in read_rows(path, "utterance", "speaker"):
        if utt in utt2spk:
            raise InputError(f"utterance '{utt}' appears twice; keep one line", path, line)
        refuse_unsafe((utt, spk), path, line)
        utt2spk[utt] = spk
    if not utt2spk:
        raise InputError("is empty; write one line '<utterance> <speaker>' per utterance", path)
    return dict(sorted(utt2spk.items()))


def refuse_unsafe(ids: Iterable[str], path: Path, line: int) -> None:
    """Raise an InputError for an id that would be a path, an option or worse where it becomes part of a file name."""
    for word in ids:
        if not layout.is_safe_id(word):
            raise InputError(
                f"id {word[:60]!r} cannot be part of a file name; use letters, digits, '-', '_' and '.', with a letter "
                f"or digit first, and at most {layout.LONGEST_ID} of them",
                path,
                line,
            )


def are_safe(ids: Texts) -> bool:
    """The same for a column of ids, which has no control characters; False also where that is not certain."""
    letters = ids.view(np.uint8).reshape(len(ids), -1)
    dots = letters == ord(".")
    odd = (letters[:, 0] == ord("-")).any() or dots[:, 0].any() or (dots[:, 1:] & dots[:, :-1]).any()
    long = ids.dtype.itemsize > layout.LONGEST_ID
    return not (long or odd or (letters == ord("/")).any() or (letters >= 0x7F).any())


def write_files(data: DataDir, directory: Path) -> None:
    """Write the files of `data` into an existing directory."""
    write_table(directory / "utt2spk", data.utt2spk)
    write_table(directory / "spk2utt", {spk: " ".join(utts) for spk, utts in data.spk2utt.items()})
    for name, table in {**data.utt_tables, **data.spk_tables}.items():
        write_table(directory / name, table)
    if data.enrolls is not None:
        write_text(directory / "enrolls", "".join(f"{utt}\n" for utt in sorted(data.enrolls)))
    if data.trials is not None:
        write_trials(directory / "trials", data.trials)


def refuse_unreadable(path: Path) -> None:
    """Raise an InputError unless `path` is a directory of a kind this toolkit reads."""
    if not path.is_dir():
        raise InputError("no such data directory; check the path, or run the stage that makes it", path)
    for odd, kind in layout.irregular(path).items():
        raise InputError(f"is {kind}, where a file is needed; put the file there, or remove it", odd)
    if (path / "segments").exists():
        raise InputError(
            "segments are not supported; cut the audio into one file per utterance, name the files in wav.scp, "
            "and remove segments",
            path / "segments",
        )


def _distinct(table: Mapping[str, str]) -> list[str]:
    """The values, each once."""
    return table.distinct() if isinstance(table, Column) else sorted(set(table.values()))


def _rows(table: Mapping[str, str], keys: Sequence[str]) -> Mapping[str, str]:
    """Those of `keys` that a table has, in their order."""
    return table.select(keys) if isinstance(table, Column) else {key: table[key] for key in keys if key in table}


def _read_table(path: Path, keys: Mapping[str, object], kind: str) -> Mapping[str, str]:
    empty = path.name == "text"
    column = read_column(path, empty, keys.index) if isinstance(keys, Column) else None
    if column is not None and path.name == "utt2dur" and column.are_positive():
        return column
    table: Mapping[str, str] = column or dict(sorted(read_table(path, empty=empty).items()))
    if column is None:
        _check_keys(path, table, keys, kind)
    is_good, wanted = layout.VALUE_RULES.get(path.name, (lambda _: True, ""))
    for key, value in table.items() if wanted else ():
        if not is_good(value):
            raise InputError(f"{kind} '{key}' has '{value}' where {wanted} is needed", path, _line_of(path, key))
    return table


def _check_keys(path: Path, table: Mapping[str, str], keys: Iterable[str], kind: str) -> None:
    known = set(keys)
    if unknown := sorted(table.keys() - known):
        message = f"{kind} {layout.first_few(unknown)} is not in utt2spk"
        line = _line_of(path, unknown[0])
    elif missing := sorted(known - table.keys()):
        message = f"has no line for {kind} {layout.first_few(missing)} of utt2spk"
        line = None
    else:
        return
    raise InputError(f"{message}; fix it, or run utils/fix_data_dir.py {path.parent}", path, line)


def _read_enrolls(path: Path, utt2spk: Mapping[str, str]) -> tuple[str, ...]:
    enrolls: set[str] = set()
    for line, (utt,) in read_rows(path, "utterance"):
        if utt not in utt2spk:
            raise InputError(f"utterance '{utt}' is not in utt2spk; remove the line", path, line)
        if utt in enrolls:
            raise InputError(f"utterance '{utt}' appears twice; keep one line", path, line)
        enrolls.add(utt)
    return tuple(sorted(enrolls))


def _read_trials(path: Path, utt2spk: Mapping[str, str]) -> Sequence[Trial]:
    trials = TrialFile.at(path, utt2spk)
    return trials if path.stat().st_size >= table_files.LARGE else tuple(trials)


def _trials_of(trials: Sequence[Trial], utts: Mapping[str, str]) -> Sequence[Trial]:
    """Those of some utterances."""
    return (
        trials.with_utterances(utts)
        if isinstance(trials, TrialRows)
        else tuple(trial for trial in trials if trial[1] in utts)
    )


def _line_of(path: Path, key: str) -> int | None:
    """The line of `key`, for an error message."""
    if not path.exists():
        return None
    return next((line for line, text in read_lines(path) if text.split(maxsplit=1)[0] == key), None)
