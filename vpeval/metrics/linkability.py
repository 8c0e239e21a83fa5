"""Legal linkability π_link: how often a test speaker is found among N' enrolment speakers.

Vauquier et al., Legally validated evaluation framework for voice anonymization, Interspeech 2025: test speaker i is
linked iff s(test_i, enroll_i) > max_{j≠i} s(test_i, enroll_j), strictly, among the true enrolment speaker and N'-1
others drawn at random from all M. With K_i = #{j≠i : s_ij ≥ s_ii} over all M, the expectation over the draw is

    p_i(N') = C(M-1-K_i, N'-1) / C(M-1, N'-1) = Π_{k<K_i} (M-N'-k) / (M-1-k),

so one rank pass gives every N' without Monte-Carlo noise. π_link(N') is the mean of p_i over the test speakers; the
p_i are the speaker scores of the Speaker-Linkability reproduction. Chance is 1/N'. The drawn protocol of the paper is
kept for parity: an order of the others is drawn per test speaker and draw, and its first N'-1 are the rivals at N', so
that the subsets are nested.

Side information. An attacker who knows an attribute of the person looks only at those of the N' who share it: K_i is
then counted over them alone (`ranks.count_rivals_within`), and the rest holds as it is. One group for all is the plain
metric; a person who shares the value with nobody is always linked. Guessing among those who share it succeeds with
probability E[1 / (1 + H)], H others of the group being among the N'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.core.seeds import generator
from vpeval.metrics.draws import none_drawn
from vpeval.metrics.ranks import Rivals
from vpeval.metrics.vectors import Counts


@dataclass(frozen=True)
class Linkability:
    """Linkage probabilities, one row per value of N' and one column per test speaker."""

    n_enroll: tuple[int, ...]
    per_speaker: NDArray[np.float64]

    @property
    def values(self) -> NDArray[np.float64]:
        """π_link for every N'."""
        return self.per_speaker.mean(axis=1)

    @property
    def chance(self) -> NDArray[np.float64]:
        """What guessing gives: 1/N'."""
        return 1 / np.array(self.n_enroll)


def linkability(rivals: Rivals, n_all: int, n_enroll: Sequence[int], draws: int = 0, seed: int = 0) -> Linkability:
    """Linkability of test speakers whose `rivals` were counted among `n_all` enrolment speakers.

    `draws` 0 is the exact expectation, otherwise the mean over that many seeded draws.

    >>> linkability(Rivals(np.array([0, 1]), np.array([0, 0])), 3, [2, 3]).per_speaker.tolist()
    [[1.0, 0.5], [1.0, 0.0]]
    """
    if not all(1 <= n <= n_all for n in n_enroll):
        raise ValueError(f"N' must lie between 1 and {n_all}: {list(n_enroll)}")
    k = rivals.above + rivals.tied
    rows = _draw(k, n_all, n_enroll, draws, seed) if draws else [none_drawn(n_all, n)[k] for n in n_enroll]
    return Linkability(tuple(n_enroll), np.array(rows))


def _draw(k: Counts, n_all: int, n_enroll: Sequence[int], draws: int, seed: int) -> NDArray[np.float64]:
    """Share of the draws in which no rival is among the first N'-1 of a random order of the others."""
    linked = np.zeros((len(n_enroll), len(k)))
    for draw in range(draws):
        rng = generator(seed, f"linkability draw {draw}")
        # Only the places of the K rivals in the order matter: a random subset of the M-1 places.
        first = np.array([rng.choice(n_all - 1, count, replace=False).min(initial=n_all) for count in k])
        linked += first >= np.array(n_enroll)[:, None] - 1
    return linked / draws
