"""Embeddings of data directories by an encoder, as a batch of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vpeval.asv.attackers import encoder_files
from vpeval.core.errors import InputError
from vpeval.core.tables import write_table
from vpeval.embeddings.ark import write_rows, write_vectors
from vpeval.embeddings.directory import group_rows
from vpeval.jobs import batch
from vpeval.jobs.pieces import Pieces

_ROOT = Path(__file__).resolve().parents[2]
_WORKER = "steps/jobs/embed.py"


def extract_embeddings(conf: Path, out: Path, data: Sequence[Path], cmd: str, nj: int) -> list[batch.Target]:
    """Bring ``<out>/<name of data directory>`` up to date for all directories; return those that had work to do."""
    inputs = [*encoder_files(conf), _ROOT / "conf/models.yaml"]
    targets = [batch.target(path, out / path.name, inputs, [_WORKER, __name__]) for path in data]
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
    return rows


def _collect(target: batch.Target, pieces: Pieces) -> None:
    """Collect the vectors in one archive, and the means of speakers in another."""
    utts, vectors = target.data.utts, _stack(target, pieces)
    write_rows(target.new, utts, vectors, home=target.out)
    write_table(target.new / "utt2spk", target.data.utt2spk)
    grouped = group_rows(target.new, utts, list(target.data.utt2spk.values()), vectors)
    means = grouped.means(np.arange(len(grouped.speakers)))
    write_vectors(target.new, dict(zip(grouped.speakers, means, strict=True)), name="spk_mean", home=target.out)
    counts = zip(grouped.speakers, grouped.counts, strict=True)
    write_table(target.new / "num_utts", {spk: str(count) for spk, count in counts})
