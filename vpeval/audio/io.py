"""Audio files: 16 kHz, mono, read through soundfile from plain files or Kaldi pipes, and checked for damage."""

from __future__ import annotations

import io
import math
import os
import selectors
import signal
import struct
import subprocess
import time
from collections.abc import Mapping, MutableMapping
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import soundfile as sf

from vpeval.core import processes
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path, is_pipe, refuse_irregular

RATE = 16000
_BLOCK = 1 << 20
_PIPE_SECONDS = 60
_PIPE_BYTES = 1 << 29
"""More than four hours of 16-bit audio: what gives more has no end, and would fill the memory first."""
_MESSAGE_BYTES = 4096
_LOUDEST = 10.0
"""Float samples may exceed full scale a little; beyond this they have another scale, such as that of 16-bit numbers."""
_QUIETEST = 10 ** (-70 / 20)
_GLANCE = RATE // 2
_STREAMED = 0x7FFFF000
"""Sizes from here on are what programs write when they do not know the length yet."""
_CHUNK = 64
"""Entries for a process at a time; for fewer than two of these, starting processes takes longer than the work."""


@dataclass(frozen=True)
class AudioInfo:
    """The header of an audio file."""

    rate: int
    channels: int
    frames: int
    subtype: str

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.frames / self.rate


Inspected = AudioInfo | InputError
"""The header of an audio file, or why it cannot be read."""


class EndlessPipe(InputError):
    """The command of a wav.scp entry that does not end, or gives more than any recording holds."""


def probe(entry: str) -> AudioInfo:
    """The header of a wav.scp entry; an unreadable, empty or cut-off file is an InputError."""
    with _open(entry) as sound:
        frames = sound.frames if _knows_length(sound) else len(_read_all(sound, _name(entry)))
        return AudioInfo(sound.samplerate, sound.channels, frames, sound.subtype)


def read_audio(entry: str) -> np.ndarray:
    """Samples of a wav.scp entry as float32 in [-1, 1]; anything but whole 16 kHz mono audio is an InputError."""
    with _open(entry) as sound:
        name = _name(entry)
        if sound.samplerate != RATE:
            raise InputError(f"sampling rate is {sound.samplerate} Hz; convert it to {RATE} Hz", name)
        if sound.channels != 1:
            raise InputError(f"has {sound.channels} channels; convert it to mono", name)
        return _read_finite(sound, name)


def read_sound(entry: str) -> tuple[np.ndarray, int]:
    """Samples and sampling rate of audio of any kind, frames × channels where it is not mono."""
    with _open(entry) as sound:
        return _read_finite(sound, _name(entry)), sound.samplerate


def write_wave(path: str | os.PathLike[str], wave: np.ndarray, rate: int = RATE) -> None:
    """Write mono float samples as a 16-bit WAV file, atomically; values beyond ±1 saturate."""
    if not np.isfinite(wave).all():
        raise ValueError(f"{path}: NaN or infinite samples")
    pcm = np.clip(np.rint(np.asarray(wave, np.float64) * 32768), -32768, 32767).astype(np.int16)
    content = io.BytesIO()
    sf.write(content, pcm, rate, subtype="PCM_16", format="WAV")
    with atomic_path(path) as temporary:
        temporary.write_bytes(content.getbuffer())


def _open(entry: str) -> sf.SoundFile:
    name = _name(entry)
    if is_pipe(entry):
        return _open_source(io.BytesIO(_run_pipe(entry)), name)
    if audio_status(entry).st_size == 0:
        raise InputError("audio file is empty (0 bytes); make it again", name)
    return _open_source(entry, name)


def audio_status(entry: str) -> os.stat_result:
    """The status of the audio file that an entry names; what is no regular file is an InputError."""
    try:
        status = os.stat(entry)  # noqa: PTH116 (for every file of a corpus)
    except (OSError, ValueError):
        raise InputError("no such audio file; fix wav.scp or put the file there", entry) from None
    refuse_irregular(entry, status)
    return status


def _open_source(source: io.BytesIO | str, name: str) -> sf.SoundFile:
    try:
        sound = sf.SoundFile(source)
    except sf.LibsndfileError as error:
        raise InputError(f"is not readable audio ({error.error_string})", name) from None
    except TypeError:
        raise InputError("is raw audio without a sampling rate; convert it to WAV", name) from None
    try:
        _check_size(source, sound.format, name)
        if sound.frames == 0:
            raise InputError("holds no samples; make it again", name)
    except InputError:
        sound.close()
        raise
    return sound


def _knows_length(sound: sf.SoundFile) -> bool:
    """False for FLAC from a program that wrote to a pipe: libsndfile then gives the largest number there is."""
    return bool(sound.frames < np.iinfo(np.int64).max)


