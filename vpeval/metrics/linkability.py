"""Legal linkability π_link: how often a test speaker is found among N' enrolment speakers.

Vauquier et al., Legally validated evaluation framework for voice anonymization, Interspeech 2025: test speaker i is
linked iff s(test_i, enroll_i) > max_{j≠i} s(test_i, enroll_j), strictly, among the true enrolment speaker and N'-1
others drawn at random from all M. With K_i = #{j≠i : s_ij ≥ s_ii} over all M, the expectation over the draw is

    p_i(N') = C(M-1-K_i, N'-1) / C(M-1, N'-1) = Π_{k<K_i} (M-N'-k) / (M-1-k),

so one rank pass gives every N' without Monte-Carlo noise. π_link(N') is the mean of p_i over the test speakers; the
p_i are the speaker scores of the Speaker-Linkability reproduction. Chance is 1/N'. The drawn protocol of the paper is
kept for parity: an order of the others is drawn per test speaker and draw, and its first N'-1 are the rivals at N', so
that the subsets are nested. The paper draws the L test utterances anew in every draw: whoever calls this does so, too,
and takes the mean.

Side information. An attacker who knows an attribute of the person looks only at those of the N' who share it: K_i is
then counted over them alone (`ranks.count_rivals_within`), and the rest holds as it is. One group for all is the plain
metric; a person who shares the value with nobody is always linked. Guessing among those who share it succeeds with
probability E[1 / (1 + H)], H others of the group being among the N'.

A random population: a person and N-1 others, drawn without replacement from the M-1 others that there are.

If K of all M-1 others are rivals, the number H of rivals among the N is hypergeometric, and exactly

    P(H = 0)       = C(M-1-K, N-1) / C(M-1, N-1)  = Π_{k<K} (M-N-k) / (M-1-k),
    E[1 / (1 + H)] = M / (N (K+1)) · (1 - C(M-K-1, N) / C(M, N)),

the probability that nobody rivals the person, and that of picking the person at random among all who do not differ.
Running products keep the digits that ratios of gamma functions lose.

Extrapolation to more speakers than there are, and how to test it on those that there are.

Linkability. If a stranger is nearer to a test speaker than the right one with probability q, the speaker is linked
among N with probability (1-q)^(N-1). With q distributed over speakers as Beta(α, β), the number of rivals among N-1 is
beta-binomial and

    π_link(N) = B(α, β+N-1) / B(α, β),

which falls as N^-α. α and β are fitted to the ranks that were measured (`vpeval.metrics.srd`). What fewer speakers
would have shown follows as well: the rivals that are left among n of them are hypergeometric (`subsample_ranks`).

Singling out has no such form; the logit of what it has beyond chance is continued as a line over log N (`continued`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from vpeval.core.arrays import Counts, Floats
from vpeval.core.seeds import generator
from vpeval.metrics.intervals import SpeakerInterval, rate_lines, share_intervals
from vpeval.metrics.ranks import Rivals
from vpeval.metrics.srd import fit_beta_binomial


def none_drawn(n_all: int, n: int) -> Floats:
    """P(no rival among `n`) for K = 0 … M-1 rivals among `n_all`.

    >>> none_drawn(4, 3).tolist()
    [1.0, 0.3333333333333333, 0.0, 0.0]
    """
    k = np.arange(n_all - 1)
    return np.concatenate(([1.0], np.cumprod(np.maximum(n_all - n - k, 0) / (n_all - 1 - k))))


def picked(n_all: int, n: int) -> Floats:
    """E[1/(1+H)] for K = 0 … M-1 rivals among `n_all`: the chance to pick the person among the rivals in `n`.

    >>> picked(4, 4).tolist()
    [1.0, 0.5, 0.3333333333333333, 0.25]
    """
    k = np.arange(n_all)
    without = np.cumprod(np.maximum(n_all - n - k, 0) / (n_all - k))
    return n_all / (n * (k + 1)) * (1 - without)


@dataclass(frozen=True)
class Linkability:
    """Linkage probabilities, one row per value of N' and one column per test speaker; `drawn` are those of draws.

    `owner` is the speaker of every column, where several are of one.
    """

    n_enroll: tuple[int, ...]
    per_speaker: NDArray[np.float64]
    drawn: NDArray[np.float64] | None = None
    owner: Counts | None = None

    def __str__(self) -> str:
        """A line for every N'."""
        return rate_lines("linkability", "N'", self.n_enroll, self.values, self.chance)

    def intervals(self) -> list[SpeakerInterval]:
        """95 % intervals of the values, over speakers."""
        owner = np.arange(self.per_speaker.shape[1]) if self.owner is None else self.owner
        _, place, counts = np.unique(owner, return_inverse=True, return_counts=True)
        means = [np.bincount(place, row) / counts for row in self.per_speaker]
        return share_intervals(np.stack(means, axis=1), weights=counts)

    @property
    def values(self) -> NDArray[np.float64]:
        """π_link for every N'."""
        return self.per_speaker.mean(axis=1)

    @property
    def chance(self) -> NDArray[np.float64]:
        """What guessing gives: 1/N'."""
        return 1 / np.array(self.n_enroll)


