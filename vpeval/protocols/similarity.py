"""Voice similarity of the utterances of a set, original and anonymised: matrices, G_VD and DeID by both estimators."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

import numpy as np

from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.metrics.scores import Floats
from vpeval.metrics.similarity import CONDITIONS, voice_similarity
from vpeval.records.record import Record

MODES = ("full", "vpc")
"""All pairs of utterances count, or those that the challenges' estimator takes."""


class Pairs(Protocol):
    """Scored pairs of the utterances of speakers, original and anonymised."""

    @property
    def names(self) -> list[str]:
        """The speakers."""

    def matrices(self, condition: str, modes: tuple[str, ...]) -> list[Floats]:
        """The similarity matrix of a condition in each of the modes."""


def score_similarity(
    data: Pairs,
    modes: tuple[str, ...],
    out: Path,
    resamples: int,
    seed: int,
    sources: Mapping[str, object] | None = None,
) -> list[Record]:
    """The records of every mode; the matrices go to a file beside `out`. `sources` are what complaints point to."""
    found = {name: _matrices(data, name, modes, (sources or {}).get(name, out)) for name in CONDITIONS}
    records = []
    for place, mode in enumerate(modes):
        matrices = {name: found[name][place] for name in CONDITIONS}
        # One file for a single mode, as people call the scorer; else each mode has its own.
        file = out.with_suffix(".matrices.json" if len(modes) == 1 else f".matrices_{mode}.json")
        write_text(file, _matrices_json(data.names, matrices))
        told = {"calibration": "Laplace PAV"}
        for record in voice_similarity(matrices, resamples, seed):
            records.append(record.with_params({"mode": mode}).with_notes(told).with_files({"matrices": file.name}))
    return records


def _matrices(data: Pairs, condition: str, modes: tuple[str, ...], source: object) -> list[Floats]:
    try:
        matrices = data.matrices(condition, modes)
    except InputError as error:
        raise InputError(str(error), str(source)) from None
    if single := [data.names[i] for i in np.flatnonzero(np.isnan(np.diag(matrices[0])))]:
        logging.warning(f"{source}: left out of the diagonal, for want of a second utterance: {' '.join(single)}")
    return matrices


def _matrices_json(speakers: Sequence[str], matrices: Mapping[str, Floats]) -> str:
    """Speakers and matrices, row by row; JSON has no NaN, so an empty cell is null."""
    cells = {
        name: [[None if np.isnan(cell) else cell for cell in row] for row in matrix.tolist()]
        for name, matrix in matrices.items()
    }
    return json.dumps({"speakers": list(speakers), **cells}, ensure_ascii=False, allow_nan=False) + "\n"
