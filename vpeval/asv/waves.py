"""Waves as speaker encoders can take them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from vpeval.audio.io import read_audio

_SHORTEST = 4000  # a quarter of a second: below that the statistics pooling has next to nothing to pool


def long_enough(wave: np.ndarray) -> np.ndarray:
    """The wave, repeated if it is very short."""
    return wave if len(wave) >= _SHORTEST else np.pad(wave, (0, _SHORTEST - len(wave)), mode="wrap")


def in_random_order(utts: Sequence[tuple[str, str]], rng: np.random.Generator) -> Iterator[tuple[str, np.ndarray]]:
    """Utterances (id, audio) with their samples, for as long as somebody listens; a job's log tells how many."""
    for number, index in enumerate(rng.permutation(len(utts)), start=1):
        utt, wav = utts[index]
        yield utt, read_audio(wav)
        if number % 10 == 0 or number == len(utts):
            print(f"progress: {number}/{len(utts)}", flush=True)
