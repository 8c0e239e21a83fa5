"""Formants, pitch and tempo moved by factors: signal processing in the spirit of system I1 of the challenges.

The vocoder analyses the speech; the envelope is stretched along frequency, log F0 is shifted and its range scaled
around its mean, time is stretched, and the vocoder synthesises speech again.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from vpeval.anon.vocoder import Speech, analyze, synthesize
from vpeval.audio.vtln import warp_map
from vpeval.core.arrays import AnyFloats, Floats

_LOWEST_F0, _HIGHEST_F0 = 60.0, 500.0


@dataclass(frozen=True)
class Change:
    """Factors on formants, mean F0, range of log F0, and speaking rate; 1 leaves things as they are."""

    formants: float = 1.0
    f0: float = 1.0
    f0_range: float = 1.0
    rate: float = 1.0

    def __call__(self, wave: AnyFloats, rng: np.random.Generator) -> Floats:
        """Change 16 kHz speech; `rng` makes the noise of unvoiced sounds."""
        speech = self.apply(analyze(wave))
        return synthesize(speech, max(1, round(len(wave) / self.rate)), rng)

    def apply(self, speech: Speech) -> Speech:
        """The changed parameters."""
        frames = np.arange(0, len(speech.f0) - 0.5, self.rate)
        low = frames.astype(np.int64)
        high = np.minimum(low + 1, len(speech.f0) - 1)
        part = (frames - low)[:, None]
        near = np.minimum(np.rint(frames).astype(np.int64), len(speech.f0) - 1)
        envelope = speech.envelope[low] + part * (speech.envelope[high] - speech.envelope[low])
        source = warp_map(self.formants, envelope.shape[1])
        bins = np.minimum(source.astype(np.int64), envelope.shape[1] - 2)
        warped = envelope[:, bins] + (source - bins) * (envelope[:, bins + 1] - envelope[:, bins])
        return Speech(self._f0(speech.f0)[near], warped, speech.noise[near])

    def _f0(self, f0: Floats) -> Floats:
        voiced = f0 > 0
        if not voiced.any():
            return f0
        log = np.log(f0[voiced])
        moved = np.full_like(f0, 0)
        moved[voiced] = np.exp(log.mean() + np.log(self.f0) + self.f0_range * (log - log.mean()))
        return np.where(voiced, np.clip(moved, _LOWEST_F0, _HIGHEST_F0), 0)


def draw_change(rng: np.random.Generator) -> Change:
    """A change that is audible: formants by 8–18 % and pitch by 15–40 %, both up or both down; range and rate a bit."""
    up = rng.random() < 0.5
    formants, f0 = 1 + rng.uniform(0.08, 0.18), 1 + rng.uniform(0.15, 0.4)
    return Change(
        formants if up else 1 / formants,
        f0 if up else 1 / f0,
        float(rng.uniform(0.7, 1.2)),
        float(rng.uniform(0.9, 1.1)),
    )