def linkability(
    rivals: Rivals, n_all: int, n_enroll: Sequence[int], draws: int = 0, seed: int = 0, first: int = 0
) -> Linkability:
    """Linkability of test speakers whose `rivals` were counted among `n_all` enrolment speakers.

    `draws` 0 is the exact expectation, otherwise the mean over that many seeded draws, which are numbered from `first`.

    >>> linkability(Rivals(np.array([0, 1]), np.array([0, 0])), 3, [2, 3]).per_speaker.tolist()
    [[1.0, 0.5], [1.0, 0.0]]
    """
    if not all(1 <= n <= n_all for n in n_enroll):
        raise ValueError(f"N' must lie between 1 and {n_all}: {list(n_enroll)}")
    k = rivals.above + rivals.tied
    if draws:
        drawn = _draw(k, n_all, n_enroll, range(first, first + draws), seed)
        return Linkability(tuple(n_enroll), drawn.mean(axis=0), drawn)
    return Linkability(tuple(n_enroll), np.array([none_drawn(n_all, n)[k] for n in n_enroll]))


def _draw(k: Counts, n_all: int, n_enroll: Sequence[int], draws: Sequence[int], seed: int) -> NDArray[np.float64]:
    """Whether in every draw (row) no rival is among the first N'-1 of a random order of the others."""
    linked = np.zeros((len(draws), len(n_enroll), len(k)))
    for row, draw in enumerate(draws):
        rng = generator(seed, f"linkability draw {draw}")
        # Only the places of the K rivals in the order matter: a random subset of the M-1 places.
        first = np.array([rng.choice(n_all - 1, count, replace=False).min(initial=n_all) for count in k])
        linked[row] = first >= np.array(n_enroll)[:, None] - 1
    return linked


EXACT = 512
DRAWS = 10


def rank_counts(rivals: Counts, n_all: int, weights: Floats) -> Floats:
    """How often the true speaker has rank 1 … M, for every row of weights of the speakers.

    `rivals` are those of every speaker, or draw × speaker; of several draws it is the mean.

    >>> rank_counts(np.array([[0, 1], [0, 0]]), 2, np.array([[1.0, 1.0]])).tolist()
    [[1.5, 0.5]]
    """
    drawn = np.atleast_2d(rivals)
    return np.stack(
        [np.bincount(drawn.ravel(), weights=np.tile(row / len(drawn), len(drawn)), minlength=n_all) for row in weights]
    )


def subsample_ranks(rivals: Counts, n_all: int, n: int, seed: int = 0) -> Floats:
    """The histogram of ranks among `n`, the right one and n-1 others of all; `rivals` are those among all.

    Up to `EXACT` speakers it is the expectation over the others, beyond that the mean of some draws.
    """
    if n_all <= EXACT:
        from scipy.stats import hypergeom

        numbers, counts = np.unique(rivals, return_counts=True)
        return counts @ hypergeom.pmf(np.arange(n), n_all - 1, numbers[:, None], n - 1)
    drawn = generator(seed, "thinned ranks").hypergeometric(rivals, n_all - 1 - rivals, n - 1, (DRAWS, len(rivals)))
    return np.bincount(drawn.ravel(), minlength=n) / DRAWS


def linkability_at(counts: Floats, n: int) -> Floats:
    """π_link among `n`, any number, by the beta-binomial that fits each histogram of ranks.

    >>> linkability_at(np.ones((1, 40)), 400).round(6).tolist()
    [0.0025]
    """
    from scipy.special import betaln

    alpha, beta = fit_beta_binomial(counts)
    with np.errstate(invalid="ignore"):
        found = np.exp(betaln(alpha, beta + n - 1) - betaln(alpha, beta))
    return np.where(alpha > 0, found, 1.0)


def continued(sizes: Counts, values: Floats, speakers: int, n: int) -> Floats:
    """Rates (row) over `sizes` (column), continued to `n`; a rate of 0 or 1 counts as half a speaker more or less.

    >>> continued(np.array([10, 20, 40]), np.array([[0.5, 0.5, 0.5]]), 38, 1000).tolist()
    [0.5]
    """
    inside = np.clip(values, 0.5 / speakers, 1 - 0.5 / speakers)
    logit, x = np.log(inside / (1 - inside)), np.log(sizes)
    x = x - x.mean()
    slope = (logit * x).sum(axis=1) / np.square(x).sum()
    return 1 / (1 + np.exp(-(logit.mean(axis=1) + slope * (np.log(n) - np.log(sizes).mean()))))
