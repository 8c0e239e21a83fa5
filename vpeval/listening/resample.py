"""Other listeners, other speakers: the bootstrap of listening tests.

Ratings depend on each other through the listener and through the speakers, so both are drawn with replacement, in all
groups the same: a rating of listener l counts m[l] times what its speakers count (as in `vpeval.metrics.verification`:
the enrolled speaker for a same-speaker pair, both speakers for a different-speaker pair, and the speaker of the
utterance where only that is heard).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.core.seeds import generator
from vpeval.listening.responses import Ratings
from vpeval.metrics.bootstrap import multiplicities

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Draws:
    """How often every listener and every speaker is drawn, a row per resample."""

    listener: Counts
    spk: Counts

    def __len__(self) -> int:
        return len(self.listener)

    def weights(self, ratings: Ratings, pairs: bool) -> Iterator[Counts]:
        """The number of times that each rating counts, resample by resample; `pairs`: two speakers were heard."""
        for listener, spk in zip(self.listener, self.spk, strict=True):
            heard = spk[ratings.spk]
            if pairs:
                heard = np.where(ratings.is_target, spk[ratings.enroll], spk[ratings.enroll] * heard)
            yield listener[ratings.listener] * heard


def draw(listeners: list[int], places: int, spks: int, resamples: int, seed: int) -> Draws:
    """Draw among the listeners who answered (numbers below `places`) and among all speakers."""
    rng = generator(seed, "listening")
    drawn = np.zeros((resamples, places), dtype=np.int64)
    drawn[:, listeners] = multiplicities(len(listeners), resamples, rng)
    return Draws(drawn, multiplicities(spks, resamples, rng))
