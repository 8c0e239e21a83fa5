"""Anonymised files that were made elsewhere take the place of a hook: found, checked, linked or converted, published.

A folder holds ``<set>/<utt>.wav`` or ``.flac`` (also ``<set>_<system>/wav/<utt>.wav`` as the challenges have it), or
all files in one place. What is missing is told of all sets at once, before any work.
"""

from __future__ import annotations

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vpeval.anon.check import Finding, check_output
from vpeval.anon.provenance import Provenance, audio_digest, refuse_other
from vpeval.anon.publish import Missing, wave_of, write_anonymised
from vpeval.audio.io import RATE, probe, read_sound, write_wave
from vpeval.core import processes
from vpeval.core.errors import InputError
from vpeval.core.files import locked
from vpeval.core.publish import publish, refuse_overlap, refuse_target
from vpeval.corpora.convert import to_16khz
from vpeval.data.directory import DataDir
from vpeval.data.layout import is_split, name_some, read_places
from vpeval.jobs import sound
from vpeval.jobs.progress import log_skipped
from vpeval.jobs.rehearsal import rehearsing
from vpeval.jobs.stamps import STAMP, fingerprint, is_current, why, write_stamp

log = logging.getLogger(__name__)
_SUFFIXES = (".wav", ".flac")
_CHUNK = 64
IMPORTED = Provenance("files made elsewhere", "", "", "", 0)


@dataclass(frozen=True)
class Delivery:
    """The files of one set, and what is missing; `data` is the part of the set that has files and its trials."""

    data: DataDir
    files: Mapping[str, Path]
    extra: tuple[str, ...]
    missing: Missing


def find_files(folder: Path, sources: Sequence[Path], system: str, allow_missing: bool = False) -> list[Delivery]:
    """The files of all sets; without `allow_missing`, a file that is not there is an error that names all sets."""
    if not folder.is_dir():
        raise InputError("no such folder of anonymised files", folder)
    flat = _index(folder, deep=False)
    sets = [DataDir.load(source) for source in sources]
    found = {data.name: _files_of(folder, data, system, flat) for data in sets}
    lacking = {data.name: [utt for utt in data.utts if utt not in found[data.name][0]] for data in sets}
    lines = [
        f"\n  {data.name}: {len(lacking[data.name])} of {len(data.utts)} files ({name_some(lacking[data.name])})"
        for data in sets
        if lacking[data.name]
    ]
    empty = [data.name for data in sets if len(lacking[data.name]) == len(data.utts)]
    if empty or (lines and not allow_missing):
        extra = sorted({name for _, strangers in found.values() for name in strangers})
        strange = f"\nThere are others that belong to no set: {name_some(extra)}" if extra else ""
        remedy = "" if empty else "; or evaluate what is there with --allow-missing true"
        raise InputError(
            f"lacks files:{''.join(lines)}{strange}\nPut <set>/<utt>.wav or .flac there, or all files in one folder"
            f"{remedy}",
            folder,
        )
    lost = _lost_speakers(sets, found)
    return [_delivery(data, *found[data.name], lost) for data in sets]


def import_set(delivery: Delivery, out: Path, overwrite: bool = False) -> list[Finding]:
    """Check, link or convert the files of a set and publish `out`; when it is up to date, do nothing and return []."""
    files = [delivery.files[utt] for utt in delivery.data.utts]
    taken = sound.Files(tuple((utt, str(delivery.files[utt])) for utt in delivery.data.utts)).digest
    options = {"out": out, "trials_left_out": delivery.missing.trials, "files": taken}
    made_from = fingerprint([delivery.data.path], options)
    if rehearsal := rehearsing():
        rehearsal.consider(out, [out], why(out / STAMP, made_from, [out]))
        return []
    source = delivery.data.path
    inputs = [source, *read_places(source), *{file.parent: file for file in files}.values()]
    refuse_overlap(out, inputs)
    if not overwrite:
        refuse_other(IMPORTED, [out])
    out.parent.mkdir(parents=True, exist_ok=True)
    with locked(out.with_name(f".{out.name}.lock"), str(out)):
        if is_current(out / STAMP, made_from, [out]):
            log_skipped(log, 1, "sets of files made elsewhere")
            return []
        refuse_target(out, inputs, is_split)
        work = out.with_name(f".{out.name}.work")
        shutil.rmtree(work, ignore_errors=True)
        new = work / "out"
        for spk in delivery.data.speakers:
            wave_of(new, spk, "").parent.mkdir(parents=True)
        todo = [
            (utt, delivery.data.wav[utt], delivery.files[utt].resolve(), wave_of(new, spk, utt))
            for utt, spk in delivery.data.utt2spk.items()
        ]
        if len(todo) <= _CHUNK:
            findings = [_take(item) for item in todo]
        else:
            with processes.pool() as workers:
                findings = list(workers.map(_take, todo, chunksize=_CHUNK))
        write_anonymised(delivery.data, out, new, findings, delivery.missing)
        replace(IMPORTED, audio=audio_digest((found.utt, found.sha256) for found in findings)).write(new)
        write_stamp(new / STAMP, made_from, [new])
        publish(new, out, inputs, is_split)
        shutil.rmtree(work)
    return findings


