"""Check a submission archive, one's own or somebody else's: every violation is listed, nothing is unpacked.

The archive is read once from front to back. A member that could do harm (a link, a device, a path that leads outside)
is a violation and is not read. With the original data directories at hand the utterances and trials are compared with
theirs; without them the archive must at least be consistent in itself.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
import tempfile
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from vpeval.audio.io import RATE
from vpeval.audio.riff import read_wave_header
from vpeval.core.errors import InputError
from vpeval.data.directory import read_utt2spk
from vpeval.data.layout import name_some
from vpeval.data.validate import Problem
from vpeval.metrics.eer import eer_kaldi_fair
from vpeval.metrics.scores import pool
from vpeval.results.editions import EDITIONS
from vpeval.results.load import Source, read
from vpeval.results.names import ASV_EVAL_ANON, SetName
from vpeval.results.records import Record
from vpeval.submission.layout import DESCRIPTION, LEAST_BYTES, MANIFEST, is_safe

_LARGEST = 1 << 30
_TEXT = 256 << 20
_BROKEN = (tarfile.TarError, EOFError, OSError, zlib.error)


@dataclass
class _Archive:
    """What is in an archive: digests of all files, the words of the text files, what is wrong with the audio."""

    path: Path
    problems: list[Problem] = field(default_factory=list)
    digests: dict[str, tuple[int, str]] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    waves: set[str] = field(default_factory=set)
    tops: set[str] = field(default_factory=set)

    def complain(self, name: str, message: str, remedy: str, kind: str, line: int | None = None) -> None:
        self.problems.append(Problem(self.path / name if name else self.path, line, message, remedy, kind))

    def under(self, folder: str) -> dict[str, list[str]]:
        """The files below `folder`, by the name of the folder in it."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for name in self.digests:
            parts = PurePosixPath(name).parts
            if len(parts) > 2 and parts[0] == folder:
                found[parts[1]].append("/".join(parts[2:]))
        return dict(found)


def check(path: str | PathLike[str], originals: Sequence[Path] = (), edition: str = "") -> list[Problem]:
    """Everything that is wrong with the archive `path`.

    `originals` are the original data directories of all sets that must be there; `edition` is that of the manifest
    unless given.
    """
    archive = _Archive(Path(path))
    if not archive.path.is_file():
        archive.complain("", "no such file", "check the path", "archive")
        return archive.problems
    _scan(archive)
    manifest = _manifest(archive)
    edition = edition or str(manifest.get("edition", ""))
    system = str(manifest.get("system", ""))
    records = _results(archive, edition)
    _data(archive, edition, system, originals)
    _scores(archive, originals, system, records)
    if DESCRIPTION not in archive.digests:
        archive.complain(DESCRIPTION, "is missing", "describe the system", "missing file")
    return list(dict.fromkeys(archive.problems))


def _scan(archive: _Archive) -> None:
    """Read all members."""
    try:
        with open(archive.path, "rb") as raw:
            packed = raw.read(2) == b"\x1f\x8b"
            raw.seek(0)
            file = gzip.GzipFile(fileobj=raw) if packed else raw
            with tarfile.open(fileobj=file, mode="r|") as stream:
                for member in stream:
                    _take(archive, stream, member)
            # The check sum of the compression stands behind the last member.
            while file.read(1 << 20):
                pass
    except _BROKEN as error:
        archive.complain("", f"is no whole tar archive ({error})", "pack it again", "archive")
    if len(archive.tops) > 1:
        some = name_some(sorted(archive.tops))
        archive.complain("", f"has several folders at its top ({some})", "put everything into one folder", "layout")


