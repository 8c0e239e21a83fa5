"""What a job asks for: memory and time, written as Slurm writes them."""

from __future__ import annotations

import re

from vpeval.core.errors import InputError

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def parse_memory(text: str) -> int:
    """Bytes of a ``--mem``; a bare number is megabytes.

    >>> parse_memory("4G") == 4 << 30, parse_memory("500") == parse_memory("500M")
    (True, True)
    """
    match = re.fullmatch(r"([0-9]+)([KMGT]?)B?", text.upper())
    if not match or not int(match[1]):
        raise InputError(f"--mem {text}: expected a number with K, M, G or T, such as 4G")
    return int(match[1]) * _UNITS[match[2] or "M"]


def parse_time(text: str) -> int:
    """Seconds of a ``--time``: minutes, minutes:seconds, hours:minutes:seconds, or days-hours and on.

    >>> parse_time("90"), parse_time("1:30"), parse_time("2:00:00"), parse_time("1-12"), parse_time("1-0:30")
    (5400, 90, 7200, 129600, 88200)
    """
    match = re.fullmatch(r"(?:([0-9]+)-)?([0-9]+)(?::([0-9]+))?(?::([0-9]+))?", text)
    if not match:
        raise InputError(f"--time {text}: expected minutes, hours:minutes:seconds or days-hours:minutes:seconds")
    days, *parts = match.groups()
    numbers = [int(part) for part in parts if part is not None]
    # Without days, the last number of two or three is seconds, and one alone is minutes.
    units = (3600, 60, 1)[0 if days is not None or len(numbers) == 3 else 1 :]
    seconds = 86400 * int(days or 0) + sum(number * unit for number, unit in zip(numbers, units, strict=False))
    if not seconds:
        raise InputError(f"--time {text}: a job needs more than no time at all")
    return seconds
