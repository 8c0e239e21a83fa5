"""Which files a data directory holds, and what a line of each looks like."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import Path

from vpeval.core.files import is_pipe, to_number

_UTT_TABLE = re.compile(r"wav\.scp|text|feats\.scp|vad\.scp|utt2(?!spk$)[a-z0-9_]+")
_SPK_TABLE = re.compile(r"cmvn\.scp|spk2(?!utt$)[a-z0-9_]+")
_SPLIT = re.compile(r"split[0-9]+(utt)?")

_OLDEST = 130
_NO_ATTRIBUTES = ("spk2fold", "spk2warp", "spk2num_utts", "spk2seed")

LONGEST_ID = 200
"""Characters of an id: a file name has 255, of which suffixes and the names of unfinished files need some."""

UNKNOWN = "unknown"
"""The value of an attribute that is not known."""

LABELS = ("target", "nontarget")
GENDERS = ("f", "m")

# The fields of files that have a fixed number of them.
FIELDS: dict[str, tuple[str, ...]] = {
    "utt2spk": ("utterance", "speaker"),
    "spk2gender": ("speaker", "f|m"),
    "spk2fold": ("speaker", "fold"),
    "utt2dur": ("utterance", "seconds"),
    "utt2emo": ("utterance", "emotion"),
    "utt2lang": ("utterance", "language"),
    "utt2num_frames": ("utterance", "frames"),
    "utt2seed": ("utterance", "seed"),
    "utt2session": ("utterance", "session"),
    "utt2uniq": ("utterance", "original utterance"),
    "enrolls": ("utterance",),
    "trials": ("enrolment speaker", "utterance", "target|nontarget"),
}


def is_utt_table(name: str) -> bool:
    """Whether file `name` has one line per utterance (utt2spk apart)."""
    return _UTT_TABLE.fullmatch(name) is not None


def is_spk_table(name: str) -> bool:
    """Whether file `name` has one line per speaker (spk2utt apart)."""
    return _SPK_TABLE.fullmatch(name) is not None


def is_attribute(name: str) -> bool:
    """Whether file `name` is an attribute of the speakers: spk2gender, spk2age, spk2accent …

    >>> is_attribute("spk2accent"), is_attribute("spk2utt"), is_attribute("spk2fold")
    (True, False, False)
    """
    return is_spk_table(name) and name.startswith("spk2") and name not in _NO_ATTRIBUTES


def is_number(value: str) -> bool:
    """Whether a value is a finite number."""
    try:
        return math.isfinite(to_number(value))
    except ValueError:
        return False


def unexpected_words(values: Mapping[str, str]) -> list[str]:
    """Whose values are words in a table of an attribute that has more numbers than words."""
    known = {key: value for key, value in values.items() if value != UNKNOWN}
    words = [key for key, value in known.items() if not is_number(value)]
    return words if len(words) < len(known) / 2 else []


def is_age(value: str) -> bool:
    """Whether a value of spk2age can be one: years, or a word such as ``twenties``."""
    return not is_number(value) or 0 <= float(value) <= _OLDEST


def table_key(name: str) -> str:
    """What file `name` is a table of: "utterance" or "speaker"."""
    if is_utt_table(name):
        return "utterance"
    if is_spk_table(name):
        return "speaker"
    raise ValueError(f"{name} is not a table of a data directory")


def is_split(name: str) -> bool:
    """Whether `name` is that of a directory made by utils/split_data.py."""
    return _SPLIT.fullmatch(name) is not None


def is_data_file(name: str) -> bool:
    """Whether file `name` belongs to a data directory."""
    return name in ("utt2spk", "spk2utt", "enrolls", "trials") or is_utt_table(name) or is_spk_table(name)


def is_expendable(name: str) -> bool:
    """Whether `name` may go when a data directory of ours is replaced: a table that was added, a split, a backup."""
    return is_data_file(name) or is_split(name) or name == ".backup"


def present(directory: Path) -> list[str]:
    """Names of the data files in `directory`, sorted."""
    return sorted(entry.name for entry in directory.iterdir() if entry.is_file() and is_data_file(entry.name))


def irregular(directory: Path) -> dict[Path, str]:
    """What has the name of a data file in `directory` and is none, and what it is; `present` passes over it."""
    odd = [path for path in sorted(directory.iterdir()) if is_data_file(path.name) and not path.is_file()]
    return {path: _kind_of(path) for path in odd}


def _kind_of(path: Path) -> str:
    if path.is_symlink() and not path.exists():
        return f"a link to {path.readlink()}, which is not there"
    return "a directory" if path.is_dir() else "no regular file"


def is_duration(value: str) -> bool:
    """Whether a value of utt2dur is a positive number of seconds."""
    try:
        return 0 < float(value) < math.inf
    except ValueError:
        return False


# What a value must be beyond not being empty, and how to say so.
VALUE_RULES: dict[str, tuple[Callable[[str], bool], str]] = {
    "utt2dur": (is_duration, "a positive number of seconds"),
    "spk2gender": (GENDERS.__contains__, "f or m"),
    "spk2age": (is_age, f"an age in years, a word for one, or {UNKNOWN}"),
}


def is_safe_id(word: str) -> bool:
    r"""Whether an id can be part of a file name and of a command: it is no path, no option, and steers no terminal.

    >>> [is_safe_id(word) for word in ("p225-001", "spk.a_b", "../x", "-rf", ".x", "a..b", "a\x1b", 201 * "a")]
    [True, True, False, False, False, False, False, False]
    """
    plain = not word.startswith(("-", ".")) and "/" not in word and ".." not in word and word.isprintable()
    return plain and len(word.encode()) <= LONGEST_ID


def first_few(ids: Iterable[str], limit: int = 3) -> str:
    """A few of `ids` for a message.

    >>> first_few(["a-1", "a-2", "a-3", "a-4", "a-5"])
    'a-1, a-2, a-3 and 2 more'
    """
    rest = iter(ids)
    shown = ", ".join(islice(rest, limit))
    more = sum(1 for _ in rest)
    return f"{shown} and {more} more" if more else shown


def read_places(source: Path) -> list[Path]:
    """One audio file of every directory that holds audio of data directory `source`.

    Of a pipe, the words that name files count.
    """
    path = source / "wav.scp"
    found: dict[str, Path] = {}
    for line in path.read_text(encoding="utf-8", errors="replace").splitlines() if path.is_file() else ():
        entry = line.partition(" ")[2].strip()
        for word in entry.split() if is_pipe(entry) else [entry]:
            directory, separator, _ = word.rpartition(os.sep)
            if separator and directory not in found:
                found[directory] = Path(word)
    return [place for place in found.values() if place.exists()]
