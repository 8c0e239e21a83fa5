"""The data directories of a submission: consistent in themselves, and the same sets as the originals but for the voice.

Utterances, speakers, trials, enrolments and texts must be those of the organiser. Audio is compared by length and
level: what lasts a tenth of its original or is 40 dB quieter is no anonymised speech.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from vpeval.audio.io import read_audio
from vpeval.core.errors import InputError
from vpeval.core.files import read_lines, read_table
from vpeval.data import layout
from vpeval.data.directory import read_utt2spk
from vpeval.data.layout import first_few
from vpeval.editions.base import Edition
from vpeval.submission.archive import Archive, Sound

_SILENT = 10 ** (-70 / 20)
_QUIETER = 40.0
_SHORTEST, _LONGEST = 0.1, 10.0
_SAME = (
    *("utt2spk", "trials", "enrolls", "text", "spk2gender", "spk2fold"),
    *("utt2emo", "utt2lang", "utt2session", "utt2uniq"),
)
"""Files about words and speakers, which anonymisation does not change."""


@dataclass(frozen=True)
class Sets:
    """The sets of a submission: names of the originals by directory in the archive, and paths of the originals."""

    directories: Mapping[str, str]
    originals: Mapping[str, Path]

    @property
    def names(self) -> list[str]:
        """All original names, those of the organiser where they are known."""
        return sorted(self.originals or set(self.directories.values()))


def check_data(archive: Archive, edition: Edition, system: str, originals: Sequence[Path]) -> tuple[Sets, list[str]]:
    """Note what is wrong with the sets; return them and what was compared with the originals."""
    files = archive.under("data")
    if not files:
        archive.complain("data", "holds no anonymised speech", "pack the data directories", "missing set")
    suffix = f"_{system}"
    for name in sorted(files):
        if not name.endswith(suffix):
            message = f"is no set of system '{system}'; its name must end in {suffix}"
            archive.complain(f"data/{name}", message, "pack the sets of the system that the manifest names", "layout")
    directories = {name: name.removesuffix(suffix) for name in sorted(files)}
    for name, base in directories.items():
        _check_itself(archive, f"data/{name}", files[name])
        size = sum(archive.digests[f"data/{name}/{file}"][0] for file in files[name] if file.endswith(".wav"))
        if size < edition.least_bytes.get(base, 0):
            message = f"has {size} bytes of audio where {edition.least_bytes[base]} are demanded"
            archive.complain(f"data/{name}", message, "are all utterances there, at full length?", "size")
    given = {path.name or path.resolve().name: path for path in originals}
    compared = []
    for base, original in given.items():
        if f"{base}{suffix}" in directories:
            compared.append(_compare_set(archive, f"data/{base}{suffix}", original))
        else:
            archive.complain("data", f"no anonymised '{base}'", "anonymise and pack it", "missing set")
    if given:
        for name, base in directories.items():
            if base not in given:
                archive.unverified.append(f"data/{name}: its original was not given")
    return Sets(directories, given), compared


def _check_itself(archive: Archive, place: str, files: Sequence[str]) -> None:
    """utt2spk, wav.scp and the audio must name the same utterances."""
    for name in ("utt2spk", "wav.scp"):
        if name not in files:
            archive.complain(f"{place}/{name}", "is missing", "pack the whole data directory", "missing file")
    stems = Counter(PurePosixPath(file).stem for file in files if file.endswith(".wav"))
    for utt in sorted(utt for utt, count in stems.items() if count > 1):
        archive.complain(f"{place}/wav", f"has several files of '{utt}'", "pack one", "duplicate")
    audio = set(stems)
    if "utt2spk" in files:
        utts = {row[0] for _, row in archive.rows(f"{place}/utt2spk", 2)}
        _compare_ids(archive, f"{place}/wav", audio, utts, f"{place}/utt2spk")
    if "wav.scp" in files:
        named = set()
        for number, fields in archive.rows(f"{place}/wav.scp", 2):
            named.add(fields[0])
            if fields[1] not in archive.digests or PurePosixPath(fields[1]).stem != fields[0]:
                message = f"'{fields[0]}' has the audio file '{fields[1]}'"
                archive.complain(f"{place}/wav.scp", message, "keep the original names", "ids", number)
        _compare_ids(archive, f"{place}/wav.scp", named, audio, f"{place}/wav")


def _compare_ids(archive: Archive, name: str, have: set[str], want: set[str], source: str) -> None:
    if missing := sorted(want - have):
        message = f"lacks {len(missing)} of the {len(want)} utterances of {source} ({first_few(missing)})"
        archive.complain(name, message, "anonymise and pack them", "missing utterance")
    if unknown := sorted(have - want):
        message = f"has {len(unknown)} utterances that {source} lacks ({first_few(unknown)})"
        archive.complain(name, message, "keep the original ids", "ids")


def _compare_set(archive: Archive, place: str, original: Path) -> str:
    """Compare a set with its original; return what was compared."""
    ours = read_utt2spk(original / "utt2spk")
    theirs = {row[0] for _, row in archive.rows(f"{place}/utt2spk", 2, 2 * len(ours) + 1000)}
    _compare_ids(archive, f"{place}/utt2spk", theirs, set(ours), str(original))
    tables = [name for name in layout.present(original) if name in _SAME]
    for name in tables:
        _compare_table(archive, f"{place}/{name}", original / name)
    compared = _compare_audio(archive, place, original)
    return f"{place}: {compared} utterances by length and level, {', '.join(tables)}"


def _compare_table(archive: Archive, name: str, original: Path) -> None:
    """A file about the words and speakers must have the lines of the original, in whatever order."""
    if name not in archive.texts:
        if original.name in ("utt2spk", "trials", "enrolls"):
            archive.complain(name, "is missing", "pack the whole data directory", "missing file")
        return
    want = Counter(" ".join(line.split()) for _, line in read_lines(original, blanks=True))
    path = archive.table(name, 2 * want.total() + 1000)
    if path is None:
        return
    with open(path, encoding="utf-8", newline="\n") as file:
        have = Counter(text for line in file if (text := " ".join(line.split())))
    for more, less, what in ((have, want, "that {} has not"), (want, have, "of {} are not there")):
        if different := sorted((more - less).elements()):
            shown = first_few(line[:80] for line in different)
            message = f"{len(different)} lines {what.format(original)}: {shown}"
            archive.complain(name, message, "leave labels and texts as they are", "changed labels")


def _compare_audio(archive: Archive, place: str, original: Path) -> int:
    """Lengths and levels of all utterances against those of the originals; return how many."""
    sources = read_table(original / "wav.scp", "audio file")
    logging.info(f"{original}: comparing the audio of {len(sources)} utterances")
    sounds = {PurePosixPath(name).stem: sound for name, sound in _sounds(archive, place)}
    digests: dict[bytes, tuple[str, bytes]] = {}
    repeated = []
    unchanged = compared = 0
    lengths = np.zeros(2)
    for utt, entry in sources.items():
        if utt not in sounds:
            continue
        try:
            samples = np.clip(np.rint(read_audio(entry).astype(np.float64) * 32768), -32768, 32767).astype("<i2")
        except InputError as error:
            raise InputError(f"cannot compare with the original: {error}", original) from None
        before, after = Sound.from_samples(samples), sounds[utt]
        compared += 1
        lengths += before.seconds, after.seconds
        if fault := _fault(before, after):
            archive.complain(f"{place}/wav/{utt}.wav", fault, "pack the anonymised speech", "audio")
        unchanged += before.digest == after.digest
        other, source = digests.setdefault(after.digest, (utt, before.digest))
        if other != utt and source != before.digest:
            repeated.append(utt)
    if repeated:
        message = f"{len(repeated)} utterances have the samples of another one ({first_few(repeated)})"
        archive.complain(f"{place}/wav", message, "pack the speech of each", "audio")
    if compared and not 0.5 <= lengths[1] / lengths[0] <= 2:
        message = f"lasts {lengths[1]:.1f} s in all, the original {lengths[0]:.1f} s"
        archive.complain(f"{place}/wav", message, "pack all of the anonymised speech", "audio")
    if unchanged:
        archive.noted.append(f"{place}: {unchanged} of {compared} utterances are the originals, unchanged")
    return compared


def _sounds(archive: Archive, place: str) -> Iterator[tuple[str, Sound]]:
    return ((name, sound) for name, sound in archive.sounds.items() if name.startswith(f"{place}/"))


def _fault(before: Sound, after: Sound) -> str:
    """What shows that audio is not the anonymised speech of its original; empty if nothing does."""
    ratio = after.seconds / before.seconds
    if not _SHORTEST <= ratio <= _LONGEST:
        return f"lasts {after.seconds:.4g} s, the original {before.seconds:.4g} s"
    if before.level <= _SILENT:
        return ""
    if after.level <= _SILENT:
        return "is silent, the original is not"
    quieter = 20 * math.log10(before.level / after.level)
    return f"is {quieter:.0f} dB quieter than the original" if quieter > _QUIETER else ""
