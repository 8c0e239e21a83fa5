"""The driver of anonymisation hooks: seeds in, checked and published data directories out."""

from __future__ import annotations

import logging
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from vpeval.anon import hooks
from vpeval.anon.check import Finding, check_output, is_whole_wave
from vpeval.anon.publish import write_anonymised
from vpeval.core import seeds
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.data.layout import is_pipe, name_some
from vpeval.jobs import batch
from vpeval.jobs.stamps import fingerprint

log = logging.getLogger(__name__)
TIMEOUT = 3600
"""Seconds without a new file after which a hook is taken to hang."""
PARTS = "out/wav"
WHOLE = "set"
_ROOT = Path(__file__).resolve().parents[2]
_WORKER = "steps/jobs/anonymize.py"


def role_of(data: DataDir) -> str:
    """Enrolment, trial or training: sets of different roles get different pseudo-speakers."""
    return "enroll" if data.enrolls is not None else "trial" if data.trials is not None else "train"


def seeded(source: Path, seed: int, level: seeds.Level) -> DataDir:
    """A data directory as hooks get it: with utt2seed, and with audio that is found from anywhere."""
    data = DataDir.load(source)
    wav = {utt: entry if is_pipe(entry) else str(Path(entry).resolve()) for utt, entry in data.wav.items()}
    utt2seed = seeds.utt2seed(data.utt2spk, seed, role_of(data), level)
    return data.with_table("utt2seed", utt2seed).with_table("wav.scp", wav)


@dataclass(frozen=True)
class Launch:
    """How jobs are run: launcher, jobs at a time, where the logs go, and how long a hook may write nothing."""

    cmd: str
    nj: int
    log_dir: Path
    timeout: int = 0


@dataclass(frozen=True)
class Anonymiser:
    """A hook with its options, the level at which it draws pseudo-speakers, and the base seed."""

    hook: Path
    options: str
    level: seeds.Level
    seed: int


def anonymize(anonymiser: Anonymiser, sets: Mapping[Path, Path], launch: Launch) -> dict[Path, list[Finding]]:
    """Run a hook on data directories and publish what `sets` says: source → output.

    Returns what was found in the utterances of every output that had work to do, and says so.
    """
    findings: dict[Path, list[Finding]] = {}
    start = time.time()

    def publish(target: batch.Target, parts: Path) -> None:
        data = target.data
        _refuse_strangers(data, parts, target.out)
        source = DataDir.load(data.path)
        found = [check_output(utt, source.wav[utt], parts / f"{utt}.wav") for utt in data.utts]
        write_anonymised(source, target.out, target.new, found)
        findings[target.out] = found

    task = batch.Task(
        name="anonymize",
        worker=(
            str(_ROOT / _WORKER),
            *(str(anonymiser.hook.resolve()), anonymiser.options, str(hooks.prepared_dir(anonymiser.hook))),
            str(launch.timeout),
        ),
        suffix=".wav",
        parts=PARTS,
        begin=lambda target: target.data.write(target.work / WHOLE),
        finish=publish,
        is_whole=lambda target, utt, part: is_whole_wave(part),
    )
    targets = [_target(anonymiser, source, out) for source, out in sets.items()]
    try:
        batch.run(task, targets, launch.cmd, launch.nj, launch.log_dir)
    except InputError:
        # A misspelt name explains a missing file better than its absence does.
        for target in targets:
            if (target.work / PARTS).is_dir():
                _refuse_strangers(target.data, target.work / PARTS, target.out)
        raise
    _tell(findings, start, launch.nj)
    return findings


def _tell(findings: Mapping[Path, Sequence[Finding]], start: float, nj: int) -> None:
    """A line on every set, on the speed of the hook, and on utterances that somebody should listen to."""
    fresh = 0.0
    for out, found in findings.items():
        log.info("%s: %d utterances, %.0f s of speech", out, len(found), sum(one.seconds for one in found))
        # After an interruption, only what was written in this call tells how fast the hook is.
        made = (one for one in found if (out / "wav" / f"{one.utt}.wav").stat().st_mtime >= start)
        fresh += sum(one.seconds for one in made)
        for what, count in (
            ("identical to their source", sum(one.identical for one in found)),
            ("clipped", sum(one.clipped for one in found)),
            ("more than 50 % longer or shorter than their source", sum(one.drifted for one in found)),
        ):
            if count:
                log.warning("%s: WARNING: %d of %d utterances are %s", out, count, len(found), what)
    if fresh:
        log.info("real-time factor %.3f with %d jobs", (time.time() - start) / fresh, nj)


def _target(anonymiser: Anonymiser, source: Path, out: Path) -> batch.Target:
    hook, seed, level = anonymiser.hook, anonymiser.seed, anonymiser.level
    options = {"options": anonymiser.options, "level": level, "seed": seed, "out": out}
    made_from = fingerprint([source, *hooks.files_of(hook)], options, [_WORKER, *hooks.code_of(hook)])
    return batch.Target(partial(seeded, source, seed, level), out, made_from, source, tuple(hooks.files_of(hook)))


def _refuse_strangers(data: DataDir, parts: Path, out: Path) -> None:
    """Remove what is no utterance's wav; unless it is what a killed write leaves behind, say so."""
    known = {f"{utt}.wav" for utt in data.utts}
    strange = sorted(path for path in parts.iterdir() if path.name not in known)
    for path in strange:
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
    if names := [path.name for path in strange if not path.name.startswith(".")]:
        raise InputError(
            f"the hook wrote {name_some(names)}, which is no utterance of {data.path}; "
            "it must write <utt>.wav and nothing else",
            out,
        )
