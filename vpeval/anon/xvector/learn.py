"""The preparation of B1: extract features in parallel, then learn synthesis and pool, unless they are up to date."""

from __future__ import annotations

import logging
import shutil
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, wait
from pathlib import Path

from vpeval.anon.xvector import system
from vpeval.core import processes
from vpeval.core.publish import claim
from vpeval.data.directory import DataDir
from vpeval.data.layout import read_places
from vpeval.jobs.stamps import STAMP, fingerprint, is_current, write_stamp
from vpeval.networks import compute

log = logging.getLogger(__name__)
_FEATURES = ".features-"
_REPORT_SECONDS = 20


def prepare(profile: system.Profile, train: Sequence[Path], pools: Sequence[Path], out: Path, nj: int) -> bool:
    """Learn synthesis from `train` and `pools` and keep the speakers of `pools`; False when that is done already.

    Interrupted, the next call goes on with the utterances whose features are missing.
    """
    sets = [DataDir.load(path) for path in (*train, *pools)]
    inputs = [*(data.path for data in sets), profile.path, profile.encoder]
    wanted = fingerprint(inputs, {"sets": [data.path for data in sets]}, [system.System])
    outputs = [out / system.POOL, out / system.PLDA, out / system.WEIGHTS]
    if is_current(out / STAMP, wanted, outputs):
        return False
    claim(
        out, [file.name for file in outputs], [*inputs, *(place for data in sets for place in read_places(data.path))]
    )
    features = out / f"{_FEATURES}{wanted.digest[:12]}"
    for stale in out.glob(f"{_FEATURES}*"):
        if stale != features:
            shutil.rmtree(stale)
    features.mkdir(parents=True, exist_ok=True)
    jobs = [(data.wav[utt], features / f"{utt}.npz") for data in sets for utt in data.utts]
    _extract_all(profile, jobs, nj)

    system.make_pool(sets[len(train) :], features).save(out / system.POOL)
    system.save_plda(sets, features, out / system.PLDA)
    examples = [example for data in sets for example in system.read_examples(data, features)]
    compute.set_up(nj)
    profile.backend.train(examples).save(out / system.WEIGHTS)
    write_stamp(out / STAMP, wanted, outputs)
    shutil.rmtree(features)
    return True


def _extract_all(profile: system.Profile, jobs: list[tuple[str, Path]], nj: int) -> None:
    # Spawned, not forked: threads of torch and CTranslate2 do not survive a fork.
    with processes.pool(nj, "spawn") as workers:
        parts = [
            workers.submit(system.extract_features, profile.path, jobs[start::nj])
            for start in range(min(nj, len(jobs)))
        ]
        while wait(parts, _REPORT_SECONDS, FIRST_EXCEPTION).not_done and not any(_failed(part) for part in parts):
            log.info("  features: %d of %d utterances", sum(out.exists() for _, out in jobs), len(jobs))
        for part in parts:
            part.result()


def _failed(part: Future[None]) -> bool:
    return part.done() and part.exception() is not None
