"""A submission archive: where things are in it, and what it holds.

Everything lies in one directory::

    <system>/manifest.json                            edition, versions, seeds, size and SHA-256 of every other file
    <system>/system_description.md                    to be filled in
    <system>/results/results.txt                      the result files of the edition
    <system>/scores/ASV-<enrolls>-<trials>/scores     <spk> <utt> <score>
    <system>/text/ASR-<set>/text                      what the recogniser understood
    <system>/data/<set>_<system>/wav/<utt>.wav        16 kHz, mono, 16 bit
    <system>/data/<set>_<system>/{wav.scp,utt2spk,…}  the files of the data directory

The archive is read once from front to back. A member that could do harm (a link, a device, a path that leads outside)
is a violation and is not read. Texts are kept in a temporary directory under names of our own; of audio only a few
numbers are kept. Whatever an archive holds, this needs little memory.
"""

from __future__ import annotations

import codecs
import hashlib
import io
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

import numpy as np

from vpeval.audio.io import RATE, read_wave_header
from vpeval.data.layout import first_few
from vpeval.data.validate import Problem
from vpeval.submission.tar import Broken, Member, members

MANIFEST = "manifest.json"
DESCRIPTION = "system_description.md"
FORMAT = 1

_SAFE = re.compile(r"[A-Za-z0-9._+=@,^-]+(?:/[A-Za-z0-9._+=@,^-]+)*")
_MOST_MEMBERS = 200_000
_LONGEST_NAME = 256
_LARGEST_WAVE = 64 << 20
_LARGEST_TEXT = 256 << 20
_ALL_TEXTS = 4 << 30
_KEPT = 1000
_BLOCK = 1 << 20

REQUIREMENT, LIKENESS = "requirement", "likeness"
"""Kinds of violations: by what is lacking, and by audio that is not speech of its original. A run may end with them."""

Listener = Callable[[str, str, np.ndarray], None]
"""What gets the directory at the top, the name and the samples of every audio file."""

MOST_LINES = 400_000
"""How many lines of a file are read where the expected number is not known."""


def is_safe(name: str) -> bool:
    """Whether the name of a member stays inside its directory on every system and has no unusual characters."""
    return bool(_SAFE.fullmatch(name)) and not any(part in (".", "..") for part in name.split("/"))


@dataclass(frozen=True)
class Sound:
    """Of audio: seconds, level (the standard deviation of its samples, 1 at full scale), peak, and a digest."""

    seconds: float
    level: float
    peak: float
    digest: bytes

    @classmethod
    def from_samples(cls, samples: np.ndarray) -> Sound:
        """Measure 16-bit samples."""
        total = squares = 0.0
        peak = 0
        for start in range(0, len(samples), _BLOCK):
            block = samples[start : start + _BLOCK].astype(np.float64)
            total += block.sum()
            squares += np.square(block).sum()
            peak = max(peak, int(np.abs(block).max()))
        mean = total / max(1, len(samples))
        level = np.sqrt(max(0.0, squares / max(1, len(samples)) - mean**2)) / 32768
        digest = hashlib.sha256(np.ascontiguousarray(samples, "<i2").data).digest()
        return cls(len(samples) / RATE, float(level), peak / 32768, digest)


