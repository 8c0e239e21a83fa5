"""The exception for mistakes that a participant can fix, and the one for corpora that are too small to be measured."""

from __future__ import annotations

import re
from collections.abc import Iterable
from os import PathLike

_LINE_ENDS = re.compile("[\\n\\r\\v\\f\\x1c-\\x1e\\x85\\u2028\\u2029]")


def refuse_unknown(what: str, name: object, known: Iterable[object]) -> None:
    """Raise a ValueError for a name that is none of those there are: it must not pass for another one.

    >>> refuse_unknown("similarity", "euclid", ("cosine", "euclidean"))
    Traceback (most recent call last):
        ...
    ValueError: unknown similarity 'euclid'; there are cosine, euclidean
    """
    choices = list(known)
    if name not in choices:
        raise ValueError(f"unknown {what} {name!r}; there are {', '.join(map(str, choices))}")


class InputError(Exception):
    """Bad input: the message says what is wrong, where, and what to do.

    About a file it is one line, whatever the file holds.

    >>> str(InputError("utterance 'a-2' appears twice; keep one line", "data/x/utt2spk", 17))
    "data/x/utt2spk:17: utterance 'a-2' appears twice; keep one line"
    """

    exit_code = 1

    def __init__(self, message: str, path: str | PathLike[str] | None = None, line: int | None = None) -> None:
        if path is not None:
            place = f"{path}: " if line is None else f"{path}:{line}: "
            message = _LINE_ENDS.sub(lambda found: ascii(found[0])[1:-1], place + message)
        super().__init__(message)


class TooFew(InputError):
    """There are too few speakers or utterances to measure something, whatever anybody does; a run leaves it out."""
