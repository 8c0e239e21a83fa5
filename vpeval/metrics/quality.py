"""Quality without listeners: DNSMOS and STOI, through the packages that publish them.

DNSMOS P.835 and P.808 (Reddy et al., ICASSP 2021 and 2022) predict the mean opinion score, 1 to 5, of an utterance by
itself: of the speech (sig), the background (bak), the whole (ovrl), and the whole in another test design (p808).
STOI and extended STOI (Taal et al., 2011; Jensen & Taal, 2016), 0 to 1, compare the envelopes of two utterances sample
by sample, so it is defined only where anonymised and original speech have the same timing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from vpeval.audio.io import RATE
from vpeval.core.lazy import require

Measure = Callable[[np.ndarray], dict[str, float]]
Comparison = Callable[[np.ndarray, np.ndarray], dict[str, float]]

_LONGEST_DRIFT = 0.025 * RATE
"""Samples by which lengths may differ: a frame of analysis, as in the challenge's own check."""


def dnsmos() -> Measure:
    """A function that gives the four scores of a 16 kHz wave; needs the package speechmos."""
    package = require("speechmos.dnsmos", "DNSMOS")

    def measure(wave: np.ndarray) -> dict[str, float]:
        scores = package.run(np.clip(wave, -1, 1), RATE)
        return {f"dnsmos_{name}": float(scores[f"{name}_mos"]) for name in ("sig", "bak", "ovrl", "p808")}

    return measure


def stoi() -> Comparison:
    """A function that compares two waves; needs the package pystoi.

    The result is empty where the lengths differ by more than a frame or there are less than 30 frames of speech.
    """
    package = require("pystoi", "STOI")

    def compare(original: np.ndarray, anonymised: np.ndarray) -> dict[str, float]:
        if abs(len(original) - len(anonymised)) > _LONGEST_DRIFT:
            return {}
        length = min(len(original), len(anonymised))
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                return {
                    name: float(package.stoi(original[:length], anonymised[:length], RATE, extended=extended))
                    for name, extended in (("stoi", False), ("estoi", True))
                }
            except RuntimeWarning:
                return {}

    return compare
