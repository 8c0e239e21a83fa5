"""F0 tracks: by autocorrelation (Boersma, IFA Proceedings 17, 1993), as in the VoicePrivacy challenge, and by pYIN.

A frame's candidates are the peaks of its autocorrelation, divided by that of the window, and "unvoiced", which is the
stronger the quieter the frame. A path through the candidates of all frames is chosen that pays for jumps in frequency
and for changes of voicing. Settings and names are those of the paper; 75 to 500 Hz every 10 ms, as in the challenge.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike

import numpy as np

from vpeval.audio.io import RATE, read_audio
from vpeval.core import processes
from vpeval.core.arrays import Floats, Floats32
from vpeval.core.errors import InputError
from vpeval.core.files import atomic_path, read_arrays

FLOOR = 75.0
CEILING = 500.0
STEP = 0.01
_PERIODS = 3
_CANDIDATES = 15
_SILENCE_THRESHOLD = 0.03
_VOICING_THRESHOLD = 0.45
_OCTAVE_COST = 0.01
_OCTAVE_JUMP_COST = 0.35
_VOICED_UNVOICED_COST = 0.14

_PERIOD = int(RATE / FLOOR)
_WINDOW = int(_PERIODS * RATE / FLOOR) // 2 * 2
_HANNING = np.hanning(_WINDOW + 2)[1:-1]
_FFT = 1 << int(np.ceil(np.log2(1.5 * _WINDOW)))
_FINE = 4
"""Lags are searched in quarters of a sample: the spectrum is padded, which is interpolation by sinc functions."""

F0_MIN = 65.0
F0_MAX = 450.0
_PYIN_FRAME = 1024
_CHUNK = 32
"""Utterances for a process at a time."""


def track_f0(wave: Floats32) -> Floats:
    """F0 in Hz every 10 ms of 16 kHz audio, 0 where unvoiced; empty for less than three periods of 75 Hz."""
    frames, intensity = _cut(wave.astype(np.float64))
    if not len(frames):
        return np.zeros(0)
    frequency, strength = _candidates(_autocorrelation(frames))
    quiet = np.maximum(0, 2 - intensity * (1 + _VOICING_THRESHOLD) / _SILENCE_THRESHOLD)
    frequency = np.concatenate([np.zeros((len(frames), 1)), frequency], axis=1)
    strength = np.concatenate([(_VOICING_THRESHOLD + quiet)[:, None], strength], axis=1)
    return _best_path(frequency, strength)


def _cut(wave: Floats) -> tuple[Floats, Floats]:
    """Windowed frames without their local mean, and how loud the middle of each is compared with the loudest sample."""
    peak = np.abs(wave - wave.mean()).max() if len(wave) else 0.0
    count = int((len(wave) - _WINDOW) / (STEP * RATE)) + 1
    if len(wave) < _WINDOW or not peak:
        return np.zeros((0, _WINDOW)), np.zeros(0)
    # The frames stand symmetrically in the wave, as in Praat.
    first = (len(wave) - (count - 1) * STEP * RATE - _WINDOW) / 2
    starts = np.round(first + np.arange(count) * STEP * RATE).astype(int).clip(0, len(wave) - _WINDOW)
    sums = np.concatenate([[0.0], np.cumsum(wave)])
    middle = starts + _WINDOW // 2
    left, right = np.maximum(middle - _PERIOD, 0), np.minimum(middle + _PERIOD, len(wave))
    mean = (sums[right] - sums[left]) / (right - left)
    frames = np.lib.stride_tricks.sliding_window_view(wave, _WINDOW)[starts] - mean[:, None]
    frames *= _HANNING
    half = slice((_WINDOW - _PERIOD) // 2, (_WINDOW + _PERIOD) // 2)
    return frames, np.minimum(1.0, np.abs(frames[:, half]).max(axis=1) / peak)


def _autocorrelation(frames: Floats) -> Floats:
    """Normalised autocorrelation at lags of 0, ¼, ½ … samples, free of the shape of the window."""
    both = [np.fft.irfft(np.abs(np.fft.rfft(x, _FFT)) ** 2, _FINE * _FFT) for x in (frames, _HANNING[None])]
    signal, shape = (part[:, : _FINE * (_PERIOD + 3) + 1] for part in both)
    loudness = np.maximum(signal[:, :1], np.finfo(float).tiny)
    normalised: Floats = signal / loudness / (shape / shape[:, :1])
    return normalised


def _candidates(r: Floats) -> tuple[Floats, Floats]:
    """Frequencies and strengths of the strongest peaks of every frame; strength −∞ where there are fewer."""
    whole = r[:, ::_FINE]
    inner = whole[:, 1:-1]
    is_peak = (inner > whole[:, :-2]) & (inner >= whole[:, 2:]) & (inner > 0.5 * _VOICING_THRESHOLD)
    is_peak[:, 0] = False
    lags = np.arange(1, whole.shape[1] - 1)
    merit = np.where(is_peak, inner - _OCTAVE_COST * np.log2(FLOOR * lags / RATE), -np.inf)
    best = np.argpartition(-merit, _CANDIDATES - 1, axis=1)[:, : _CANDIDATES - 1]
    row = np.arange(len(r))[:, None]
    around = _FINE * lags[best][..., None] + np.arange(-_FINE, _FINE + 1)
    top = np.take_along_axis(around, r[row[..., None], around].argmax(axis=2)[..., None], axis=2)[..., 0]
    top = top.clip(1, r.shape[1] - 2)
    before, at, after = r[row, top - 1], r[row, top], r[row, top + 1]
    slope, bend = (after - before) / 2, 2 * at - before - after
    found = np.take_along_axis(is_peak, best, axis=1)
    shift = np.divide(slope, bend, out=np.zeros_like(bend), where=found & (bend > 0))
    height = at + slope * shift - bend * shift**2 / 2
    height = np.where(height > 1, 1 / np.maximum(height, 1), height)
    frequency = RATE * _FINE / np.maximum(top + shift, 1)
    found &= frequency < CEILING
    return np.where(found, frequency, 0.0), np.where(found, height, -np.inf)


def _best_path(frequency: Floats, strength: Floats) -> Floats:
    """Viterbi search for the sequence of candidates with the greatest strength after all costs."""
    voiced = frequency > 0
    octave = np.log2(np.where(voiced, frequency, 1.0))
    local = np.where(voiced, strength - _OCTAVE_COST * (np.log2(CEILING) - octave), strength)
    total = local[0]
    back = np.zeros(frequency.shape, int)
    rows = np.arange(frequency.shape[1])
    for t in range(1, len(frequency)):
        jump = _OCTAVE_JUMP_COST * np.abs(octave[t - 1][:, None] - octave[t])
        cost = np.where(
            voiced[t - 1][:, None] & voiced[t],
            jump,
            _VOICED_UNVOICED_COST * (voiced[t - 1][:, None] != voiced[t]),
        )
        arriving = total[:, None] - cost
        back[t] = arriving.argmax(axis=0)
        total = arriving[back[t], rows] + local[t]
    path = np.empty(len(frequency), int)
    path[-1] = total.argmax()
    for t in range(len(path) - 1, 0, -1):
        path[t - 1] = back[t, path[t]]
    chosen: Floats = frequency[np.arange(len(path)), path]
    return chosen


def track_pyin(wave: Floats32) -> Floats:
    """F0 in Hz by pYIN (librosa) every 10 ms of 16 kHz audio; NaN where unvoiced."""
    try:
        from librosa import pyin
    except ImportError:
        raise InputError("F0 tracking needs librosa; install what requirements.txt names") from None
    if len(wave) < _PYIN_FRAME:
        wave = np.pad(wave, (0, _PYIN_FRAME - len(wave)))
    f0, _, _ = pyin(wave, fmin=F0_MIN, fmax=F0_MAX, sr=RATE, frame_length=_PYIN_FRAME, hop_length=RATE // 100)
    return f0


@dataclass(frozen=True)
class Tracked:
    """The F0 of an utterance every 10 ms, 0 where unvoiced, and its length in seconds."""

    f0: Floats
    seconds: float


def track_all(entries: Mapping[str, str], nj: int = 1) -> dict[str, Tracked]:
    """Compute the F0 of the utterances of a wav.scp, in `nj` processes."""
    if nj == 1:
        return dict(zip(entries, map(_track, entries.values()), strict=True))
    with processes.pool(nj) as workers:
        return dict(zip(entries, workers.map(_track, entries.values(), chunksize=_CHUNK), strict=True))


def track_to_file(entries: Mapping[str, str], path: str | PathLike[str], nj: int = 1) -> str:
    """Write the F0 of the utterances of a wav.scp; return what was done."""
    write_tracks(path, track_all(entries, nj))
    return f"F0 of {len(entries)} utterances"


def write_tracks(path: str | PathLike[str], tracks: Mapping[str, Tracked]) -> None:
    """Write the tracks as npz, atomically."""
    with atomic_path(path) as temporary, open(temporary, "wb") as file:
        np.savez(
            file,
            utts=np.array(list(tracks), dtype=str),
            lengths=np.array([len(one.f0) for one in tracks.values()]),
            seconds=np.array([one.seconds for one in tracks.values()]),
            f0=np.concatenate([np.zeros(0), *(one.f0 for one in tracks.values())]),
        )


def read_tracks(path: str | PathLike[str]) -> dict[str, Tracked]:
    """Read what `write_tracks` wrote."""
    again = "remove it and run the stage that makes it"
    stored = read_arrays(path, "F0 tracks", again, {"utts": 1, "lengths": 1, "seconds": 1, "f0": 1})
    utts, seconds, lengths = (stored[name].tolist() for name in ("utts", "seconds", "lengths"))
    if not len(utts) == len(seconds) == len(lengths) or sum(lengths) != len(stored["f0"]):
        raise InputError(f"holds no F0 tracks (its parts do not fit together); {again}", path)
    parts = np.split(stored["f0"], np.cumsum(lengths, dtype=np.int64)[:-1])
    return {utt: Tracked(f0, length) for utt, f0, length in zip(utts, parts, seconds, strict=True)}


def _track(entry: str) -> Tracked:
    wave = read_audio(entry)
    return Tracked(track_f0(wave), len(wave) / RATE)
