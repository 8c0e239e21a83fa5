#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Measure how often 95 % intervals contain the true value and how wide they are, for populations with known values.

Usage: benchmarks/intervals.py [<samples>]
 e.g.: benchmarks/intervals.py 400 >coverage.md

Prints the table of docs/intervals.md. Every cell has the share of samples of speakers whose interval holds the value of
the whole population, and the mean width of the intervals as a multiple of the central 95 % of the estimates:
4·<samples> (of 200), 10·<samples> for the WER; verification, which takes longest, has 4·<samples> over the number of
speakers, and <samples> at least.
"""

import sys
from collections.abc import Callable, Sequence

import numpy as np

from vpeval.metrics.intervals import FEWEST, SpeakerInterval, share_intervals
from vpeval.metrics.ranks import Ranks
from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.scores import pool
from vpeval.metrics.srd import intervals as srd_intervals
from vpeval.metrics.verification import verification
from vpeval.metrics.wer import ErrorCounts, speaker_interval

SPEAKERS = (4, 5, 7, 12, 20, 40)
RESAMPLES = 100
Draw = Callable[[np.random.Generator, int], tuple[float, SpeakerInterval]]


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"| number | truth | {' | '.join(f'{n} speakers' for n in SPEAKERS)} |")
    print("|---|---|" + "---|" * len(SPEAKERS))
    for rate in (0.0, 0.02, 0.1, 0.5, 0.95):
        row("linkability", rate, lambda rng, n, p=rate: linked(rng, n, p), 4 * samples)
    for rate in (0.025, 0.2, 0.7):
        row("IdR", rate, lambda rng, n, p=rate: identified(rng, n, p), 4 * samples)
    for rate in (0.0, 0.5, 5.0, 20.0, 60.0):
        row("WER, %", rate, lambda rng, n, p=rate: recognised(rng, n, p), 10 * samples)
    for shift in (9.0, 4.5, 3.0, 1.6, 0.7, 0.0):
        truths = population(shift)
        names = ("eer_kaldi", "eer_rocch", "min_cllr", "dsys_calibrated")
        cells = {n: verified(shift, truths, names, n, max(samples, 4 * samples // n)) for n in SPEAKERS}
        for k, name in enumerate(names):
            print(f"| {name} | {truths[name]:.3f} | {' | '.join(cells[n][k] for n in SPEAKERS)} |", flush=True)


def row(name: str, truth: float, draw: Draw, samples: int) -> None:
    cells = []
    for n in SPEAKERS:
        rng = np.random.default_rng([n, int(1000 * truth)])
        values, found = zip(*(draw(rng, n) for _ in range(samples)), strict=True)
        cells.append(cell(values, found, truth))
    print(f"| {name} | {truth:g} | {' | '.join(cells)} |", flush=True)


def cell(values: Sequence[float], found: Sequence[SpeakerInterval], truth: float) -> str:
    """Coverage in per cent, and the width over the central range of the values where that is not 0."""
    if found[0].lower is None:
        return "none"
    held = np.mean([f.lower - 1e-9 <= truth <= f.upper + 1e-9 for f in found])
    central = np.ptp(np.quantile(values, (0.025, 0.975)))
    width = np.mean([f.upper - f.lower for f in found])
    return f"{100 * held:.0f} ({width / central:.1f})" if central > 1e-3 else f"{100 * held:.0f}"


def linked(rng: np.random.Generator, n: int, rate: float) -> tuple[float, SpeakerInterval]:
    """Half of the speakers are linked for certain or never, the others with a probability between."""
    certain = rng.random(n) < 0.5
    spread = rng.beta(2 * rate, 2 * (1 - rate), n) if 0 < rate < 1 else np.full(n, rate)
    values = np.where(certain, rng.random(n) < rate, spread)
    return float(values.mean()), share_intervals(values[:, None])[0]


def identified(rng: np.random.Generator, n: int, rate: float) -> tuple[float, SpeakerInterval]:
    """Twenty inputs of each speaker among 40 references; speakers differ in how easy they are to find."""
    own = rng.beta(rate, 1 - rate, n)
    first = rng.binomial(20, own)
    rank = np.concatenate(
        [np.repeat(np.arange(40), np.r_[k, rng.multinomial(20 - k, np.full(39, 1 / 39))]) for k in first]
    )
    ranks = Ranks(rank, rank, np.repeat(np.arange(n), 20), n, 40)
    return float(first.mean() / 20), srd_intervals(ranks, resamples=RESAMPLES, seed=int(rng.integers(2**31)))["idr"]


def recognised(rng: np.random.Generator, n: int, rate: float) -> tuple[float, SpeakerInterval]:
    """Fifteen utterances of about ten words; rates of speakers vary by half of the mean, those of utterances more."""
    speaker = rng.gamma(4, 1 / 4, n)[:, None]
    words = rng.integers(5, 16, (n, 15))
    errors = rng.poisson(rate / 100 * speaker * rng.gamma(1, 1, (n, 15)) * words)
    counts = {
        str(k): ErrorCounts(substitutions=int(e), words=int(w), utts=15)
        for k, (e, w) in enumerate(zip(errors.sum(axis=1), words.sum(axis=1), strict=True))
    }
    return 100 * float(errors.sum() / words.sum()), speaker_interval(counts)


def trials(rng: np.random.Generator, n: int, utts: int, shift: float) -> ScoredTrials:
    """Every speaker against every utterance; scores vary with both speakers, their pair, the utterance and chance."""
    enroll, utt = np.divmod(np.arange(n * n * utts), n * utts)
    speaker = utt // utts
    own = enroll == speaker
    score = rng.normal(0, 0.4, n)[enroll] + rng.normal(0, 0.4, n)[speaker] + rng.normal(0, 0.4, (n, n))[enroll, speaker]
    score += rng.normal(0, 0.3, n * utts)[utt] + rng.normal(0, 0.8, len(enroll))
    score[own] += shift + (rng.normal(0, 0.5, n)[enroll[own]] if shift else 0)
    return ScoredTrials(score, own, enroll, speaker)


def population(shift: float) -> dict[str, float]:
    """The values that ever more speakers lead to."""
    if shift == 0:
        return {"eer_kaldi": 0.5, "eer_rocch": 0.5, "min_cllr": 1.0, "dsys_calibrated": 0.0}
    many = [trials(np.random.default_rng([7, k]), 60, 10, shift) for k in range(12)]
    pooled = pool(*(np.concatenate([m.score[m.is_target == own] for m in many]) for own in (True, False)))
    own = np.repeat([True, False], [pooled.n_targets, pooled.n_nontargets])
    score = np.concatenate((np.repeat(pooled.score, pooled.targets), np.repeat(pooled.score, pooled.nontargets)))
    records = verification(ScoredTrials(score, own, np.zeros(len(own), int), (~own).astype(int)), 0)
    return {record.metric: record.value for record in records}


def verified(shift: float, truths: dict[str, float], names: tuple[str, ...], n: int, samples: int) -> list[str]:
    if n < FEWEST:
        return ["none"] * len(names)
    rng = np.random.default_rng([n, int(10 * shift)])
    drawn = [{r.metric: r for r in verification(trials(rng, n, 8, shift), RESAMPLES, seed=k)} for k in range(samples)]
    return [
        cell([records[name].value for records in drawn], [records[name].interval for records in drawn], truths[name])
        for name in names
    ]


if __name__ == "__main__":
    main()
