"""Embeddings of data directories by an encoder, as a batch of jobs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vpeval.asv.attackers import encoder_files
from vpeval.core.tables import write_table
from vpeval.embeddings.ark import write_vectors
from vpeval.embeddings.directory import group
from vpeval.jobs import batch

_ROOT = Path(__file__).resolve().parents[2]
_WORKER = "steps/jobs/embed.py"


def extract_embeddings(conf: Path, out: Path, data: Sequence[Path], cmd: str, nj: int) -> list[batch.Target]:
    """Bring ``<out>/<name of data directory>`` up to date for all directories; return those that had work to do."""
    inputs = [*encoder_files(conf), _ROOT / "conf/models.yaml"]
    targets = [batch.target(path, out / path.name, inputs, [_WORKER, __name__]) for path in data]
    task = batch.Task("extract_embeddings", (str(_ROOT / _WORKER), str(conf)), ".npy", _collect)
    return batch.run(task, targets, cmd, nj, out / "log")


def _collect(target: batch.Target, parts: Path) -> None:
    """Collect the vectors in one archive, and the means of speakers in another."""
    vectors = {utt: np.load(parts / f"{utt}.npy", allow_pickle=False) for utt in target.data.utts}
    write_vectors(target.new, vectors, home=target.out)
    write_table(target.new / "utt2spk", target.data.utt2spk)
    grouped = group(target.new, vectors, target.data.utt2spk)
    means = grouped.means(np.arange(len(grouped.speakers)))
    write_vectors(target.new, dict(zip(grouped.speakers, means, strict=True)), name="spk_mean", home=target.out)
    counts = zip(grouped.speakers, grouped.counts, strict=True)
    write_table(target.new / "num_utts", {spk: str(count) for spk, count in counts})
