"""The data directories of a submission: consistent in themselves, and the same sets as the originals but for the voice.

Utterances, speakers, trials, enrolments and texts must be those of the organiser. Audio is compared by length, level,
waveform and spectrum (`vpeval.submission.likeness`): what lasts a tenth of its original, is 40 dB quieter, is the
original itself, or is no nearer to its original than to others, is no anonymised speech.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
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
from vpeval.submission import likeness
from vpeval.submission.archive import LIKENESS, Archive, Sound

_SILENT = 10 ** (-70 / 20)
_QUIETER = 40.0
_SHORTEST, _LONGEST = 0.1, 10.0
_FEW = 0.1
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


def check_data(
    archive: Archive, edition: Edition, system: str, originals: Sequence[Path], audio: AudioPairs
) -> tuple[Sets, list[str]]:
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
    given = {_name(path): path for path in originals}
    compared = []
    for base, original in given.items():
        if f"{base}{suffix}" in directories:
            compared.append(_compare_set(archive, f"data/{base}{suffix}", original, audio))
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


def _compare_set(archive: Archive, place: str, original: Path, audio: AudioPairs) -> str:
    """Compare a set with its original; return what was compared."""
    ours = read_utt2spk(original / "utt2spk")
    theirs = {row[0] for _, row in archive.rows(f"{place}/utt2spk", 2, 2 * len(ours) + 1000)}
    _compare_ids(archive, f"{place}/utt2spk", theirs, set(ours), str(original))
    tables = [name for name in layout.present(original) if name in _SAME]
    for name in tables:
        _compare_table(archive, f"{place}/{name}", original / name)
    pairs = audio.of(_name(original))
    compared = _compare_audio(archive, place, original, pairs)
    _compare_content(archive, place, original, audio, pairs)
    return f"{place}: {compared} utterances by length, level and spectrum, {', '.join(tables)}"


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


@dataclass(frozen=True)
class _Pair:
    """A submitted file next to its original: what both are like, their correlation, and where their spectra are."""

    before: Sound
    after: Sound
    correlation: float
    row: int | None


class AudioPairs:
    """Every submitted file is compared with its original as the archive is read, which is read once."""

    def __init__(self, originals: Sequence[Path], work_dir: Path) -> None:
        self._entries = {_name(path): read_table(path / "wav.scp", "audio file") for path in originals}
        self._found: dict[str, dict[str, _Pair]] = {}
        self._spectra = work_dir / "spectra"
        self._rows = 0

    def add(self, system: str, name: str, samples: np.ndarray) -> None:
        """Compare a file of the archive with its original, if it has one."""
        parts = PurePosixPath(name).parts
        base = parts[1].removesuffix(f"_{system}") if parts[0] == "data" and len(parts) > 2 else ""
        utt = PurePosixPath(name).stem
        entry = self._entries.get(base, {}).get(utt)
        if entry is None or utt in self._found.setdefault(base, {}):
            return
        try:
            original = np.clip(np.rint(read_audio(entry).astype(np.float64) * 32768), -32768, 32767).astype("<i2")
        except InputError as error:
            raise InputError(f"cannot compare with the original: {error}", base) from None
        before, after = Sound.from_samples(original), Sound.from_samples(samples)
        row = None
        if min(before.seconds, after.seconds) >= likeness.SHORTEST and before.level > _SILENT:
            row, self._rows = self._rows, self._rows + 1
            with open(self._spectra, "ab") as file:
                file.writelines(likeness.spectrum(part).tobytes() for part in (original, samples))
        alike = likeness.correlation(original, samples)
        self._found[base][utt] = _Pair(before, after, alike, row)

    def of(self, base: str) -> dict[str, _Pair]:
        """The pairs of a set, by utterance."""
        return {utt: self._found[base][utt] for utt in self._entries[base] if utt in self._found.get(base, {})}

    def likeness(self, pairs: Mapping[str, _Pair], words: Sequence[str]) -> likeness.Likeness:
        """How the spectra of pairs that have any relate to each other; `words` are their texts."""
        shape = (self._rows, 2, likeness.FRAMES, likeness.BANDS)
        spectra = np.memmap(self._spectra, np.float16, "r", shape=shape)
        rows = np.array([pair.row for pair in pairs.values()], np.intp)
        seconds = np.array([pair.before.seconds for pair in pairs.values()])
        return likeness.compare(np.asarray(spectra[rows, 0]), np.asarray(spectra[rows, 1]), seconds, words)


def _name(path: Path) -> str:
    return path.name or path.resolve().name


def _compare_audio(archive: Archive, place: str, original: Path, pairs: Mapping[str, _Pair]) -> int:
    """Lengths and levels of all utterances against those of the originals; return how many."""
    digests: dict[bytes, tuple[str, bytes]] = {}
    repeated = []
    lengths = np.zeros(2)
    words = _words(original)
    for utt, pair in pairs.items():
        lengths += pair.before.seconds, pair.after.seconds
        if fault := _fault(pair.before, pair.after):
            archive.complain(f"{place}/wav/{utt}.wav", fault, "pack the anonymised speech", "audio")
        other, source = digests.setdefault(pair.after.digest, (utt, pair.before.digest))
        if other != utt and source != pair.before.digest and not (words and words.get(utt) == words.get(other)):
            repeated.append(utt)
    if repeated:
        message = f"{len(repeated)} utterances have the samples of another one ({first_few(repeated)})"
        archive.complain(f"{place}/wav", message, "pack the speech of each", "audio")
    if pairs and not 0.5 <= lengths[1] / lengths[0] <= 2:
        message = f"lasts {lengths[1]:.1f} s in all, the original {lengths[0]:.1f} s"
        archive.complain(f"{place}/wav", message, "pack all of the anonymised speech", "audio")
    return len(pairs)


def _words(original: Path) -> dict[str, str]:
    """The texts of a set; none where all are the same, and say nothing about which utterances may sound alike."""
    texts = read_table(original / "text", "text", empty=True) if (original / "text").is_file() else {}
    return texts if len(set(texts.values())) > 1 else {}


def _compare_content(
    archive: Archive, place: str, original: Path, audio: AudioPairs, pairs: Mapping[str, _Pair]
) -> None:
    """Note audio that is its original, or is not the speech of its original."""
    same = [utt for utt, pair in pairs.items() if pair.correlation >= likeness.SAME]
    _judge(
        archive,
        place,
        same,
        "{} of {} utterances are their originals, but for gain, sign, delay or direction in time ({})",
        len(same) > _FEW * len(pairs),
        len(pairs),
    )
    measured = {utt: pair for utt, pair in pairs.items() if pair.row is not None}
    if not measured:
        archive.unverified.append(f"{place}/wav: what is said was not compared, as all utterances are too short")
        return
    words = _words(original)
    found = audio.likeness(measured, [words.get(utt, "") for utt in measured])
    _judge(
        archive,
        place,
        [utt for utt, repeats in zip(measured, found.repeats, strict=True) if repeats],
        "{} of {} utterances sound nearly the same as another one ({})",
        float(found.repeats.mean()) > _FEW,
        len(measured),
    )
    others = found.place >= likeness.CHANCE
    enough = len(measured) >= likeness.FEWEST
    _judge(
        archive,
        place,
        [utt for utt, other in zip(measured, others, strict=True) if other],
        "{} of {} utterances are no nearer to their originals than to others ({})",
        enough and float(found.place.mean()) > likeness.UNRELATED,
        len(measured),
        likeness.USUAL,
    )
    if not enough:
        archive.unverified.append(
            f"{place}/wav: {len(measured)} utterances are too few to tell whether they say what their originals say"
        )


def _judge(
    archive: Archive, place: str, utts: Sequence[str], message: str, refused: bool, total: int, usual: float = 0.0
) -> None:
    """Refuse what is wrong with many utterances; what is wrong with a few is not verified, unless that is usual."""
    said = message.format(len(utts), total, first_few(utts))
    if refused:
        archive.complain(f"{place}/wav", said, "pack the anonymised speech of each", LIKENESS)
    elif len(utts) > usual * total:
        archive.unverified.append(f"{place}/wav: {said}")


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
