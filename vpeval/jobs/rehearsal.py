"""A rehearsal: steps are looked at instead of made, so that a person sees what a run would do, and why.

While one is on, whatever would make something reports to it instead. What a step would make counts as changed from then
on: steps that depend on it would be made as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Rehearsal:
    """What would be made: `coming` are the places of it, `waiting` what was found since somebody asked."""

    coming: set[Path] = field(default_factory=set)
    waiting: list[tuple[Path, str]] = field(default_factory=list)
    current: int = 0
    is_blind: bool = False
    """Whether something could not be looked at, as it depends on what is not there yet: so may anything missing."""

    def consider(self, out: Path, outputs: Iterable[Path], reason: str) -> None:
        """Note a step: why it would be made, or an empty word."""
        if not reason:
            self.current += 1
            return
        self.waiting.append((out, reason))
        self.coming.update(map(_place, (out, *outputs)))

    def expects(self, path: Path) -> bool:
        """Whether `path` would be there, or be another, by then."""
        place = _place(path)
        if self.is_blind and not place.exists():
            return True
        return any(one == place or one in place.parents for one in self.coming)

    def report(self) -> tuple[dict[str, list[Path]], int]:
        """What was considered since the last report: places by reasons, and how many steps are up to date."""
        reasons: dict[str, list[Path]] = {}
        for out, reason in self.waiting:
            reasons.setdefault(reason, []).append(out)
        current, self.current, self.waiting = self.current, 0, []
        return reasons, current


_rehearsal: ContextVar[Rehearsal | None] = ContextVar("rehearsal", default=None)


def rehearsing() -> Rehearsal | None:
    """The rehearsal that is on."""
    return _rehearsal.get()


@contextmanager
def rehearsal() -> Iterator[Rehearsal]:
    """Look instead of making, for as long as this lasts."""
    token = _rehearsal.set(found := Rehearsal())
    try:
        yield found
    finally:
        _rehearsal.reset(token)


def _place(path: Path) -> Path:
    return Path(os.path.normpath(Path.cwd() / path))
