"""Which sets of a recipe follow an official protocol, and which were rebuilt: ``data/<recipe>.protocol``.

One line a set: ``<set> official|rebuilt|whole|absent [why]``. *official*: to the line as the organisers' lists have
it; *rebuilt*: drawn by us by the same rule; *whole*: all there is of a corpus, so that nothing was drawn; *absent*:
could not be made, and what needs it is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import read_table, write_table

OFFICIAL, REBUILT, WHOLE, ABSENT = "official", "rebuilt", "whole", "absent"


@dataclass(frozen=True)
class Status:
    """The protocol of a set, and why."""

    protocol: str
    why: str = ""


def protocol_file(data: Path, recipe: str) -> Path:
    """Where the protocol of a recipe is noted."""
    return data / f"{recipe}.protocol"


def write_protocol(data: Path, recipe: str, statuses: Mapping[str, Status]) -> None:
    """Note the protocol of every set."""
    lines = {name: f"{status.protocol} {' '.join(status.why.split())}".strip() for name, status in statuses.items()}
    write_table(protocol_file(data, recipe), lines)


def read_protocol(data: Path, recipe: str) -> dict[str, Status]:
    """The protocol of every set; empty for recipes whose preparation does not note it."""
    path = protocol_file(data, recipe)
    if not path.is_file():
        return {}
    statuses = {}
    for name, value in read_table(path, "protocol").items():
        protocol, _, why = value.partition(" ")
        if protocol not in (OFFICIAL, REBUILT, WHOLE, ABSENT):
            raise InputError(f"'{protocol}' of set {name} is not a protocol; run stage 0 again", path)
        statuses[name] = Status(protocol, why)
    return statuses
