"""Whether submitted audio is anonymised speech of its original: cheap signs that need no network and no training.

Anonymisation changes who speaks, not what is said and hardly when. Two signs follow:

- *Correlation*: the largest absolute normalised cross-correlation with the original, at any lag, forwards or reversed
  in time. It is 1 for the original whatever its gain, sign and delay. A change of voice leaves less, even one that
  keeps most of the waveform (0.9 for warped formants).
- *Place*: the share of other originals of similar length that are nearer to the audio than its own. Nearness is the
  distance of log mel spectra, without the mean of every band (the voice, the channel), after dynamic time warping. The
  place is near 0 for speech with the words of the original, and 0.5 on average for shuffled utterances, noise, or one
  utterance for all.

Spectra take `FRAMES` × `BANDS` numbers per utterance, so that they fit on disk and in memory for any set.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.fft

from vpeval.audio.io import RATE
from vpeval.core.arrays import Bools, Floats
from vpeval.core.seeds import generator

FRAMES, BANDS = 48, 16
SHORTEST = 0.25
"""Seconds: what is shorter has no course of its own, and is not compared."""
SAME = 0.995
"""From this correlation on, audio counts as the original itself."""
CHANCE, UNRELATED, USUAL = 0.5, 0.36, 0.03
"""The mean place by chance; that of a set from which on it is not the speech of its originals; and the share of
utterances at 0.5 or above that real anonymisers leave (docs/security.md has what was measured)."""
FEWEST = 20
"""With fewer utterances, places say nothing about a set."""

_LONGEST = 60 * RATE
_WINDOW, _SHIFT = 512, 256
_LOWEST, _HIGHEST = 80.0, 7600.0
_FLOOR, _EDGE = 1e-6, 10**-3.5
_WARPED = 8
_OTHERS, _NEAR = 8, 20
_BLOCK = 1000
_DOUBLE = 0.02
_DIRECTIONS, _NEXT = 6, 3


@dataclass(frozen=True)
class Likeness:
    """Of the utterances of a set: the place of every one, and those that repeat the spectrum of another one."""

    place: Floats
    repeats: Bools


def correlation(one: np.ndarray, other: np.ndarray) -> float:
    """The largest absolute normalised cross-correlation, at any lag, forwards or reversed in time.

    >>> wave = np.random.default_rng(1).normal(size=1000)
    >>> round(correlation(wave, -0.5 * np.roll(wave, 3)[::-1]), 2)
    1.0
    """
    pair = [part[:_LONGEST].astype(np.float32) for part in (one, other)]
    pair = [part - part.mean() for part in pair]
    energy = np.sqrt(np.prod([np.square(part, dtype=np.float64).sum() for part in pair]))
    if not energy:
        return 0.0
    size = scipy.fft.next_fast_len(sum(map(len, pair)), real=True)
    left, right = (scipy.fft.rfft(part, size) for part in pair)
    return float(max(np.abs(scipy.fft.irfft(left * turned, size)).max() for turned in (right.conj(), right)) / energy)


def spectrum(samples: np.ndarray) -> np.ndarray:
    """The course of an utterance: `FRAMES` × `BANDS` log energies, less the mean of every band, of variance 1.

    Silence at the edges is left out.
    """
    samples = samples[:_LONGEST].astype(np.float32)
    frames = np.lib.stride_tricks.sliding_window_view(samples, _WINDOW)[::_SHIFT]
    taper = np.hanning(_WINDOW).astype(np.float32)
    parts = (scipy.fft.rfft(frames[start : start + _BLOCK] * taper) for start in range(0, len(frames), _BLOCK))
    energy = np.concatenate([np.square(np.abs(part)) @ _bank() for part in parts])
    total = energy.sum(axis=1)
    loud = np.flatnonzero(total >= _EDGE * total.max())
    energy = energy[loud[0] : loud[-1] + 1]
    levels = np.log(np.maximum(energy, _FLOOR * energy.max() + 1e-9)).astype(np.float64)
    # Means over equal parts of the time, however short: differences of the interpolated sum.
    sums = np.concatenate((np.zeros((1, BANDS)), np.cumsum(levels, axis=0)))
    edges = np.linspace(0, len(levels), FRAMES + 1)
    course = np.diff(np.stack([np.interp(edges, np.arange(len(sums)), column) for column in sums.T], axis=1), axis=0)
    course -= course.mean(axis=0)
    return np.asarray(course / (course.std() or 1.0), np.float16)


@cache
def _bank() -> np.ndarray:
    """Triangular mel filters, frequencies × bands, each of weight 1."""
    lowest, highest = (1127 * np.log1p(edge / 700) for edge in (_LOWEST, _HIGHEST))
    mels = np.linspace(lowest, highest, BANDS + 2)
    edges = 700 * np.expm1(mels / 1127)
    frequencies = np.fft.rfftfreq(_WINDOW, 1 / RATE)[:, None]
    rising = (frequencies - edges[:-2]) / (edges[1:-1] - edges[:-2])
    falling = (edges[2:] - frequencies) / (edges[2:] - edges[1:-1])
    bank = np.clip(np.minimum(rising, falling), 0, None)
    return np.asarray(bank / bank.sum(axis=0), np.float32)


def compare(before: np.ndarray, after: np.ndarray, seconds: Floats, words: Sequence[str]) -> Likeness:
    """How submitted spectra (utterances × `FRAMES` × `BANDS`) relate to those of their originals.

    `seconds` are the durations of the originals, and `words` their texts: utterances with the same words may sound
    alike.
    """
    count = len(seconds)
    place, repeats = np.zeros(count), np.zeros(count, bool)
    codes = np.unique(np.asarray(words, dtype=str), return_inverse=True)[1] if count else np.zeros(0, np.intp)
    order = np.argsort(seconds, kind="stable")
    starts = range(0, count, _BLOCK)
    for start in starts:
        # The last block is not a short one.
        rows = order[max(0, min(start, count - _BLOCK)) : start + _BLOCK]
        old, new = (part[rows].astype(np.float32) for part in (before, after))
        place[rows] = _places(old, new, codes[rows])
        repeats[rows] |= _repeats(old, new, codes[rows])
    return Likeness(place, repeats)


def _places(before: np.ndarray, after: np.ndarray, words: np.ndarray) -> Floats:
    """The share of others that are nearer than the own original; others have other words where any have."""
    count = len(before)
    if count < 2:
        return np.zeros(count)
    rng = generator(0, "originals to compare with")
    own = _warped_distance(before, after)
    nearer, compared = np.zeros((2, count)), np.zeros((2, count))
    for _ in range(_OTHERS):
        apart = rng.integers(1, min(count - 1, _NEAR) + 1, count) * rng.choice([-1, 1], count)
        other = (np.arange(count) + apart) % count
        near = _warped_distance(before[other], after) <= own
        for kind, counts in enumerate((words[other] != words, np.ones(count, bool))):
            nearer[kind] += near & counts
            compared[kind] += counts
    chosen = (compared[0] == 0).astype(int)
    return np.take_along_axis(nearer / np.maximum(compared, 1), chosen[None], axis=0)[0]


def _warped_distance(left: np.ndarray, right: np.ndarray) -> Floats:
    """Mean squared distances of pairs of spectra along the best path, which stays near the diagonal."""
    parts = [
        _along_path(np.square(left[start : start + 64, :, None] - right[start : start + 64, None]).mean(axis=-1))
        for start in range(0, len(left), 64)
    ]
    return np.concatenate(parts)


def _along_path(distance: np.ndarray) -> Floats:
    cost = np.full((len(distance), FRAMES + 1, FRAMES + 1), np.inf)
    cost[:, 0, 0] = 0
    for total in range(2, 2 * FRAMES + 1):
        row = np.arange(max(1, total - FRAMES), min(FRAMES, total - 1) + 1)
        row = row[np.abs(2 * row - total) <= _WARPED]
        column = total - row
        steps = (cost[:, row - 1, column], cost[:, row, column - 1], cost[:, row - 1, column - 1])
        cost[:, row, column] = distance[:, row - 1, column - 1] + np.minimum.reduce(steps)
    return np.asarray(cost[:, -1, -1] / FRAMES)


def _repeats(before: np.ndarray, after: np.ndarray, words: np.ndarray) -> Bools:
    """Which utterances have nearly the spectrum of another one, though their originals differ.

    Neighbours in a few random directions are compared: what is nearly the same is near in each of them. Where texts
    differ within the set, the same words may sound the same: a synthesiser with one voice for all says them so.
    """
    count = len(before)
    found = np.zeros(count, bool)
    has_texts = len(np.unique(words)) > 1
    rng = generator(0, "directions")
    flat = after.reshape(count, -1)
    for _ in range(_DIRECTIONS):
        order = np.argsort(flat @ rng.normal(size=flat.shape[1]).astype(np.float32))
        for step in range(1, min(_NEXT, count - 1) + 1):
            left, right = order[:-step], order[step:]
            same = np.square(after[left] - after[right]).mean(axis=(1, 2)) < _DOUBLE
            same &= np.square(before[left] - before[right]).mean(axis=(1, 2)) > 2 * _DOUBLE
            if has_texts:
                same &= words[left] != words[right]
            found[right[same]] = True
    return found
