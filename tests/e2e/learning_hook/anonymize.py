#!/usr/bin/env -S bash -c '. "${VPEVAL_ROOT:-.}/path.sh" && exec python3 "$0" "$@"'
"""A hook that learns: speech gets the mean spectrum of another speaker's utterance.

Usage: tests/e2e/learning_hook/anonymize.py <data-dir> <out-wav-dir>
"""

import os
from pathlib import Path

import numpy as np
from prepare import FRAME, mean_spectrum

from vpeval.anon import hook


def anonymize(wave: np.ndarray, rate: int, seed: int, utterance: str) -> np.ndarray:
    """Filter the wave so that its mean spectrum becomes one of those that were learnt."""
    spectra = np.load(Path(os.environ["VPEVAL_HOOK_PREPARED"]) / "spectra.npy")
    gain = spectra[seed % len(spectra)] / np.maximum(mean_spectrum(wave), 1e-6)
    padded = np.pad(wave, FRAME)
    filtered = np.convolve(padded, np.fft.fftshift(np.fft.irfft(np.minimum(gain, 4.0), FRAME)), "same")
    return np.clip(filtered[FRAME : FRAME + len(wave)], -0.9, 0.9)


if __name__ == "__main__":
    hook.main(anonymize, __doc__)
