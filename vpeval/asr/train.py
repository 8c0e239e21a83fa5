"""Train a recogniser on data directories, by a job."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.files import locked
from vpeval.core.publish import refuse_target
from vpeval.data.layout import read_places
from vpeval.jobs.command import FREE_MEMORY_SELDOM, run_command
from vpeval.jobs.progress import log_skipped
from vpeval.jobs.rehearsal import rehearsing
from vpeval.jobs.stamps import STAMP, Fingerprint, fingerprint, is_current, why

log = logging.getLogger(__name__)
_ROOT = Path(__file__).resolve().parents[2]
JOB = "steps/jobs/train_asr.py"


def made_from_what(conf: Path, data: Sequence[Path], seed: int) -> Fingerprint:
    """What a recogniser is made from."""
    return fingerprint([conf, *data], {"seed": seed}, [JOB])


def places(conf: Path, data: Sequence[Path]) -> list[Path]:
    """Everything that is read, which the output must not touch."""
    return [conf, *data, *(place for directory in data for place in read_places(directory))]


def train_recogniser(conf: Path, out: Path, data: Sequence[Path], cmd: str, seed: int, threads: int = 1) -> None:
    """Make `out`, with the recogniser and its decode.yaml, unless it is up to date."""
    if rehearsal := rehearsing():
        rehearsal.consider(out, [out], why(out / STAMP, made_from_what(conf, data, seed), [out]))
        return
    if not conf.is_file():
        raise InputError(f"no such configuration; see those in {conf.parent}", conf)
    for directory in data:
        for name in ("wav.scp", "text", "utt2dur"):
            if not (directory / name).is_file():
                raise InputError("no such file; training needs it", directory / name)
    refuse_target(out, places(conf, data))
    with locked(out.with_name(f".{out.name}.lock"), str(out)):
        if is_current(out / STAMP, made_from_what(conf, data, seed), [out]):
            log_skipped(log, 1, "recognisers")
            return
        command = [str(_ROOT / JOB), "--seed", str(seed), "--num-threads", str(threads), *map(str, (conf, out, *data))]
        run_command(cmd, out.parent / "log" / f"train_{out.name}.log", command, threads, FREE_MEMORY_SELDOM)
        log.info("%s: recogniser is there", out)
