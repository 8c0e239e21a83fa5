"""Audio in and out: 16 kHz, mono, read through soundfile from plain files or Kaldi pipes."""

from __future__ import annotations

import io
import os
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soundfile as sf

from vpeval.errors import InputError
from vpeval.files import atomic_path

RATE = 16000
_STREAMED = 0x7FFFF000  # sizes from here on are what programs write when they do not know the length yet


@dataclass(frozen=True)
class AudioInfo:
    """What the header of an audio file says."""

    rate: int
    channels: int
    frames: int
    subtype: str

    @property
    def duration(self) -> float:
        """Length in seconds."""
        return self.frames / self.rate


def is_pipe(entry: str) -> bool:
    """Whether a wav.scp entry is a command whose output is the audio (``flac -dcs x.flac |``)."""
    return entry.rstrip().endswith("|")


def probe(entry: str) -> AudioInfo:
    """The header of a wav.scp entry; an unreadable, empty or cut-off file is an InputError."""
    with _open(entry) as sound:
        return AudioInfo(sound.samplerate, sound.channels, sound.frames, sound.subtype)


def read_audio(entry: str) -> np.ndarray:
    """Samples of a wav.scp entry as float32 in [-1, 1]; anything but whole 16 kHz mono audio is an InputError."""
    with _open(entry) as sound:
        name = _name(entry)
        if sound.samplerate != RATE:
            raise InputError(f"sampling rate is {sound.samplerate} Hz; convert it to {RATE} Hz", name)
        if sound.channels != 1:
            raise InputError(f"has {sound.channels} channels; convert it to mono", name)
        try:
            wave = sound.read(dtype="float32")
        except sf.LibsndfileError as error:
            raise InputError(f"cannot be decoded to its end ({error.error_string}); make it again", name) from None
        if len(wave) < sound.frames:
            raise InputError(f"ends after {len(wave)} of {sound.frames} samples; the file is cut off", name)
    if not np.isfinite(wave).all():
        raise InputError("holds NaN or infinite samples; make the file again", name)
    return wave


def write_wave(path: str | os.PathLike[str], wave: np.ndarray, rate: int = RATE) -> None:
    """Write mono float samples as a 16-bit WAV file, atomically; values beyond ±1 saturate."""
    if not np.isfinite(wave).all():
        raise ValueError(f"{path}: NaN or infinite samples")
    pcm = np.clip(np.rint(np.asarray(wave, np.float64) * 32768), -32768, 32767).astype(np.int16)
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        sf.write(file, pcm, rate, subtype="PCM_16", format="WAV")


def _open(entry: str) -> sf.SoundFile:
    name = _name(entry)
    if is_pipe(entry):
        source: io.BytesIO | str = io.BytesIO(_run_pipe(entry))
    else:
        if not Path(entry).is_file():
            raise InputError("no such audio file; mend wav.scp or put the file there", name)
        if Path(entry).stat().st_size == 0:
            raise InputError("audio file is empty (0 bytes); make it again", name)
        source = entry
    try:
        sound = sf.SoundFile(source)
    except sf.LibsndfileError as error:
        raise InputError(f"is not readable audio ({error.error_string})", name) from None
    if isinstance(source, str) and sound.format in ("WAV", "WAVEX"):
        _check_wave_size(source)
    if sound.frames == 0:
        raise InputError("holds no samples; make it again", name)
    return sound


def _name(entry: str) -> str:
    return f"pipe '{entry}'" if is_pipe(entry) else entry


def _run_pipe(entry: str) -> bytes:
    command = entry.rstrip().removesuffix("|")
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, check=False)
    if done.returncode != 0:
        last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or ["no message"]
        raise InputError(f"failed with exit code {done.returncode} ({last[0]})", _name(entry))
    if not done.stdout:
        raise InputError("gave no audio", _name(entry))
    return done.stdout


def _check_wave_size(path: str) -> None:
    """libsndfile reads a truncated WAV without a word: compare the data chunk with the size of the file."""
    size = Path(path).stat().st_size
    with open(path, "rb") as file:
        file.seek(12)
        while len(header := file.read(8)) == 8:
            chunk, length = struct.unpack("<4sI", header)
            if chunk == b"data":
                have = size - file.tell()
                if length < _STREAMED and have < length:
                    raise InputError(f"is cut off: {have} of {length} bytes of samples are there", path)
                return
            file.seek(length + length % 2, os.SEEK_CUR)
    raise InputError("is a WAV file without samples; make it again", path)
