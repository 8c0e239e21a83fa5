"""Embeddings of data directories: by an encoder, as a batch of jobs, or from vectors that were made elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.lazy import Deferred
from vpeval.core.models import find_model
from vpeval.core.publish import staged_directory
from vpeval.data.layout import first_few
from vpeval.embeddings.ark import read_scp
from vpeval.embeddings.speaker_vectors import write_directory
from vpeval.jobs import batch
from vpeval.jobs.code import Maker
from vpeval.jobs.dry_run import current_dry_run
from vpeval.jobs.progress import log_skipped
from vpeval.jobs.shards import Shards
from vpeval.jobs.stamps import STAMP, is_current, why, write_stamp
from vpeval.networks.configs import config_files, embeddings_directory, encoder_makers, jobs_per_gpu, stored_model
from vpeval.networks.encoders import stack_results

log = logging.getLogger(__name__)
_EMBEDDER = Deferred("vpeval.networks.encoders", "Embedder")
_NAMES = ("embedding.scp", "xvector.scp")


def extract_embeddings(conf: Path, out: Path, data: Sequence[Path], cmd: str, nj: int) -> list[batch.Target]:
    """Bring ``<out>/<name of data directory>`` up to date for all directories; return those that had work to do."""
    if source := embeddings_directory(conf):
        return _import_embeddings(conf, source, out, data)
    makers: list[Maker] = [_EMBEDDER, write_directory, *encoder_makers(conf)]
    files, model = config_files(conf), stored_model(conf)
    hashes = dict(find_model(model).files) if model else {}
    targets = [batch.target(path, out / path.name, files, makers, model=hashes) for path in data]
    command = batch.one_command("steps/extract_embeddings.py", "--cmd", cmd, "--nj", str(nj), str(conf), str(out))
    task = replace(vector_task(_EMBEDDER, str(conf)), commands=command, jobs_per_gpu=jobs_per_gpu(conf))
    return batch.run(task, targets, cmd, nj, out / "log")


def vector_task(worker: Deferred | tuple[str, ...], *arguments: str) -> batch.Task:
    """A task that makes embedding directories of packed vectors, whichever worker gives them."""
    return batch.Task("extract_embeddings", worker, _collect, arguments)


def _collect(target: batch.Target, shards: Shards) -> None:
    """Collect the vectors in one archive, the means of speakers in another, and symbols in a file of their own."""
    vectors, symbols = stack_results(target.data.utts, shards.results(), target.out)
    write_directory(target.new, target.out, target.data.utt2spk, vectors)
    if symbols:
        symbols.write(target.new)


def _import_embeddings(conf: Path, source: Path, out: Path, data: Sequence[Path]) -> list[batch.Target]:
    """Do the same with vectors made elsewhere; all missing sets are listed before anything is written."""
    found = {path: _find_scp(source / path.name) for path in data}
    if missing := [path.name for path, scp in found.items() if scp is None]:
        raise InputError(
            f"has no vectors of {len(missing)} of {len(data)} sets ({first_few(missing)}), which {conf} promises; put "
            f"<set>/{_NAMES[0]} with its ark there for each of them",
            source,
        )
    stale = []
    for path, scp in found.items():
        assert scp is not None
        index = read_scp(scp)
        target = batch.target(path, out / path.name, [conf, scp, *map(Path, index.arks)], [read_scp, write_directory])
        if dry_run := current_dry_run():
            dry_run.consider(target.out, [target.out], why(target.out / STAMP, target.fingerprint, [target.out]))
        elif not is_current(target.out / STAMP, target.fingerprint, [target.out]):
            stale.append((target, index, index.lines(target.data.utts, target.source)))
    log_skipped(log, 0 if current_dry_run() else len(data) - len(stale), "sets of vectors made elsewhere")
    for target, index, lines in stale:
        with staged_directory(target.out, target.places) as new:
            write_directory(new, target.out, target.data.utt2spk, index.vectors(lines))
            write_stamp(new / STAMP, target.fingerprint, [new])
    return [target for target, _, _ in stale]


def _find_scp(directory: Path) -> Path | None:
    return next((directory / name for name in _NAMES if (directory / name).is_file()), None)
