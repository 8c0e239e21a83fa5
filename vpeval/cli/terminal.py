"""Output to a terminal or a log file: nothing is lost, and no control character of the data reaches it."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO, cast

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but for line ends and tabs, marks that turn the direction of text, and halves of characters."""


def plain(text: str) -> str:
    r"""`text` with every control character written out.

    >>> print(plain("a\x1b[2J-1 \u202e"))
    a\x1b[2J-1 \u202e
    """
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode("ascii"), text)


class _Plain:
    """A stream that writes control characters out: names in data must not move the cursor or hide what follows."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> int:
        return self._stream.write(plain(text))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@contextmanager
def plain_streams() -> Iterator[None]:
    """Have all that is printed meanwhile go through `plain`."""
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = (cast(TextIO, _Plain(stream)) for stream in before)
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


class LogHandler(logging.StreamHandler[TextIO]):
    """Writes what the library logs; where that cannot be written, the program ends with an error."""

    def format(self, record: logging.LogRecord) -> str:
        """The message, without a carriage return that would hide its beginning."""
        return super().format(record).replace("\r", r"\r")

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 (the name is that of logging)
        """Let the error of writing end the program."""
        raise


def closed_stream() -> str:
    """Which of the standard streams is closed, so that output would be lost or end up in another file; or ""."""
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)  # takes the free number, which some file would get otherwise
    return "standard output" if sys.stdout is None else "standard error" if sys.stderr is None else ""
