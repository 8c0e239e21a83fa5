"""A dry run: a person sees what a run would do, and why, and nothing is made.

While one is on, everything that would make a result reports to it instead. What a step would make counts as changed
from then on, so that the steps that depend on it are reported as well.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class DryRun:
    """What would be made: `coming` are the paths of all of it, `waiting` what was found since the last report."""

    coming: set[Path] = field(default_factory=set)
    waiting: list[tuple[Path, str]] = field(default_factory=list)
    current: int = 0
    is_blind: bool = False
    """Whether something could not be checked because it depends on missing files: any missing file may then appear."""

    def consider(self, out: Path, outputs: Iterable[Path], reason: str) -> None:
        """Add a step and why it would be made; an empty reason for one that is up to date."""
        if not reason:
            self.current += 1
            return
        self.waiting.append((out, reason))
        self.coming.update(map(_absolute, (out, *outputs)))

    def expects(self, path: Path) -> bool:
        """Whether the run would create or change `path`."""
        place = _absolute(path)
        if self.is_blind and not place.exists():
            return True
        return any(one == place or one in place.parents for one in self.coming)

    def report(self) -> tuple[dict[str, list[Path]], int]:
        """The steps since the last report: paths by reasons, and how many steps are up to date."""
        reasons: dict[str, list[Path]] = {}
        for out, reason in self.waiting:
            reasons.setdefault(reason, []).append(out)
        current, self.current, self.waiting = self.current, 0, []
        return reasons, current


_dry_run: ContextVar[DryRun | None] = ContextVar("dry_run", default=None)


def current_dry_run() -> DryRun | None:
    """The dry run that is on."""
    return _dry_run.get()


@contextmanager
def dry_run() -> Iterator[DryRun]:
    """Report instead of making, inside this context."""
    token = _dry_run.set(found := DryRun())
    try:
        yield found
    finally:
        _dry_run.reset(token)


def _absolute(path: Path) -> Path:
    return Path(os.path.normpath(Path.cwd() / path))
