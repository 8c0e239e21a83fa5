"""The driver of anonymisation hooks: seeds in, checked and published data directories out."""

from __future__ import annotations

import json
import logging
import shlex
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from vpeval.anon import hooks
from vpeval.anon.check import Finding
from vpeval.anon.originals import copy_audio, copy_of, register_of, verify
from vpeval.anon.provenance import Provenance, audio_digest, hook_digest, hook_name, refuse_other
from vpeval.anon.publish import wave_of, write_anonymised
from vpeval.anon.rooms import ROOMS, Room
from vpeval.core import seeds
from vpeval.core.errors import InputError
from vpeval.core.files import write_text
from vpeval.data.directory import DataDir
from vpeval.data.layout import is_pipe
from vpeval.jobs import batch
from vpeval.jobs.pieces import Pieces
from vpeval.jobs.stamps import fingerprint

log = logging.getLogger(__name__)
TIMEOUT = 3600
"""Seconds without a new file after which a hook is taken to hang."""
WHOLE = "set"
"""In the work directory: the whole set as hooks get it."""
COPIES = "audio"
"""Beside it: copies of the audio, which hooks may do with what they like."""
ABOUT = "about.json"
"""And what they are told about the set."""
_SEEDS = "utt2seed"
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
    return data.with_table(_SEEDS, utt2seed).with_table("wav.scp", wav)


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

    @cached_property
    def provenance(self) -> Provenance:
        """What is kept with the sets that it makes."""
        return Provenance(
            hook_name(self.hook),
            shlex.join(hooks.split_options(self.options)),
            hook_digest(self.hook),
            self.level,
            self.seed,
        )


def anonymize(
    anonymiser: Anonymiser, sets: Mapping[Path, Path], launch: Launch, overwrite: bool = False
) -> dict[Path, list[Finding]]:
    """Run a hook on data directories and publish what `sets` says: source → output.

    Returns what was found in the utterances of every output that had work to do, and says so. A set that was made by
    another hook, or with other options, level or seed, is replaced only if it may be (`overwrite`).
    """
    if not overwrite:
        refuse_other(anonymiser.provenance, sets.values())
    findings: dict[Path, list[Finding]] = {}
    start, fresh = time.time(), list[float]()

    def publish(target: batch.Target, pieces: Pieces) -> None:
        _refuse_changed(target)
        found = {utt: Finding(utt, **json.loads(bytes(result))) for utt, result in pieces.results()}
        findings[target.out] = [found[utt] for utt in target.data.utts]
        # After an interruption, only what was written in this call tells how fast the hook is.
        for utt, spk in target.data.utt2spk.items():
            if wave_of(target.new, spk, utt).stat().st_mtime >= start:
                fresh.append(found[utt].seconds)
        write_anonymised(_unseeded(target.data), target.out, target.new, findings[target.out])
        digest = audio_digest((found.utt, found.sha256) for found in findings[target.out])
        replace(anonymiser.provenance, audio=digest).write(target.new)

    task = batch.Task(
        name="anonymize",
        worker=(
            str(_ROOT / _WORKER),
            *(
                str(anonymiser.hook.resolve()),
                f"--options={anonymiser.options}",
                str(hooks.prepared_dir(anonymiser.hook)),
            ),
            str(launch.timeout),
        ),
        tables=None,
        begin=_begin,
        recover=_recover,
        finish=publish,
        makes="file",
    )
    targets = [_target(anonymiser, source, out) for source, out in sets.items()]
    try:
        batch.run(task, targets, launch.cmd, launch.nj, launch.log_dir)
    except InputError:
        for target in targets:
            if register_of(target.source).is_file():
                verify(target.source, target.data.wav)  # if that is why, it is what has to be said
        raise
    _tell(findings)
    if fresh:
        log.info("real-time factor %.3f with %d jobs", (time.time() - start) / sum(fresh), launch.nj)
    return findings


def _tell(findings: Mapping[Path, Sequence[Finding]]) -> None:
    """A line on every set, and on utterances that somebody should listen to."""
    for out, found in findings.items():
        log.info("%s: %d utterances, %.0f s of speech", out, len(found), sum(one.seconds for one in found))
        for what, count in (
            ("identical to their source", sum(one.identical for one in found)),
            ("clipped", sum(one.clipped for one in found)),
            ("more than 50 % longer or shorter than their source", sum(one.drifted for one in found)),
        ):
            if count:
                log.warning("%s: WARNING: %d of %d utterances are %s", out, count, len(found), what)


def _target(anonymiser: Anonymiser, source: Path, out: Path) -> batch.Target:
    hook, seed, level = anonymiser.hook, anonymiser.seed, anonymiser.level
    options = {"options": anonymiser.provenance.options, "level": level, "seed": seed, "out": out}
    made_from = fingerprint([source, *hooks.files_of(hook)], options, [_WORKER, *hooks.code_of(hook)])
    return batch.Target(partial(seeded, source, seed, level), out, made_from, source, tuple(hooks.files_of(hook)))


def hook_data(data: DataDir, folder: Path) -> DataDir:
    """A data directory as hooks see it: with the copies of its audio in `folder`."""
    wav = {utt: str(copy_of(folder, data.utt2spk[utt], utt, entry)) for utt, entry in data.wav.items()}
    return data.with_table("wav.scp", wav)


def _begin(target: batch.Target) -> None:
    """Put into the work directory what the jobs give to their hooks."""
    data, copies = target.data, (target.work / COPIES).resolve()
    verify(target.source, data.wav)
    seen = hook_data(data, copies)
    copy_audio(data.wav, {utt: Path(copy) for utt, copy in seen.wav.items()})
    seen.write(target.work / WHOLE)
    write_text(target.work / ABOUT, json.dumps({"name": target.source.name, "role": role_of(data)}))


def _refuse_changed(target: batch.Target) -> None:
    """Refuse to publish what was made while the originals changed."""
    verify(target.source, target.data.wav)
    now = fingerprint([target.source], {}).inputs
    if any(target.fingerprint.inputs[name] != digest for name, digest in now.items()):
        raise InputError("changed while it was being anonymised; see to it that nobody writes there", target.source)


def _unseeded(data: DataDir) -> DataDir:
    """The tables of the original set, without what was added for the hook."""
    if (data.path / _SEEDS).is_file():
        return DataDir.load(data.path)  # it has seeds of its own
    return replace(data, utt_tables={name: table for name, table in data.utt_tables.items() if name != _SEEDS})


def _recover(target: batch.Target) -> set[str]:
    """Take whole files of hooks that were killed to their places, and clear away the rest; the utterances there."""
    for folder in sorted((target.work / ROOMS).glob("*/wav")):
        Room(folder, target.new, target.data.utt2spk).take_all(whole=True)
    shutil.rmtree(target.work / ROOMS, ignore_errors=True)
    return {path.stem for path in (target.new / "wav").glob("*/*.wav")}
