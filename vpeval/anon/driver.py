"""The driver of anonymisation hooks: it splits sets into jobs, and publishes what the hooks wrote after checks.

Hooks get copies of the original audio, and the originals must not change meanwhile. A register next to every set holds
the SHA-256 of each original when the set was first anonymised. A file with the known size and times counts as
unchanged; any other is read again. Where wav.scp names another file than before, that file is the new
original.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import re
import shlex
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path

from vpeval.anon import anonymised_set, hook_input, hook_program
from vpeval.anon.anonymised_set import Finding, wave_of, write_anonymised
from vpeval.anon.hook_files import DEPENDS, Dependencies, dependencies, read_opened, read_record, write_record
from vpeval.anon.hook_input import SEEDS, copy_audio, hook_data, role_of, seeded
from vpeval.anon.hook_job import ABOUT, COPIES, LISTS, WHOLE, collect_interrupted
from vpeval.anon.hook_program import Provenance, audio_digest, hook_digest, hook_name, refuse_other
from vpeval.audio.io import audio_status
from vpeval.core import seeds
from vpeval.core.errors import InputError
from vpeval.core.files import is_pipe, read_table, write_table, write_text
from vpeval.core.places import ROOT
from vpeval.data.directory import DataDir
from vpeval.data.layout import first_few
from vpeval.jobs import batch
from vpeval.jobs.code import Maker
from vpeval.jobs.shards import Shards
from vpeval.jobs.stamps import Fingerprint, content_digest, fingerprint

log = logging.getLogger(__name__)
TIMEOUT = 3600
"""Seconds without a new file after which a hook is ended."""
_JOB = ROOT / "steps/jobs/anonymize.py"
_THREADS = 8
_REGISTERED = re.compile(r"[0-9a-f]{64}(?: \d+){4} .+")


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
        """The record that is kept with the sets that it makes."""
        return Provenance(
            hook_name(self.hook),
            shlex.join(hook_program.split_options(self.options)),
            hook_digest(self.hook, self.options),
            self.level,
            self.seed,
        )


def anonymize(
    anonymiser: Anonymiser, sets: Mapping[Path, Path], launch: Launch, overwrite: bool = False
) -> dict[Path, list[Finding]]:
    """Run a hook on the data directories `sets` (source → output) and publish the outputs.

    Returns the findings of all utterances of the outputs that had work to do, and logs them. A set that was made by
    another hook, or with other options, level or seed, is replaced only with `overwrite`.
    """
    if not overwrite:
        refuse_other(anonymiser.provenance, sets.values())
    findings: dict[Path, list[Finding]] = {}
    start, fresh = time.time(), list[float]()

    def publish(target: batch.Target, shards: Shards) -> None:
        _refuse_changed(target)
        found = {utt: Finding(utt, **json.loads(bytes(result))) for utt, result in shards.results()}
        findings[target.out] = [found[utt] for utt in target.data.utts]
        # After an interruption, only files of this call show how fast the hook is.
        for utt, spk in target.data.utt2spk.items():
            if wave_of(target.new, spk, utt).stat().st_mtime >= start:
                fresh.append(found[utt].seconds)
        write_anonymised(_unseeded(target.data), target.out, target.new, findings[target.out])
        digest = audio_digest((found.utt, found.sha256) for found in findings[target.out])
        replace(anonymiser.provenance, audio=digest).write(target.new)
        write_record(target.new, _opened(anonymiser, target, targets, start))

    hook = anonymiser.hook
    task = batch.Task(
        name="anonymize",
        worker=(str(_JOB),),
        arguments=(
            str(hook.resolve()),
            f"--options={anonymiser.options}",
            str(hook_program.prepared_dir(hook, anonymiser.seed)),
            str(launch.timeout),
        ),
        tables=None,
        begin=_begin,
        recover=_recover,
        finish=publish,
        makes="file",
        made_from=partial(_made_from, anonymiser),
        commands=lambda stale: [_command(anonymiser, target, launch, overwrite) for target in stale],
        jobs_per_gpu=0,  # many hooks use the CPU only; for the others there is --anon-nj
    )
    targets = [make_target(anonymiser, source, out) for source, out in sets.items()]
    try:
        batch.run(task, targets, launch.cmd, launch.nj, launch.log_dir)
    except InputError:
        for target in targets:
            if _register(target.source).is_file():
                verify_originals(target.source, target.data.wav)  # changed originals explain any other error
        raise
    for out, found in findings.items():
        report_findings(out, found, len(found))
    if fresh:
        log.info("real-time factor %.3f with %d jobs", (time.time() - start) / sum(fresh), launch.nj)
    return findings


def _command(anonymiser: Anonymiser, target: batch.Target, launch: Launch, overwrite: bool) -> list[str]:
    """The command that anonymises a set by hand."""
    words = ["steps/anonymize.sh", "--cmd", launch.cmd, "--nj", str(launch.nj), "--anon-level", anonymiser.level]
    words += ["--seed", str(anonymiser.seed), "--timeout", str(launch.timeout), "--log-dir", str(launch.log_dir)]
    words += ["--options", anonymiser.options] if anonymiser.options else []
    words += ["--overwrite", "true"] if overwrite else []
    return [*words, *map(str, (anonymiser.hook, target.source, target.out))]


def report_findings(out: Path, findings: Sequence[Finding], total: int, first: Iterable[tuple[int, str]] = ()) -> None:
    """Log a line on a set of `total` utterances, and warnings of `first` and of utterances to listen to."""
    log.info("%s: %d utterances, %.0f s of speech", out, len(findings), sum(one.seconds for one in findings))
    for count, what in (
        *first,
        (sum(one.identical for one in findings), "identical to their source"),
        (sum(one.clipped for one in findings), "clipped"),
        (sum(one.drifted for one in findings), "more than 50 % longer or shorter than their source"),
    ):
        if count:
            log.warning("%s: WARNING: %d of %d utterances are %s", out, count, total, what)


def make_target(anonymiser: Anonymiser, source: Path, out: Path) -> batch.Target:
    """A set to anonymise, and everything that the result depends on."""
    seed, level = anonymiser.seed, anonymiser.level
    found = dependencies(anonymiser.hook, hook_program.split_options(anonymiser.options))
    made_from = _with_opened(_fingerprint(anonymiser, source, out, found), read_record(out))
    return batch.Target(partial(seeded, source, seed, level), out, made_from, source, found.files)


def _fingerprint(anonymiser: Anonymiser, source: Path, out: Path, found: Dependencies) -> Fingerprint:
    """Everything that a result depends on but for the files that the hook was seen to open."""
    hook, prepared = anonymiser.hook, hook_program.prepared_dir(anonymiser.hook, anonymiser.seed)
    options = {"options": anonymiser.provenance.options, "level": anonymiser.level, "seed": anonymiser.seed, "out": out}
    options |= {f"${name}": value for name, value in found.variables.items()}
    makers: list[Maker] = [hook_input, anonymised_set, *hook_program.library_code(hook)]
    return fingerprint([source, *found.files, *([prepared] if prepared.is_dir() else [])], options, makers)


def _with_opened(made_from: Fingerprint, opened: Iterable[Path]) -> Fingerprint:
    """The same with files that the hook opened, as they are now."""
    here = {str(path): content_digest(path) if path.is_file() else "gone" for path in opened}
    return replace(made_from, inputs={**here, **made_from.inputs})


def _opened(anonymiser: Anonymiser, target: batch.Target, targets: Sequence[batch.Target], start: float) -> list[Path]:
    """The files that the hook opened, but for those that count anyway and those of these sets."""
    prepared = hook_program.prepared_dir(anonymiser.hook, anonymiser.seed).resolve()
    places = [place.resolve() for one in targets for place in (one.work, one.out, one.source)]
    audio = {os.path.realpath(entry) for one in targets for entry in one.data.wav.values()}

    def is_data(path: Path) -> bool:
        return str(path) in audio or any(path.is_relative_to(place) for place in (*places, prepared))

    lists = sorted((target.work / LISTS).glob("*"))
    return read_opened(lists, target.inputs, start, is_data)


def _made_from(anonymiser: Anonymiser, target: batch.Target) -> Fingerprint:
    """What a set was made from: files that the hook put next to itself while it ran, such as a cache of weights, too.

    What was there before and has changed since counts as it was, so that the set is made again.
    """
    found = dependencies(anonymiser.hook, hook_program.split_options(anonymiser.options))
    before, now = target.fingerprint, _fingerprint(anonymiser, target.source, target.out, found)
    earlier = {str(path) for path in read_record(target.out)}
    known = {name: digest for name, digest in before.inputs.items() if name not in earlier}
    if changed := sorted(name for name, digest in known.items() if now.inputs.get(name) != digest):
        log.warning(
            "%s: WARNING: %s changed while the hook ran and count as parts of it; the set will be made again. Have the "
            "hook write elsewhere, or name what does not count in the file %s next to it (docs/hooks.md)",
            target.out, first_few(changed), DEPENDS,
        )  # fmt: skip
    return _with_opened(replace(before, inputs={**now.inputs, **known}), read_record(target.new))


def _begin(target: batch.Target) -> None:
    """Put into the work directory what the jobs give to their hooks."""
    data = target.data
    verify_originals(target.source, data.wav)
    copied = hook_data(data, (target.work / COPIES).resolve())
    copy_audio(data.wav, {utt: Path(copy) for utt, copy in copied.wav.items()})
    copied.write(target.work / WHOLE)
    write_text(target.work / ABOUT, json.dumps({"name": target.source.name, "role": role_of(data)}))


def _recover(target: batch.Target) -> set[str]:
    """Collect the files of hooks that were killed; return the utterances that are there."""
    collect_interrupted(target.work, target.new, target.data.utt2spk)
    return {path.stem for path in (target.new / "wav").glob("*/*.wav")}


def _refuse_changed(target: batch.Target) -> None:
    """Refuse to publish what was made while the originals changed."""
    verify_originals(target.source, target.data.wav)
    now = fingerprint([target.source], {}).inputs
    if any(target.fingerprint.inputs[name] != digest for name, digest in now.items()):
        raise InputError("changed while it was being anonymised; see to it that nobody writes there", target.source)


def _unseeded(data: DataDir) -> DataDir:
    """The tables of the original set, without what was added for the hook."""
    if (data.path / SEEDS).is_file():
        return DataDir.load(data.path)  # it has seeds of its own
    return replace(data, utt_tables={name: table for name, table in data.utt_tables.items() if name != SEEDS})


def verify_originals(source: Path, wav: Mapping[str, str]) -> None:
    """Raise an InputError if a file of `wav` changed since the set was first anonymised; register new ones."""
    register = _register(source)
    known = _read_register(register) if register.is_file() else {}
    files = {utt: entry for utt, entry in wav.items() if not is_pipe(entry)}
    with ThreadPoolExecutor(_THREADS) as threads:
        found = dict(threads.map(lambda item: (item[0], _describe(item[1], known.get(item[0], ""))), files.items()))
    changed = [utt for utt, now in found.items() if utt in known and _is_changed(known[utt], now)]
    if changed:
        raise InputError(
            f"the audio of {len(changed)} utterances ({first_few(changed)}) is no longer what it was when the set was "
            f"first anonymised; a hook may have written to it. Restore the corpus; if the change is meant, remove "
            f"{register}",
            source,
        )
    if {**known, **found} != known:
        with suppress(PermissionError):  # a directory of somebody else: then the register is of this call only
            write_table(register, {**known, **found})


def _register(source: Path) -> Path:
    return source.with_name(f".{source.name}.originals")


def _read_register(path: Path) -> dict[str, str]:
    known = read_table(path)
    if not all(_REGISTERED.fullmatch(seen) for seen in known.values()):
        raise InputError("is no register of originals, and its name is needed for one; move it away", path)
    return known


def _describe(entry: str, known: str) -> str:
    """SHA-256, size, times and path of a file; the SHA-256 is that of `known` where the others are equal."""
    status = audio_status(entry)
    described = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino} {entry}"
    digest, _, before = known.partition(" ")
    return f"{digest if before == described else hash_file(Path(entry))} {described}"


def _is_changed(before: str, now: str) -> bool:
    """Whether the same file has another content."""
    (digest, *_, path), (other, *_, same) = before.split(" ", 5), now.split(" ", 5)
    return path == same and digest != other


def hash_file(path: Path) -> str:
    """SHA-256 of a file."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