def _read_finite(sound: sf.SoundFile, name: str) -> np.ndarray:
    wave = _read_all(sound, name)
    peak = max(float(wave.max()), -float(wave.min()))
    if not np.isfinite(peak):
        raise InputError("holds NaN or infinite samples; make the file again", name)
    if peak > _LOUDEST:
        raise InputError(f"has samples up to {peak:g} where 1 is full scale; divide them by their scale", name)
    return wave


def is_flat(wave: np.ndarray) -> bool:
    """Whether nothing can be heard in a recording: silence (below -70 dB), or a constant."""
    return _spans_nothing(float(wave.min()), float(wave.max()))


def _spans_nothing(low: float, high: float) -> bool:
    return high - low <= 2 * _QUIETEST


def _read_all(sound: sf.SoundFile, name: str) -> np.ndarray:
    blocks, count = [], 0
    expected = sound.frames if _knows_length(sound) else None
    if expected is None:
        # soundfile seeks after every read, and there is no seeking where the length is not known.
        sound.seekable = lambda: False
    try:
        while count != expected and len(block := sound.read(_BLOCK, dtype="float32")):
            blocks.append(block)
            count += len(block)
    except sf.LibsndfileError as error:
        raise InputError(f"cannot be decoded to its end ({error.error_string}); make it again", name) from None
    if expected is not None and count < expected:
        raise InputError(f"ends after {count} of {expected} samples; the file is cut off", name)
    if count == 0:
        raise InputError("holds no samples; make it again", name)
    return blocks[0] if len(blocks) == 1 else np.concatenate(blocks)


def _name(entry: str) -> str:
    return f"pipe '{entry}'" if is_pipe(entry) else entry


def _run_pipe(entry: str) -> bytearray:
    command, name, seconds = entry.rstrip().removesuffix("|"), _name(entry), pipe_seconds()
    # A group of its own, so that all of a command that hangs can be ended.
    with subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", command],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        process_group=0,
    ) as child:
        try:
            content, errors = _read_streams(child, name, time.monotonic() + seconds)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            message = f"had not ended after {seconds:g} s; fix the command, or give it more time (VPEVAL_PIPE_SECONDS)"
            raise EndlessPipe(message, name) from None
        except BaseException:
            os.killpg(child.pid, signal.SIGKILL)
            raise
    if child.returncode != 0:
        last = errors.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise InputError(f"failed with exit code {child.returncode} ({last[0]})", name)
    if not content:
        raise InputError("gave no audio", name)
    return content


def _read_streams(child: subprocess.Popen[bytes], name: str, deadline: float) -> tuple[bytearray, bytearray]:
    """What a command gives until it ends, and the last of its messages; TimeoutExpired after the deadline."""
    assert child.stdout is not None and child.stderr is not None
    content, errors = bytearray(), bytearray()
    with selectors.DefaultSelector() as streams:
        streams.register(child.stdout, selectors.EVENT_READ, content)
        streams.register(child.stderr, selectors.EVENT_READ, errors)
        while streams.get_map():
            ready = streams.select(max(0.0, deadline - time.monotonic()))
            if time.monotonic() >= deadline:
                raise subprocess.TimeoutExpired(child.args, 0)
            for key, _ in ready:
                if part := os.read(key.fd, _BLOCK):
                    key.data.extend(part)
                else:
                    streams.unregister(key.fileobj)
            del errors[:-_MESSAGE_BYTES]
            if len(content) > _PIPE_BYTES:
                message = f"gives more than {_PIPE_BYTES >> 20} MB; does it end? Cut longer audio into utterances"
                raise EndlessPipe(message, name)
    child.wait(max(0.0, deadline - time.monotonic()))
    return content, errors


def pipe_seconds() -> float:
    """How long the command of a wav.scp entry may take: VPEVAL_PIPE_SECONDS, or a minute."""
    text = os.environ.get("VPEVAL_PIPE_SECONDS", "") or str(_PIPE_SECONDS)
    if not text.isascii() or not text.replace(".", "", 1).isdigit() or float(text) <= 0:
        raise InputError(f"VPEVAL_PIPE_SECONDS={text}: expected how many seconds a pipe may take, such as 60")
    return float(text)


def read_pipe_as_wave(entry: str) -> bytes | bytearray:
    """The output of a pipe as the content of a WAV file; samples are not changed."""
    content = _run_pipe(entry)
    if content.startswith(b"RIFF"):
        return content
    with _open_source(io.BytesIO(content), _name(entry)) as sound:
        subtype = sound.subtype if sound.subtype in ("PCM_16", "PCM_24", "PCM_32") else "FLOAT"
        wave, buffer = _read_all(sound, _name(entry)), io.BytesIO()
        sf.write(buffer, wave, sound.samplerate, subtype=subtype, format="WAV")
    return buffer.getvalue()


