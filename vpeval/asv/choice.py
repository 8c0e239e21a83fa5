"""What an attacker that fine-tunes uses in the end: held-out training speakers have chosen (`vpeval.asv.fine_tuning`).

``choice.json`` is a part of its model, next to what was chosen.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import write_text

FILE = "choice.json"
BACKEND, FINE_TUNED, UNCHANGED = "backend", "fine-tuned", "unchanged"
WORDS = {
    BACKEND: "back end on the original encoder",
    FINE_TUNED: "fine-tuned encoder",
    UNCHANGED: "original encoder",
}
"""What there is to choose from; of equally good ones, the first."""


@dataclass(frozen=True)
class Choice:
    """What was chosen, and the EER of every candidate on training speakers that it has not seen.

    Without EERs there were too few speakers to hold any out. `epochs` are those of the fine-tuned encoder.
    """

    chosen: str
    speakers: int
    held_out: int = 0
    epochs: int = 0
    eers: Mapping[str, float] = field(default_factory=dict)

    def __str__(self) -> str:
        if not self.eers:
            return f"{WORDS[self.chosen]}: {self.speakers} training speakers are too few to hold some out and compare"
        others = ", ".join(f"{WORDS[name]} {100 * self.eers[name]:.1f} %" for name in WORDS if name != self.chosen)
        return (
            f"{WORDS[self.chosen]}: EER {100 * self.eers[self.chosen]:.1f} % of {self.held_out} held-out training "
            f"speakers ({others})"
        )


def write_choice(path: Path, choice: Choice) -> None:
    """Write a choice."""
    write_text(path, json.dumps(asdict(choice), indent=1) + "\n")


def read_choice(path: Path) -> Choice:
    """Read a choice; a file that holds none is an InputError."""
    try:
        found = Choice(**json.loads(path.read_text(encoding="utf-8")))
        if found.chosen not in WORDS or set(found.eers) not in (set(), set(WORDS)):
            raise ValueError
        str(found)
    except (TypeError, ValueError, RecursionError):
        raise InputError("holds no choice of an attacker; remove it and train again (stage 4)", path) from None
    return found
