"""What a stage took: time, CPU time and the memory of its largest process, noted beside the results of a run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from vpeval.core.files import write_text

FILE = "usage.json"


@dataclass(frozen=True)
class Usage:
    """Seconds by the clock and of all its processes together, and megabytes of the largest of them."""

    number: int
    stage: str
    seconds: float
    cpu_seconds: float
    megabytes: float

    def __str__(self) -> str:
        """One line.

        >>> print(Usage(5, "embeddings", 75.2, 130.0, 812.4))
        stage  5 embeddings          1:15  CPU     2:10     812 MB
        """
        times = f"{_clock(self.seconds):>8}  CPU {_clock(self.cpu_seconds):>8}"
        return f"stage {self.number:>2} {self.stage:<15} {times} {self.megabytes:>7.0f} MB"

    @property
    def words(self) -> tuple[str, ...]:
        """The same for a table."""
        times = (_clock(self.seconds), _clock(self.cpu_seconds))
        return f"{self.number} {self.stage}", *times, f"{self.megabytes:.0f} MB"


def read_usage(run: Path) -> list[Usage]:
    """What is known of the stages of a run, in their order; nothing where nobody noted it."""
    try:
        return [Usage(**entry) for entry in json.loads((run / FILE).read_text(encoding="utf-8"))]
    except (OSError, ValueError, TypeError):
        return []


def note_usage(run: Path, used: Sequence[Usage]) -> None:
    """Note what stages took; of a stage that found most of its work done, the call that did more is remembered."""
    known = {usage.number: usage for usage in read_usage(run)}
    for usage in used:
        if usage.number not in known or usage.cpu_seconds >= known[usage.number].cpu_seconds:
            known[usage.number] = usage
    write_text(run / FILE, json.dumps([asdict(known[number]) for number in sorted(known)], indent=0) + "\n")


def _clock(seconds: float) -> str:
    """Hours, minutes and seconds, as far as they are needed.

    >>> [_clock(s) for s in (0.04, 7.26, 75.2, 7391.0)]
    ['0.0 s', '7.3 s', '1:15', '2:03:11']
    """
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
