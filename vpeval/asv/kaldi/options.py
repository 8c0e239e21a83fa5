"""Kaldi's option files (``mfcc.conf``, ``vad.conf``): lines of ``--name=value``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from vpeval.core.errors import InputError
from vpeval.core.tables import read_lines

_TRUTH = {"true": True, "t": True, "false": False, "f": False}


def read_options(path: Path, known: Mapping[str, type], ignored: frozenset[str] = frozenset()) -> dict[str, Any]:
    """The options of a file by name, of the types of `known`; those of `ignored` change nothing here."""
    options: dict[str, Any] = {}
    for number, line in read_lines(path, blanks=True):
        text = line.partition("#")[0].strip()
        if not text:
            continue
        name, equals, value = text.partition("=")
        name = name.strip().removeprefix("--").replace("_", "-")
        if not text.startswith("--") or (name not in known and name not in ignored):
            there = ", ".join(f"--{option}" for option in known)
            raise InputError(f"'{text}' is no known option; there are {there}", path, number)
        if name in ignored:
            continue
        try:
            options[name] = _value(known[name], value.strip() if equals else "true")
        except (ValueError, KeyError):
            raise InputError(f"'{value}' is no {known[name].__name__} for --{name}", path, number) from None
    return options


def _value(kind: type, text: str) -> Any:
    return _TRUTH[text.lower()] if kind is bool else kind(text)
