"""Vectors that were made elsewhere, as embeddings of ours: ``DIR/<set>/embedding.scp`` for every set."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from vpeval.core.errors import InputError
from vpeval.core.publish import staged_directory
from vpeval.data.layout import name_some
from vpeval.embeddings.ark import Scp, read_scp
from vpeval.embeddings.collect import write_directory
from vpeval.jobs import batch
from vpeval.jobs.progress import log_skipped
from vpeval.jobs.rehearsal import rehearsing
from vpeval.jobs.stamps import STAMP, is_current, why, write_stamp

log = logging.getLogger(__name__)
NAMES = ("embedding.scp", "xvector.scp")


def take_embeddings(conf: Path, folder: Path, out: Path, data: Sequence[Path]) -> list[batch.Target]:
    """Bring ``<out>/<name of data directory>`` up to date; return what had to be taken again.

    Everything that is missing is told before anything is written.
    """
    found = {path: _find(folder / path.name) for path in data}
    if missing := [path.name for path, scp in found.items() if scp is None]:
        raise InputError(
            f"has no vectors of {len(missing)} of {len(data)} sets ({name_some(missing)}), which {conf} promises; put "
            f"<set>/{NAMES[0]} with its ark there for each of them",
            folder,
        )
    stale = []
    for path, scp in found.items():
        assert scp is not None
        index = read_scp(scp)
        inputs = [conf, scp, *map(Path, index.arks)]
        target = batch.target(path, out / path.name, inputs, [__name__])
        if rehearsal := rehearsing():
            rehearsal.consider(target.out, [target.out], why(target.out / STAMP, target.fingerprint, [target.out]))
        elif not is_current(target.out / STAMP, target.fingerprint, [target.out]):
            rows = _rows(target, index)
            stale.append((target, index, rows))
    log_skipped(log, 0 if rehearsing() else len(data) - len(stale), "sets of vectors made elsewhere")
    for target, index, rows in stale:
        with staged_directory(target.out, target.places) as new:
            write_directory(new, target.out, target.data.utt2spk, index.vectors(rows))
            write_stamp(new / STAMP, target.fingerprint, [new])
    return [target for target, _, _ in stale]


def _find(folder: Path) -> Path | None:
    return next((folder / name for name in NAMES if (folder / name).is_file()), None)


def _rows(target: batch.Target, index: Scp) -> np.ndarray:
    """The line of every utterance of the set; vectors of others are nobody's business."""
    place = {utt: line for line, utt in enumerate(index.keys)}
    if lacking := [utt for utt in target.data.utts if utt not in place]:
        count = f"{len(lacking)} of {len(target.data.utts)} utterances of {target.source}"
        raise InputError(f"has no vectors of {count} ({name_some(lacking)})", index.path)
    return np.array([place[utt] for utt in target.data.utts])