@dataclass
class Archive:
    """What is in an archive and what is wrong with it; `work_dir` is for copies of its texts."""

    path: Path
    work_dir: Path
    found: dict[Problem, None] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    digests: dict[str, tuple[int, bytes]] = field(default_factory=dict)
    texts: dict[str, Path] = field(default_factory=dict)
    sounds: dict[str, Sound] = field(default_factory=dict)
    tops: set[str] = field(default_factory=set)
    noted: list[str] = field(default_factory=list)
    unverified: list[str] = field(default_factory=list)
    text_bytes: int = 0

    def complain(self, name: str, message: str, remedy: str, kind: str, line: int | None = None) -> None:
        """Note a violation; of very many of a kind the first are kept, and all counted."""
        problem = Problem(self.path / name if name else self.path, line, message, remedy, kind)
        if self.counts[kind] >= _KEPT:
            self.counts[kind] += 1
        elif problem not in self.found:
            self.counts[kind] += 1
            self.found[problem] = None

    def under(self, directory: str) -> dict[str, list[str]]:
        """The files below a directory, by the name of the directory in it."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for name in self.digests:
            parts = PurePosixPath(name).parts
            if len(parts) > 2 and parts[0] == directory:
                found[parts[1]].append("/".join(parts[2:]))
        return dict(found)

    def text(self, name: str, most: int) -> str | None:
        """The words of a small file; None where it is not there. One of more than `most` bytes is a violation."""
        path = self.texts.get(name)
        if path is None:
            return None
        if path.stat().st_size > most:
            self.complain(name, f"has more than {most >> 10} kB", "no such file is that large", "size")
            return None
        return path.read_text(encoding="utf-8")

    def table(self, name: str, most: int = MOST_LINES) -> Path | None:
        """The file of a table, unless it has more than `most` lines, which is a violation."""
        path = self.texts.get(name)
        if path is None:
            return None
        lines, size = 0, path.stat().st_size
        with open(path, "rb") as file:
            while chunk := file.read(_BLOCK):
                lines += chunk.count(b"\n")
        if lines > most or size > 1000 * (most + 1):
            self.complain(name, f"has {lines} lines where at most {most} are expected", "is it the right file?", "size")
            return None
        return path

    def rows(self, name: str, fields: int, most: int = MOST_LINES) -> Iterator[tuple[int, list[str]]]:
        """Lines with the right number of fields; the first of the others is a violation."""
        path = self.table(name, most)
        if path is None:
            return
        wrong, first = 0, None
        with open(path, encoding="utf-8", newline="\n") as file:
            for number, line in enumerate(file, start=1):
                row = line.split()
                if len(row) == fields:
                    yield number, row
                else:
                    wrong, first = wrong + 1, first or number
        if wrong:
            self.complain(name, f"{wrong} lines do not have {fields} fields", "fix the file", "number of fields", first)


def scan(archive: Archive, listener: Listener | None = None) -> None:
    """Read all members; `listener` gets the samples of those that are audio."""
    try:
        for count, member in enumerate(members(archive.path)):
            if count >= _MOST_MEMBERS:
                raise Broken(f"has more than {_MOST_MEMBERS} members, and was read no further")
            _read_member(archive, member, listener)
    except Broken as error:
        archive.complain("", str(error), "pack it again", "archive")
    if len(archive.tops) > 1:
        some = first_few(sorted(archive.tops))
        archive.complain(
            "", f"has several directories at its top ({some})", "put everything into one directory", "layout"
        )


def _read_member(archive: Archive, member: Member, listener: Listener | None) -> None:
    if member.kind == "directory" and is_safe(member.name.rstrip("/")):
        return
    if not is_safe(member.name) or len(member.name) > _LONGEST_NAME:
        shown = ascii(member.name[:_LONGEST_NAME])
        archive.complain("", f"member {shown} has an unsafe name", "use plain relative paths", "unsafe path")
        return
    top, _, name = member.name.partition("/")
    if top not in archive.tops and len(archive.tops) < _KEPT:
        archive.tops.add(top)
    if member.kind != "file":
        archive.complain(name, "is a link or a device, not a file", "pack the file itself", "unsafe path")
        return
    if not name:
        archive.complain(top, "lies outside the directory of the submission", "put it into the directory", "layout")
        return
    if name in archive.digests:
        archive.complain(name, "is there twice", "pack it once", "duplicate")
        return
    if not member.size:
        archive.complain(name, "is empty", "make it again", "size")
    if member.size > (_LARGEST_WAVE if name.endswith(".wav") else _LARGEST_TEXT):
        archive.complain(name, f"has {member.size} bytes", "no file of a submission is that large", "size")
    elif name.endswith(".wav"):
        samples = _read_audio_member(archive, name, member)
        if samples is not None and listener:
            listener(top, name, samples)
    else:
        _read_text_member(archive, name, member)


def _read_audio_member(archive: Archive, name: str, member: Member) -> np.ndarray | None:
    content = bytearray()
    for chunk in member.chunks():
        content += chunk
    archive.digests[name] = len(content), hashlib.sha256(content).digest()
    fault, samples = read_wave(content)
    if fault:
        archive.complain(name, fault, f"write {RATE} Hz, mono, 16-bit PCM WAV", "audio")
        return None
    archive.sounds[name] = Sound.from_samples(samples)
    return samples


def _read_text_member(archive: Archive, name: str, member: Member) -> None:
    if archive.text_bytes + member.size > _ALL_TEXTS:
        raise Broken(f"has more than {_ALL_TEXTS >> 30} GB besides its audio, and was read no further")
    archive.text_bytes += member.size
    digest, decoder = hashlib.sha256(), codecs.getincrementaldecoder("utf-8")()
    copy = archive.work_dir / str(len(archive.texts))
    is_text = True
    with open(copy, "wb") as file:
        for chunk in member.chunks():
            digest.update(chunk)
            file.write(chunk)
            try:
                is_text = is_text and "\0" not in decoder.decode(chunk)
            except UnicodeDecodeError:
                is_text = False
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        is_text = False
    archive.digests[name] = member.size, digest.digest()
    if is_text:
        archive.texts[name] = copy
    else:
        copy.unlink()
        archive.complain(name, "is not UTF-8 text", "only audio is binary", "encoding")


def read_wave(content: bytes | bytearray) -> tuple[str, np.ndarray]:
    """What keeps a file from being a whole 16 kHz, mono, 16-bit PCM WAV file (empty if nothing does), and its samples.

    Other chunks may precede the samples, and a streaming program may not have known their number.
    """
    file = io.BytesIO(content)
    wave = read_wave_header(file)
    none = np.empty(0, "<i2")
    if wave is None:
        is_wave = bytes(content[:4]) == b"RIFF" and bytes(content[8:12]) == b"WAVE"
        return ("has no samples" if is_wave else "is no WAV file"), none
    if not wave.rate:
        return "has no format before its samples", none
    if wave.rate != RATE:
        return f"has a sampling rate of {wave.rate} Hz", none
    if wave.channels != 1:
        return f"has {wave.channels} channels", none
    if wave.coding not in (1, 0xFFFE) or wave.bits != 16 or bytes(content[:4]) == b"RIFX":
        return f"has {wave.bits}-bit samples of coding {wave.coding}, not 16-bit PCM", none
    if wave.present < wave.expected:
        return f"is cut off: {wave.present} of {wave.expected} bytes of samples are there", none
    if wave.expected < 2:
        return "has no samples", none
    start = len(content) - wave.present
    return "", np.frombuffer(content, "<i2", wave.expected // 2, start)