def tell(delivery: Delivery, out: Path, findings: Sequence[Finding]) -> None:
    """A line on a set that was taken, and on what somebody should know about its files."""
    if not findings:
        return
    log.info("%s: %d utterances, %.0f s of speech", out, len(findings), sum(found.seconds for found in findings))
    total = len(findings) + len(delivery.missing.utts)
    for count, what in (
        (len(delivery.missing.utts), f"missing; {delivery.missing.trials} trials are left out"),
        (sum(found.identical for found in findings), "identical to their source"),
        (sum(found.clipped for found in findings), "clipped"),
        (sum(found.drifted for found in findings), "more than 50 % longer or shorter than their source"),
    ):
        if count:
            log.warning("%s: WARNING: %d of %d utterances are %s", out, count, total, what)
    if delivery.extra:
        log.warning("%s: files that are no utterance of the set: %s", out, name_some(delivery.extra))


def _take(item: tuple[str, str, Path, Path]) -> Finding:
    """Link a file that is as a hook would have written it, convert any other, and check the result."""
    utt, source, file, target = item
    info = probe(str(file))
    if file.suffix == ".wav" and (info.rate, info.channels, info.subtype) == (RATE, 1, "PCM_16"):
        target.symlink_to(file)
    else:
        write_wave(target, to_16khz(*read_sound(str(file))))
    try:
        return check_output(utt, source, target)
    except InputError as error:
        raise InputError(str(error).removeprefix(f"{target}: "), file) from None


def _files_of(folder: Path, data: DataDir, system: str, flat: Mapping[str, Path]) -> tuple[dict[str, Path], list[str]]:
    """The files of a set by utterance, and the names of those in its folder that are no utterance of it."""
    for name in _names(data.name):
        for place in (folder / name, folder / f"{name}_{system}"):
            if place.is_dir():
                index = _index(place, deep=True)
                strangers = sorted(index.keys() - data.utt2spk.keys()) if name == data.name else []
                return {utt: index[utt] for utt in data.utts if utt in index}, strangers
    return {utt: flat[utt] for utt in data.utts if utt in flat}, []


def _names(name: str) -> Iterator[str]:
    """The folder of a set; a part of VCTK may be in the folder of both parts."""
    yield name
    if name.startswith("vctk_") and "_trials_" in name:
        yield f"{name.removesuffix('_common')}_all"


def _index(folder: Path, deep: bool) -> dict[str, Path]:
    index: dict[str, Path] = {}
    for path in sorted(folder.rglob("*") if deep else [*folder.iterdir(), *folder.glob("wav/*")]):
        if path.suffix not in _SUFFIXES or path.name.startswith(".") or not path.is_file():
            continue
        if path.stem in index:
            raise InputError(f"is there twice, also as {index[path.stem]}; keep one", path)
        index[path.stem] = path
    return index


def _lost_speakers(
    sets: Sequence[DataDir], found: Mapping[str, tuple[dict[str, Path], list[str]]]
) -> dict[str, set[str]]:
    """Enrolled speakers of whom no enrolment file is there, by the beginning of the name of the set."""
    lost = {}
    for data in sets:
        if data.enrolls is not None:
            have = {data.utt2spk[utt] for utt in found[data.name][0]}
            lost[data.name.partition("_enrolls")[0]] = set(data.speakers) - have
    return lost


def _delivery(data: DataDir, files: Mapping[str, Path], extra: Sequence[str], lost: Mapping[str, set[str]]) -> Delivery:
    lacking = tuple(utt for utt in data.utts if utt not in files)
    kept = data.subset(files)
    gone = lost.get(data.name.partition("_trials")[0], set())
    if kept.trials is not None and gone:
        kept = replace(kept, trials=tuple(trial for trial in kept.trials if trial[0] not in gone))
    left_out = len(data.trials or ()) - len(kept.trials or ())
    return Delivery(kept, files, tuple(extra), Missing(lacking, left_out))