def _check_size(source: io.BytesIO | str, kind: str, name: str) -> None:
    """libsndfile reads a cut-off WAV or Ogg file without an error: compare the sizes in it with its own."""
    check = {"WAV": _check_wave, "WAVEX": _check_wave, "OGG": _check_ogg}.get(kind)
    if check is None:
        return
    with open(source, "rb") if isinstance(source, str) else io.BytesIO(source.getbuffer()) as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(0)
        check(file, size, name)


def _check_wave(file: BinaryIO, size: int, name: str) -> None:
    wave = read_wave_header(file)
    if wave is None:
        raise InputError("is a WAV file without samples; make it again", name)
    if wave.is_cut:
        raise InputError(f"is cut off: {wave.present} of {wave.expected} bytes of samples are there", name)


def _check_ogg(file: BinaryIO, size: int, name: str) -> None:
    """Walk from page to page: a header of 27 bytes, of which the last counts the segments, and their lengths."""
    while (header := file.read(27)).startswith(b"OggS"):
        lengths = file.read(header[-1])
        end = file.tell() + sum(lengths)
        if len(header) < 27 or len(lengths) < header[-1] or end > size:
            raise InputError("is cut off in the middle of an Ogg page; make it again", name)
        file.seek(end)


@dataclass(frozen=True)
class Wave:
    """A RIFF/WAVE header; `expected` bytes of samples should follow, `present` do; `declared` is the size of the file.

    `coding`, `channels`, `rate` and `bits` are 0 where no format stands before the samples.
    """

    coding: int
    channels: int
    rate: int
    bits: int
    expected: int
    present: int
    declared: int

    @property
    def is_cut(self) -> bool:
        """Whether samples are missing at the end."""
        return self.expected < _STREAMED and self.present < self.expected


def read_wave_header(file: BinaryIO) -> Wave | None:
    """Walk over the chunks to the samples; None where this is no WAV file or has no samples."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    head = file.read(12)
    if len(head) < 12 or head[:4] not in (b"RIFF", b"RIFX") or head[8:12] != b"WAVE":
        return None
    order = ">" if head.startswith(b"RIFX") else "<"
    (declared,) = struct.unpack(f"{order}I", head[4:8])
    form = (0, 0, 0, 0, 0, 0)
    while len(header := file.read(8)) == 8:
        chunk, length = struct.unpack(f"{order}4sI", header)
        if chunk == b"data":
            coding, channels, rate, _, _, bits = form
            return Wave(coding, channels, rate, bits, length, size - file.tell(), declared + 8)
        content = file.read(16) if chunk == b"fmt " and length >= 16 else b""
        if len(content) == 16:
            form = struct.unpack(f"{order}HHIIHH", content)
        file.seek(length + length % 2 - len(content), os.SEEK_CUR)
    return None


def inspect_audio(
    entries: Mapping[str, str], known: MutableMapping[str, Inspected] | None = None
) -> dict[str, Inspected]:
    """Inspect every entry; pipes are run. What is `known` is not opened again, and added to."""
    known = {} if known is None else known
    places = list(dict.fromkeys(entry for entry in entries.values() if entry not in known))
    if len(places) < 2 * _CHUNK or os.cpu_count() == 1:
        known.update(zip(places, map(_inspect, places), strict=True))
    else:
        # Not threads: they would spend their time waiting for each other, as most of it is Python.
        with processes.pool() as workers:
            known.update(zip(places, workers.map(_inspect, places, chunksize=_CHUNK), strict=True))
    return {utt: known[entry] for utt, entry in entries.items()}


def _inspect(entry: str) -> Inspected:
    try:
        with _open(entry) as sound:
            name = _name(entry)
            by_header = entry.lower().endswith(".wav") or is_pipe(entry)
            if by_header and _knows_length(sound) and sound.subtype not in ("FLOAT", "DOUBLE"):
                frames, nothing = sound.frames, not _has_sound(sound, name)
            else:
                # The header of a compressed file promises samples that a cut-off file does not hold.
                wave = _read_finite(sound, name)
                frames, nothing = len(wave), is_flat(wave)
            if nothing:
                raise InputError("holds nothing but silence or a constant (below -70 dB); record it again", name)
            return AudioInfo(sound.samplerate, sound.channels, frames, sound.subtype)
    except InputError as error:
        return error


def _has_sound(sound: sf.SoundFile, name: str) -> bool:
    """Whether something can be heard; speech is found soonest in the middle, so that little of it is read."""
    low, high, middle = math.inf, -math.inf, sound.frames // 2
    try:
        for place, end in ((middle, sound.frames), (0, middle)):
            sound.seek(place)
            while place < end and len(block := sound.read(min(_GLANCE, end - place), dtype="float32")):
                low, high = min(low, float(block.min())), max(high, float(block.max()))
                if not _spans_nothing(low, high):
                    return True
                place += len(block)
    except sf.LibsndfileError as error:
        raise InputError(f"cannot be decoded to its end ({error.error_string}); make it again", name) from None
    return False