def _take(archive: _Archive, stream: tarfile.TarFile, member: tarfile.TarInfo) -> None:
    if member.isdir() and is_safe(member.name.rstrip("/")):
        return
    if not is_safe(member.name):
        archive.complain("", f"member {member.name!a} has an unsafe name", "use plain relative paths", "unsafe path")
        return
    top, _, name = member.name.partition("/")
    archive.tops.add(top)
    if not member.isreg():
        archive.complain(name, "is a link or a device, not a file", "pack the file itself", "unsafe path")
        return
    if member.size > _LARGEST:
        archive.complain(name, f"has {member.size} bytes", "no file of a submission is that large", "size")
        return
    if not name:
        archive.complain(top, "lies outside the folder of the submission", "put it into the folder", "layout")
        return
    file = stream.extractfile(member)
    content = file.read() if file else b""
    if name in archive.digests:
        archive.complain(name, "is there twice", "pack it once", "duplicate")
    archive.digests[name] = len(content), hashlib.sha256(content).hexdigest()
    if name.endswith(".wav"):
        if fault := wave_fault(content):
            archive.complain(name, fault, f"write {RATE} Hz, mono, 16-bit PCM WAV", "audio")
        archive.waves.add(name)
    elif len(content) <= _TEXT:
        try:
            archive.texts[name] = content.decode()
        except UnicodeDecodeError:
            archive.complain(name, "is not UTF-8 text", "only audio is binary", "encoding")
    if not content:
        archive.complain(name, "is empty", "make it again", "size")


def wave_fault(content: bytes) -> str:
    """What keeps a file from being a whole 16 kHz, mono, 16-bit PCM WAV file with samples; empty if nothing does."""
    wave = read_wave_header(io.BytesIO(content))
    if wave is None:
        return "has no samples" if content[:4] == b"RIFF" and content[8:12] == b"WAVE" else "is no WAV file"
    if not wave.rate:
        return "has no format before its samples"
    if wave.rate != RATE:
        return f"has a sampling rate of {wave.rate} Hz"
    if wave.channels != 1:
        return f"has {wave.channels} channels"
    if wave.coding not in (1, 0xFFFE) or wave.bits != 16:
        return f"has {wave.bits}-bit samples of coding {wave.coding}, not 16-bit PCM"
    if wave.present < wave.stated:
        return f"is cut off: {wave.present} of {wave.stated} bytes of samples are there"
    return "" if wave.stated else "has no samples"


