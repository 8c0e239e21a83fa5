"""An embedding directory as stage 5 makes it: the vectors of utterances, their speakers, and the means of those."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from vpeval.core.tables import write_table
from vpeval.embeddings.ark import write_rows, write_vectors
from vpeval.embeddings.directory import group_rows


def write_directory(new: Path, home: Path, utt2spk: Mapping[str, str], vectors: np.ndarray) -> None:
    """Write row i of `vectors`, of utterance i, to `new`, which will be called `home`; and the means of speakers."""
    utts = list(utt2spk)
    write_rows(new, utts, vectors, home=home)
    write_table(new / "utt2spk", utt2spk)
    grouped = group_rows(new, utts, list(utt2spk.values()), vectors)
    means = grouped.means(np.arange(len(grouped.speakers)))
    write_vectors(new, dict(zip(grouped.speakers, means, strict=True)), name="spk_mean", home=home)
    counts = zip(grouped.speakers, grouped.counts, strict=True)
    write_table(new / "num_utts", {spk: str(count) for spk, count in counts})
