"""Embeddings of data directories by an encoder, as a batch of jobs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vpeval.asv.kinds import encoder_code, encoder_files, foreign_of, model_of
from vpeval.core.errors import InputError
from vpeval.core.models import find_model
from vpeval.embeddings.collect import write_directory
from vpeval.embeddings.foreign import take_embeddings
from vpeval.jobs import batch
from vpeval.jobs.pieces import Pieces

log = logging.getLogger(__name__)
_ROOT = Path(__file__).resolve().parents[2]
_WORKER = "steps/jobs/embed.py"


def extract_embeddings(conf: Path, out: Path, data: Sequence[Path], cmd: str, nj: int) -> list[batch.Target]:
    """Bring ``<out>/<name of data directory>`` up to date for all directories; return those that had work to do."""
    if folder := foreign_of(conf):
        return take_embeddings(conf, folder, out, data)
    files, code = encoder_files(conf), [_WORKER, __name__, *encoder_code(conf)]
    model = model_of(conf)
    hashes = dict(find_model(model).files) if model else {}
    targets = [batch.target(path, out / path.name, files, code, model=hashes) for path in data]
    return batch.run(vector_task(str(_ROOT / _WORKER), str(conf)), targets, cmd, nj, out / "log")


def vector_task(*worker: str) -> batch.Task:
    """What gives embedding directories, whatever the vectors are made by."""
    return batch.Task("extract_embeddings", worker, _collect)


def pack_vector(vector: np.ndarray) -> bytes:
    """A vector as the result of an utterance: its type in three characters, then its numbers."""
    return vector.dtype.str.encode() + vector.tobytes()


def _stack(target: batch.Target, pieces: Pieces) -> np.ndarray:
    """The vectors of all utterances, a row each."""
    place = {utt: row for row, utt in enumerate(target.data.utts)}
    rows: np.ndarray | None = None
    for utt, result in pieces.results():
        vector = np.frombuffer(result[3:], str(result[:3], "ascii"))
        if rows is None:
            rows = np.empty((len(place), len(vector)), vector.dtype)
        if (vector.dtype, vector.shape) != (rows.dtype, rows.shape[1:]):
            message = f"the encoder gave {len(vector)} numbers for utterance {utt} and {rows.shape[1]} for others"
            raise InputError(f"{message}; it must give vectors of one kind", target.out)
        rows[place[utt]] = vector
    assert rows is not None, "a data directory has utterances"
    if len(rows) > 1 and (rows[1] == rows[0]).all() and (rows == rows[0]).all():
        log.warning(
            "%s: WARNING: all vectors are the same, so that nobody can be told from anybody; is the output of the "
            "anonymiser always the same?",
            target.out,
        )
    return rows


def _collect(target: batch.Target, pieces: Pieces) -> None:
    """Collect the vectors in one archive, and the means of speakers in another."""
    write_directory(target.new, target.out, target.data.utt2spk, _stack(target, pieces))