def _manifest(archive: _Archive) -> dict[str, Any]:
    text = archive.texts.get(MANIFEST)
    if text is None:
        archive.complain(MANIFEST, "is missing", "pack with local/make_submission.py", "manifest")
        return {}
    try:
        manifest = json.loads(text)
        files = {str(name): (entry["bytes"], entry["sha256"]) for name, entry in manifest["files"].items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        archive.complain(MANIFEST, "is no manifest", "pack with local/make_submission.py", "manifest")
        return {}
    for name in sorted(files.keys() - archive.digests.keys()):
        archive.complain(name, "is in the manifest but not in the archive", "pack again", "missing file")
    for name in sorted(archive.digests.keys() - files.keys() - {MANIFEST}):
        archive.complain(name, "is not in the manifest", "pack again", "manifest")
    for name in sorted(files.keys() & archive.digests.keys()):
        size, digest = archive.digests[name]
        if files[name] != (size, digest):
            what = f"{size} bytes, {files[name][0]} in the manifest" if size != files[name][0] else "other content"
            archive.complain(name, f"was changed after packing ({what})", "pack again", "manifest")
    return manifest if isinstance(manifest, dict) else {}


def _results(archive: _Archive, edition: str) -> list[Record]:
    """The records of the results files; they must be those of the edition, and readable."""
    if edition not in EDITIONS:
        named = f"edition '{edition}'" if edition else "no edition is named; this"
        archive.complain(MANIFEST, f"{named} is none of {', '.join(EDITIONS)}", "say --edition", "manifest")
    found = [name for name in archive.texts if name.startswith("results/")]
    for name in EDITIONS.get(edition, ()):
        if f"results/{name}" not in found:
            archive.complain(f"results/{name}", "is missing", "write it with local/write_results.py", "missing file")
    records: list[Record] = []
    with tempfile.TemporaryDirectory() as room:
        for name in found:
            copy = Path(room) / PurePosixPath(name).name
            copy.write_text(archive.texts[name])
            try:
                records += read(Source(copy, "submission"))
            except InputError as error:
                message = str(error).removeprefix(str(copy)).lstrip(":")
                archive.complain(name, f"cannot be read: {message}", "write it again", "results")
    if edition in ("2024", "2026") and not any(record.attacker == ASV_EVAL_ANON for record in records):
        message = "no numbers of ASV_eval^anon, the attacker that the challenge ranks by"
        archive.complain("results", message, "train it on anonymised speech (stage 4)", "results")
    return records


def _data(archive: _Archive, edition: str, system: str, originals: Sequence[Path]) -> None:
    sets = archive.under("data")
    if not sets:
        archive.complain("data", "holds no anonymised speech", "pack the data directories", "missing set")
    for name, files in sorted(sets.items()):
        _data_set(archive, f"data/{name}", files)
        base = name.removesuffix(f"_{system}") if system else name
        size = sum(archive.digests[f"data/{name}/{file}"][0] for file in files if file.endswith(".wav"))
        if edition == "2024" and size < LEAST_BYTES.get(base, 0):
            message = f"has {size} bytes of audio where {LEAST_BYTES[base]} are demanded"
            archive.complain(f"data/{name}", message, "are all utterances there, at full length?", "size")
    for original in originals:
        ours = set(read_utt2spk(original / "utt2spk"))
        place = _find(sets, original.name, system)
        if place is None:
            archive.complain("data", f"no anonymised '{original.name}'", "anonymise and pack it", "missing set")
            continue
        theirs = {row[0] for _, row in _rows(archive, f"data/{place}/utt2spk", 2)}
        _compare(archive, f"data/{place}/utt2spk", theirs, ours, str(original))


def _find(sets: Mapping[str, object], name: str, system: str) -> str | None:
    """The folder of an anonymised set: with the name of the system, or with any other suffix."""
    if f"{name}_{system}" in sets:
        return f"{name}_{system}"
    parts = SetName.parse(name)
    others = [s for s in sorted(sets) if s == name or s.startswith(f"{name}_")]
    same = [s for s in others if parts is None or (own := SetName.parse(s)) is None or own.base == parts.base]
    return same[0] if same else None


def _data_set(archive: _Archive, place: str, files: Sequence[str]) -> None:
    """utt2spk, wav.scp and the audio must name the same utterances."""
    for name in ("utt2spk", "wav.scp"):
        if name not in files:
            archive.complain(f"{place}/{name}", "is missing", "pack the whole data directory", "missing file")
    audio = {PurePosixPath(file).stem for file in files if file.endswith(".wav")}
    if "utt2spk" in files:
        utts = {row[0] for _, row in _rows(archive, f"{place}/utt2spk", 2)}
        _compare(archive, f"{place}/wav", audio, utts, f"{place}/utt2spk")
    if "wav.scp" in files:
        named = set()
        for number, fields in _rows(archive, f"{place}/wav.scp", 2):
            named.add(fields[0])
            if PurePosixPath(fields[1]).stem != fields[0]:
                message = f"'{fields[0]}' has the audio file '{fields[1]}'"
                archive.complain(f"{place}/wav.scp", message, "keep the original names", "ids", number)
        _compare(archive, f"{place}/wav.scp", named, audio, f"{place}/wav")


def _compare(archive: _Archive, name: str, have: set[str], want: set[str], source: str) -> None:
    if missing := sorted(want - have):
        message = f"lacks {len(missing)} of the {len(want)} utterances of {source} ({name_some(missing)})"
        archive.complain(name, message, "anonymise and pack them", "missing utterance")
    if unknown := sorted(have - want):
        message = f"has {len(unknown)} utterances that {source} lacks ({name_some(unknown)})"
        archive.complain(name, message, "keep the original ids", "ids")


def _scores(archive: _Archive, originals: Sequence[Path], system: str, records: Sequence[Record]) -> None:
    folders = archive.under("scores")
    if not folders:
        archive.complain("scores", "holds no scores", "pack the ASV-*/scores of the run", "missing file")
    trials_of = {original.name: original / "trials" for original in originals if (original / "trials").is_file()}
    eers: defaultdict[tuple[str, str], dict[str, str]] = defaultdict(dict)
    for folder in sorted(folders):
        name = f"scores/{folder}/scores"
        if name not in archive.texts:
            archive.complain(name, "is missing", "pack the ASV-*/scores of the run", "missing file")
            continue
        scores = _read_scores(archive, name)
        enroll_set, _, trial_set = folder.partition("-")[2].rpartition("-")
        base = trial_set.removesuffix(f"_{system}") if system else trial_set
        labels = _labels(archive, base, trial_set, trials_of)
        if labels is None:
            continue
        _compare_trials(archive, name, scores, labels)
        if scores.keys() == labels.keys() and (eer := _eer(scores, labels)):
            enrolled = SetName.parse(enroll_set)
            condition = ("a" if enrolled and enrolled.system else "o") + ("a" if trial_set != base else "o")
            eers[base, condition][name] = eer
    _compare_eers(archive, eers, records)


def _read_scores(archive: _Archive, name: str) -> dict[tuple[str, str], float]:
    scores: dict[tuple[str, str], float] = {}
    for number, (spk, utt, text) in _rows(archive, name, 3):
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not np.isfinite(value):
            archive.complain(name, f"score '{text}' is no finite number", "score the trial again", "scores", number)
        elif (spk, utt) in scores:
            archive.complain(name, f"trial '{spk} {utt}' is scored twice", "keep one line", "scores", number)
        scores[spk, utt] = value
    return scores


def _labels(
    archive: _Archive, base: str, trial_set: str, trials_of: Mapping[str, Path]
) -> dict[tuple[str, str], bool] | None:
    """The trials of a set: of the original data if they are at hand, else those in the archive."""
    if base in trials_of:
        lines = trials_of[base].read_text().splitlines()
    else:
        place = next((f"data/{n}/trials" for n in (trial_set, base) if f"data/{n}/trials" in archive.texts), None)
        if place is None:
            return None
        lines = archive.texts[place].splitlines()
    fields = [line.split() for line in lines]
    return {(row[0], row[1]): row[2] == "target" for row in fields if len(row) == 3}


def _compare_trials(
    archive: _Archive, name: str, scores: Mapping[tuple[str, str], float], labels: Mapping[tuple[str, str], bool]
) -> None:
    if missing := sorted(labels.keys() - scores.keys()):
        some = name_some(" ".join(pair) for pair in missing)
        archive.complain(name, f"lacks {len(missing)} of {len(labels)} trials ({some})", "score them", "scores")
    if unknown := sorted(scores.keys() - labels.keys()):
        some = name_some(" ".join(pair) for pair in unknown)
        archive.complain(name, f"scores {len(unknown)} pairs that are no trials ({some})", "remove them", "ids")


def _eer(scores: Mapping[tuple[str, str], float], labels: Mapping[tuple[str, str], bool]) -> str:
    """The EER of the scores as results files print it; empty where there is none."""
    values = np.array([scores[pair] for pair in labels])
    is_target = np.array(list(labels.values()))
    if not is_target.any() or is_target.all() or not np.isfinite(values).all():
        return ""
    return f"{100 * eer_kaldi_fair(pool(values[is_target], values[~is_target])).value:.4g}"


def _compare_eers(
    archive: _Archive, eers: Mapping[tuple[str, str], Mapping[str, str]], records: Sequence[Record]
) -> None:
    """An EER of the results must come from the scores of one of the attackers."""
    for record in records:
        found = eers.get((record.set, record.condition), {}) if record.metric == "eer_kaldi" else {}
        shown = f"{100 * record.value:.4g}"
        if found and shown not in found.values():
            message = f"the results say an EER of {shown} %, the scores give {', '.join(sorted(set(found.values())))} %"
            archive.complain(min(found), message, "pack scores and results of the same run", "results")


def _rows(archive: _Archive, name: str, fields: int) -> Iterator[tuple[int, list[str]]]:
    """Lines with the right number of fields; the first of the others is a violation."""
    wrong = []
    for number, line in enumerate(archive.texts.get(name, "").splitlines(), start=1):
        row = line.split()
        if len(row) == fields:
            yield number, row
        else:
            wrong.append(number)
    if wrong:
        message = f"{len(wrong)} lines do not have {fields} fields"
        archive.complain(name, message, "fix the file", "number of fields", wrong[0])
