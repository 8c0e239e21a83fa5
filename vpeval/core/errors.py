"""The one exception for mistakes that a participant can fix."""

from __future__ import annotations

from os import PathLike


class InputError(Exception):
    """Bad input: the message says what is wrong, where, and what to do.

    >>> str(InputError("utterance 'a-2' appears twice; keep one line", "data/x/utt2spk", 17))
    "data/x/utt2spk:17: utterance 'a-2' appears twice; keep one line"
    """

    def __init__(self, message: str, path: str | PathLike[str] | None = None, line: int | None = None) -> None:
        place = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(place + message)
