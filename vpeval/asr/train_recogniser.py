"""Drive the training of a recogniser on data directories, by a job, unless it is up to date."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

from vpeval.core.errors import InputError
from vpeval.core.lazy import Deferred
from vpeval.core.locks import locked
from vpeval.core.places import ROOT
from vpeval.core.publish import begin_work, end_work, publish, refuse_target
from vpeval.data.layout import read_places
from vpeval.jobs.dry_run import current_dry_run
from vpeval.jobs.launch import FREE_MEMORY_SELDOM, run_command
from vpeval.jobs.progress import log_skipped
from vpeval.jobs.stamps import STAMP, Fingerprint, fingerprint, is_current, why, write_stamp
from vpeval.jobs.steps import log_commands

log = logging.getLogger(__name__)
_JOB = ROOT / "steps/jobs/train_asr.py"
_TRAIN = Deferred("vpeval.asr.ctc_training", "train_on")


def train_recogniser(conf: Path, out: Path, data: Sequence[Path], cmd: str, seed: int, threads: int = 1) -> None:
    """Make `out`, with the recogniser and its decode.yaml, unless it is up to date."""
    if dry_run := current_dry_run():
        dry_run.consider(out, [out], why(out / STAMP, _fingerprint(conf, data, seed), [out]))
        return
    if not conf.is_file():
        raise InputError(f"no such configuration; see those in {conf.parent}", conf)
    for directory in data:
        for name in ("wav.scp", "text", "utt2dur"):
            if not (directory / name).is_file():
                raise InputError("no such file; training needs it", directory / name)
    refuse_target(out, _places(conf, data))
    with locked(out.with_name(f".{out.name}.lock"), str(out)):
        if is_current(out / STAMP, _fingerprint(conf, data, seed), [out]):
            log_skipped(log, 1, "recognisers")
            return
        words = ["steps/train_asr.sh", "--cmd", cmd, "--seed", str(seed), "--num-threads", str(threads)]
        log_commands(lambda: [[*words, *map(str, (conf, out, *data))]])
        command = [str(_JOB), "--seed", str(seed), "--num-threads", str(threads), *map(str, (conf, out, *data))]
        run_command(cmd, out.parent / "log" / f"train_{out.name}.log", command, threads, FREE_MEMORY_SELDOM)
        log.info("%s: recogniser is there", out)


def run_training(conf: Path, out: Path, data: Sequence[Path], seed: int, threads: int) -> str:
    """The job: train unless `out` is up to date, starting after the last finished epoch; returns a summary."""
    made_from = _fingerprint(conf, data, seed)
    if is_current(out / STAMP, made_from, [out]):
        return f"{out} is up to date, skipped"
    inputs = _places(conf, data)
    refuse_target(out, inputs)
    work = begin_work(out, made_from.digest)
    count: int = _TRAIN.load()(conf, data, seed, threads, work)
    write_stamp(work / "out" / STAMP, made_from, [work / "out"])
    publish(work / "out", out, inputs)
    end_work(out)
    return f"{out}: trained on {count} utterances"


def _fingerprint(conf: Path, data: Sequence[Path], seed: int) -> Fingerprint:
    return fingerprint([conf, *data], {"seed": seed}, [_TRAIN])


def _places(conf: Path, data: Sequence[Path]) -> list[Path]:
    """Everything that is read, which the output must not touch."""
    return [conf, *data, *(place for directory in data for place in read_places(directory))]
