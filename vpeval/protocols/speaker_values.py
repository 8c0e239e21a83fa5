"""Per-speaker values beside the records: ``<stem>.speakers.tsv``, one row per metric, speaker, N and L.

The first line names the columns. L is a number of utterances or ``all``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import NamedTuple

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.core.tables import read_rows, to_number
from vpeval.protocols.ranked_inputs import RankedInputs
from vpeval.records.record import Record, write_records


class SpeakerValue(NamedTuple):
    """One value of one speaker."""

    metric: str
    speaker: str
    N: int
    L: str
    value: float


_COLUMNS = list(SpeakerValue._fields)


@dataclass(frozen=True)
class Scores:
    """What a scorer found: the records, the values of single speakers that they are means of, and ranks."""

    records: list[Record]
    per_speaker: list[SpeakerValue]
    ranks: Sequence[float] = ()
    inputs: RankedInputs | None = None

    def write(
        self,
        out: str | PathLike[str],
        tags: Mapping[str, str],
        params: Mapping[str, str] | None = None,
        notes: Mapping[str, str] | None = None,
    ) -> None:
        """Write the records to `out` and the values beside it; the records name that file."""
        beside = Path(out).with_name(f"{Path(out).stem}.speakers.tsv")
        write_speaker_values(beside, self.per_speaker)
        files = {"per_speaker": beside.name}
        if self.ranks:
            histogram = Path(out).with_suffix(".ranks.json")
            write_text(histogram, json.dumps({"ranks": list(self.ranks)}) + "\n")
            files["ranks"] = histogram.name
        if self.inputs:
            ranked = Path(out).with_suffix(".inputs.npz")
            self.inputs.write(ranked)
            files["inputs"] = ranked.name
        told = [
            r.with_params(params or {}).with_notes(notes or {}).with_files(files).tagged(tags) for r in self.records
        ]
        write_records(out, told)


def write_speaker_values(path: str | PathLike[str], values: Iterable[SpeakerValue]) -> None:
    """Write the values in the order given, atomically."""
    rows = map("%s\t%s\t%s\t%s\t%s\n".__mod__, values)
    write_text(path, "".join(["\t".join(_COLUMNS), "\n", *rows]))


def read_speaker_values(path: str | PathLike[str]) -> list[SpeakerValue]:
    """Read the values; a line that does not parse is an error with its number."""
    rows = list(read_rows(path, *_COLUMNS))
    if not rows or rows[0][1] != _COLUMNS:
        raise InputError(f"the first line must be {' '.join(_COLUMNS)}; is this a .speakers.tsv file?", path, 1)
    values = []
    for line, (metric, speaker, n, n_utts, value) in rows[1:]:
        try:
            values.append(SpeakerValue(metric, speaker, int(to_number(n)), n_utts, to_number(value)))
        except ValueError:
            raise InputError(f"N '{n}' and value '{value}' must be numbers", path, line) from None
    return values
