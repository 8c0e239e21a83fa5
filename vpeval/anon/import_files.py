"""Import of anonymised files that were made elsewhere: they are found, checked, linked or converted, and published.

A directory holds ``<set>/<utt>.wav`` or ``.flac`` (also ``<set>_<system>/wav/<utt>.wav`` as in the challenges), or all
files in one place. The missing files of all sets are listed at once, before any work.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from vpeval.anon.anonymised_set import Finding, Missing, check_output, wave_of, write_anonymised
from vpeval.anon.driver import report_findings
from vpeval.anon.hook_program import Provenance, audio_digest, refuse_other
from vpeval.audio.io import RATE, probe, read_sound, write_wave
from vpeval.core import processes
from vpeval.core.errors import InputError
from vpeval.core.files import is_verifying
from vpeval.core.locks import locked
from vpeval.core.publish import begin_work, end_work, publish, refuse_overlap, refuse_target
from vpeval.corpora.utterances import to_16khz
from vpeval.data.directory import DataDir
from vpeval.data.layout import first_few, is_split, read_places
from vpeval.jobs.audio_digest import AudioFiles
from vpeval.jobs.dry_run import current_dry_run
from vpeval.jobs.progress import log_skipped
from vpeval.jobs.stamps import STAMP, fingerprint, is_current, read_stamp, why, write_stamp

log = logging.getLogger(__name__)
_SUFFIXES = (".wav", ".flac")
_CHUNK = 64
_DELIVERED = "delivered"
"""In the stamp of an imported set: digests of the files that it was made from."""
IMPORTED = Provenance("files made elsewhere", "", "", "", 0)


@dataclass(frozen=True)
class Delivery:
    """The files of one set, and what is missing; `data` is the part of the set that has files and its trials."""

    data: DataDir
    files: Mapping[str, Path]
    extra: tuple[str, ...]
    missing: Missing


def find_files(directory: Path, sources: Sequence[Path], system: str, allow_missing: bool = False) -> list[Delivery]:
    """The files of all sets; without `allow_missing`, a file that is not there is an error that names all sets."""
    if not directory.is_dir():
        raise InputError("no such directory of anonymised files", directory)
    flat = _index(directory, deep=False)
    sets = [DataDir.load(source) for source in sources]
    found = {data.name: _files_of(directory, data, system, flat) for data in sets}
    lacking = {data.name: [utt for utt in data.utts if utt not in found[data.name][0]] for data in sets}
    lines = [
        f"\n  {data.name}: {len(lacking[data.name])} of {len(data.utts)} files ({first_few(lacking[data.name])})"
        for data in sets
        if lacking[data.name]
    ]
    empty = [data.name for data in sets if len(lacking[data.name]) == len(data.utts)]
    if empty or (lines and not allow_missing):
        extra = sorted({name for _, extra_names in found.values() for name in extra_names})
        others = f"\nThere are others that belong to no set: {first_few(extra)}" if extra else ""
        remedy = "" if empty else "; or evaluate what is there with --allow-missing true"
        raise InputError(
            f"lacks files:{''.join(lines)}{others}\nPut <set>/<utt>.wav or .flac there, or all files in one directory"
            f"{remedy}",
            directory,
        )
    lost = _lost_speakers(sets, found)
    return [_delivery(data, *found[data.name], lost) for data in sets]


def import_set(delivery: Delivery, out: Path, overwrite: bool = False) -> list[Finding]:
    """Check, link or convert the files of a set and publish `out`; when it is up to date, do nothing and return []."""
    files = [delivery.files[utt] for utt in delivery.data.utts]
    delivered = _delivered(delivery, out)
    options = {"out": out, "trials_left_out": delivery.missing.trials, "files": delivered["digest"]}
    made_from = fingerprint([delivery.data.path], options)
    if dry_run := current_dry_run():
        dry_run.consider(out, [out], why(out / STAMP, made_from, [out]))
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
        new = begin_work(out, made_from.digest, go_on=False) / "out"
        for spk in delivery.data.speakers:
            wave_of(new, spk, "").parent.mkdir(parents=True)
        todo = [
            (utt, delivery.data.wav[utt], delivery.files[utt].resolve(), wave_of(new, spk, utt))
            for utt, spk in delivery.data.utt2spk.items()
        ]
        if len(todo) <= _CHUNK:
            findings = [_import_file(item) for item in todo]
        else:
            with processes.pool() as workers:
                findings = list(workers.map(_import_file, todo, chunksize=_CHUNK))
        write_anonymised(delivery.data, out, new, findings, delivery.missing)
        replace(IMPORTED, audio=audio_digest((found.utt, found.sha256) for found in findings)).write(new)
        write_stamp(new / STAMP, made_from, [new], {_DELIVERED: delivered})
        publish(new, out, inputs, is_split)
        end_work(out)
    return findings


def _delivered(delivery: Delivery, out: Path) -> dict[str, str]:
    """Digests of the files that are to be imported: of contents, which is in the stamp of `out`, and of times."""
    files = AudioFiles(tuple((utt, str(delivery.files[utt])) for utt in delivery.data.utts))
    known = {} if is_verifying() else read_stamp(out / STAMP).get(_DELIVERED, {})
    digest = known["digest"] if known.get("times") == files.times else files.digest
    return {"digest": digest, "times": files.times}


def report_import(delivery: Delivery, out: Path, findings: Sequence[Finding]) -> None:
    """Log a line on an imported set, and warnings of its files."""
    if not findings:
        return
    missing = delivery.missing
    lacking = (len(missing.utts), f"missing; {missing.trials} trials are left out")
    report_findings(out, findings, len(findings) + len(missing.utts), [lacking])
    if delivery.extra:
        log.warning("%s: files that are no utterance of the set: %s", out, first_few(delivery.extra))


def _import_file(item: tuple[str, str, Path, Path]) -> Finding:
    """Link a file in the format of hooks, convert any other, and check the result."""
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


def _files_of(
    directory: Path, data: DataDir, system: str, flat: Mapping[str, Path]
) -> tuple[dict[str, Path], list[str]]:
    """The files of a set by utterance, and the names of those in its directory that are no utterance of it."""
    for name in _names(data.name):
        for place in (directory / name, directory / f"{name}_{system}"):
            if place.is_dir():
                index = _index(place, deep=True)
                extra_names = sorted(index.keys() - data.utt2spk.keys()) if name == data.name else []
                return {utt: index[utt] for utt in data.utts if utt in index}, extra_names
    return {utt: flat[utt] for utt in data.utts if utt in flat}, []


def _names(name: str) -> Iterator[str]:
    """Names of the directory of a set; a part of VCTK may be in the directory of both parts."""
    yield name
    if name.startswith("vctk_") and "_trials_" in name:
        yield f"{name.removesuffix('_common')}_all"


def _index(directory: Path, deep: bool) -> dict[str, Path]:
    index: dict[str, Path] = {}
    for path in sorted(directory.rglob("*") if deep else [*directory.iterdir(), *directory.glob("wav/*")]):
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
