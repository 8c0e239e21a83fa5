"""What the preparation of sets takes and gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from vpeval.corpora.convert import bring_to_16khz
from vpeval.corpora.lists import Lists
from vpeval.corpora.protocol import Status
from vpeval.corpora.utterances import Utterance, to_data
from vpeval.data.directory import DataDir, Trial


@dataclass(frozen=True)
class Request:
    """From which folder of corpora to make sets, below which folder, with which seed and official lists."""

    corpus: Path
    data: Path
    seed: int = 0
    lists: Lists | None = None

    def bring(self, utterances: Iterable[Utterance], corpus: str) -> list[Utterance]:
        """Utterances with audio at 16 kHz and with durations."""
        return bring_to_16khz(utterances, self.data / "local" / corpus)


@dataclass(frozen=True)
class Made:
    """A set in memory and what it rests on."""

    data: DataDir
    status: Status


def made_of(
    request: Request,
    name: str,
    utterances: Iterable[Utterance],
    status: Status,
    enrolls: Iterable[str] | None = None,
    trials: Iterable[Trial] | None = None,
) -> Made:
    """A set of utterances whose audio has been brought to 16 kHz."""
    data = to_data(utterances, request.data / name)
    return Made(
        replace(
            data,
            enrolls=None if enrolls is None else tuple(sorted(enrolls)),
            trials=None if trials is None else tuple(sorted(trials)),
        ),
        status,
    )
