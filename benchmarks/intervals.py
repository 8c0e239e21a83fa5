#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Measure how often 95 % intervals contain the true value and how wide they are, for populations with known values.

Usage: benchmarks/intervals.py [<samples>]
 e.g.: benchmarks/intervals.py 600 >coverage.md

Prints the table of docs/intervals.md. A cell has the share of samples of speakers whose interval contains the value of
the whole population, in per cent, and the mean width of these intervals as a multiple of the central 95 % of the
estimates. Verification has <samples> (200) a cell, half of them for 40 speakers; other numbers have four times as many,
shares and word error rates twenty times.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from vpeval.metrics.intervals import SpeakerInterval, share_intervals, utterance_mean
from vpeval.metrics.one_minus_eer import compare_all
from vpeval.metrics.ranks import Ranks
from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.scores import pool
from vpeval.metrics.srd import intervals as srd_intervals
from vpeval.metrics.strongest import strongest
from vpeval.metrics.uar import score_emotions, uar_interval
from vpeval.metrics.verification import verification
from vpeval.metrics.wer import ErrorCounts, speaker_interval

SPEAKERS = (4, 5, 7, 12, 20, 40)
RESAMPLES = 100
TENTH = "a tenth fails"
EMOTIONS = ("angry", "happy", "neutral", "sad")
Found = tuple[float, SpeakerInterval]
Draw = Callable[[np.random.Generator, int], Found]


def main() -> None:
    samples = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print(f"| number | population | truth | {' | '.join(f'{n} speakers' for n in SPEAKERS)} |")
    print("|---|---|---|" + "---|" * len(SPEAKERS))
    for rate in (0.0, 0.02, 0.1, 0.3, 0.5, 0.95):
        row("linkability", "mixed", rate, lambda rng, n, p=rate: linked(rng, n, p), 20 * samples)
    for rate in (0.02, 0.1, 0.5):
        row("linkability", "all or nothing", rate, lambda rng, n, p=rate: decided(rng, n, p), 20 * samples)
    for rate in (0.025, 0.2, 0.7):
        row("IdR", "", rate, lambda rng, n, p=rate: identified(rng, n, p), 4 * samples)
    for rate in (0.4, 0.7, 0.95):
        row("UAR, %", "", 100 * rate, lambda rng, n, p=rate: emotional(rng, n, p), 4 * samples)
    for kind, rates in (
        ("normal", (0.0, 0.5, 5.0, 20.0, 60.0)),
        ("heavy-tailed", (0.0, 0.5, 5.0, 20.0, 60.0)),
        ("lognormal", (5.0, 20.0, 60.0)),
        (TENTH, (5.0, 20.0)),
    ):
        for rate in rates:
            row("WER, %", kind, rate, lambda rng, n, p=rate, k=kind: recognised(rng, n, p, k), 20 * samples)
    row("mean of utterances", "", 0.0, measured, 4 * samples)
    for noise in (0.8, 1.5):
        truth = one_minus_eer(np.random.default_rng(7), 3000, noise, resamples=0)[0]
        row("one_minus_eer", "", truth, lambda rng, n, s=noise: one_minus_eer(rng, n, s), 2 * samples)
    names = (
        "eer_kaldi",
        "eer_threshold",
        "eer_rocch",
        "min_cllr",
        "zebra_population",
        "dsys_calibrated",
        "cllr",
        "min_dcf",
        "tpr_at_1_percent",
    )
    for shift in (9.0, 5.5, 4.5, 3.0, 1.6, 0.5, 0.0):
        verify("normal", shift, names, samples)
    for shift in (6.5, 4.5, 3.0, 1.6, 0.5):
        verify("wide", shift, ("eer_kaldi", "eer_rocch", "min_cllr", "dsys_calibrated"), samples)
    for shift in (4.5, 3.0):
        verify(TENTH, shift, ("eer_kaldi", "eer_rocch"), samples)
    truth = population("wide", 1.6, with_errors)["eer_rocch"]
    row("least EER of 4 attacks", "wide", truth, chosen, samples)


def row(name: str, kind: str, truth: float, draw: Draw, samples: int) -> None:
    cells = []
    for n in SPEAKERS:
        rng = np.random.default_rng([n, int(1000 * truth), len(kind)])
        cells.append(cell([draw(rng, n) for _ in range(samples)], truth))
    print(f"| {name} | {kind} | {truth:.3g} | {' | '.join(cells)} |", flush=True)


def cell(found: Sequence[Found], truth: float) -> str:
    """Coverage in per cent, and the width over the central range of the values unless nearly all of these are equal."""
    if not found or found[0][1].lower is None:
        return "none"
    held = np.mean([one.lower - 1e-9 <= truth <= one.upper + 1e-9 for _, one in found])
    central = np.ptp(np.quantile([value for value, _ in found], (0.025, 0.975)))
    width = np.mean([one.upper - one.lower for _, one in found])
    return f"{100 * held:.0f} ({width / central:.1f})" if 20 * central > width else f"{100 * held:.0f}"


def linked(rng: np.random.Generator, n: int, rate: float) -> Found:
    """Half of the speakers are linked for certain or never, the others with a probability between."""
    certain = rng.random(n) < 0.5
    spread = rng.beta(2 * rate, 2 * (1 - rate), n) if 0 < rate < 1 else np.full(n, rate)
    return share(np.where(certain, rng.random(n) < rate, spread))


def decided(rng: np.random.Generator, n: int, rate: float) -> Found:
    """Every speaker is linked for certain or never."""
    return share((rng.random(n) < rate).astype(float))


def share(values: np.ndarray) -> Found:
    return float(values.mean()), share_intervals(values[:, None])[0]


def identified(rng: np.random.Generator, n: int, rate: float) -> Found:
    """Twenty inputs of each speaker among 40 references; speakers differ in how easy they are to find."""
    first = rng.binomial(20, rng.beta(rate, 1 - rate, n))
    rank = np.concatenate(
        [np.repeat(np.arange(40), np.r_[k, rng.multinomial(20 - k, np.full(39, 1 / 39))]) for k in first]
    )
    ranks = Ranks(rank, rank, np.repeat(np.arange(n), 20), n, 40)
    return float(first.mean() / 20), srd_intervals(ranks, resamples=RESAMPLES, seed=int(rng.integers(2**31)))["idr"]


def emotional(rng: np.random.Generator, n: int, rate: float) -> Found:
    """Eight utterances of each of four emotions; speakers are recognised with a probability of their own."""
    right = rng.random((n, 8 * len(EMOTIONS))) < rng.beta(10 * rate, 10 * (1 - rate), (n, 1))
    labels = {f"{s}-{k}": EMOTIONS[k % 4] for s in range(n) for k in range(right.shape[1])}
    predictions = {utt: label if hit else "" for (utt, label), hit in zip(labels.items(), right.ravel(), strict=True)}
    utt2spk = {utt: utt.split("-")[0] for utt in labels}
    score = score_emotions(labels, predictions, utt2spk, dict.fromkeys(map(str, range(n)), "1"))
    return score.uar, uar_interval(score, labels, predictions, utt2spk)


def recognised(rng: np.random.Generator, n: int, rate: float, kind: str) -> Found:
    """Fifteen utterances of about ten words; rates of speakers vary, and those of utterances."""
    if kind == TENTH:
        speaker = np.where(rng.random(n) < 0.1, 5.5, 0.5)[:, None]
    elif kind == "lognormal":
        speaker = np.exp(rng.normal(0, 1, n) - 0.5)[:, None]
    else:
        shape = {"normal": 4, "heavy-tailed": 1}[kind]
        speaker = rng.gamma(shape, 1 / shape, n)[:, None]
    words = rng.integers(5, 16, (n, 15))
    errors = rng.poisson(rate / 100 * speaker * rng.gamma(1, 1, (n, 15)) * words)
    counts = {
        str(k): ErrorCounts(substitutions=int(e), words=int(w), utts=15)
        for k, (e, w) in enumerate(zip(errors.sum(axis=1), words.sum(axis=1), strict=True))
    }
    return 100 * float(errors.sum() / words.sum()), speaker_interval(counts)


def measured(rng: np.random.Generator, n: int) -> Found:
    """Fifteen utterances, as of pitch correlation or quality; speakers vary as much as the utterances of one do."""
    values = (rng.normal(0, 1, (n, 1)) + rng.normal(0, 1, (n, 15))).ravel()
    utt2spk = {str(k): str(k // 15) for k in range(len(values))}
    found = utterance_mean(
        dict(zip(utt2spk, values.tolist(), strict=True)), utt2spk, RESAMPLES, int(rng.integers(2**31))
    )
    return found.mean, found.interval


def one_minus_eer(rng: np.random.Generator, n: int, noise: float, resamples: int = RESAMPLES) -> Found:
    """Speakers in 16 dimensions, some of whom vary more than others."""
    own, spread = rng.normal(size=(n, 16)), noise * np.exp(0.6 * rng.normal(size=(n, 1)))
    enroll, test = (own + times * spread * rng.normal(size=(n, 16)) for times in (0.7, 1))
    found = compare_all(enroll, [test], np.arange(n), [n], resamples, int(rng.integers(2**31))).eers[0]
    return found.value, found.interval


def trials(rng: np.random.Generator, n: int, utts: int, shift: float, kind: str = "normal") -> ScoredTrials:
    """Every speaker against every utterance; scores vary with both speakers, their pair, the utterance and chance."""
    enroll, utt = np.divmod(np.arange(n * n * utts), n * utts)
    speaker = utt // utts
    own = enroll == speaker
    score = rng.normal(0, 0.4, n)[enroll] + rng.normal(0, 0.4, n)[speaker] + rng.normal(0, 0.4, (n, n))[enroll, speaker]
    score += rng.normal(0, 0.3, n * utts)[utt] + rng.normal(0, 0.8, len(enroll))
    if kind == TENTH:
        easy = shift * np.where(rng.random(n) < 0.1, -0.8, 0.8 / 9)
    else:
        easy = rng.normal(0, {"normal": 0.5, "wide": 1.2}[kind], n)
    score[own] += shift + (easy[enroll[own]] if shift else 0)
    return ScoredTrials(score, own, enroll, speaker)


def population(kind: str, shift: float, change: Callable = lambda _, some: some) -> dict[str, float]:
    """The values that ever more speakers lead to, if `change` is done to their trials."""
    if shift == 0:
        chance = {
            "eer_kaldi": 0.5,
            "eer_threshold": 0.5,
            "eer_rocch": 0.5,
            "dsys_calibrated": 0.0,
            "zebra_population": 0.0,
        }
        return chance | {"min_cllr": 1.0, "min_dcf": 1.0}
    rngs = [np.random.default_rng([7, k]) for k in range(24)]
    many = [change(rng, trials(rng, 60, 10, shift, kind)) for rng in rngs]
    pooled = pool(*(np.concatenate([m.score[m.is_target == own] for m in many]) for own in (True, False)))
    own = np.repeat([True, False], [pooled.n_targets, pooled.n_nontargets])
    score = np.concatenate((np.repeat(pooled.score, pooled.targets), np.repeat(pooled.score, pooled.nontargets)))
    return by_name(ScoredTrials(score, own, np.zeros(len(own), int), (~own).astype(int)), 0, 0, lambda one: one.value)


def by_name(some: ScoredTrials, resamples: int, seed: int, take: Callable) -> dict:
    records = verification(some, resamples, seed)
    return {record.metric: take(record) for record in records if record.params.get("p") != 0.001}


def verify(kind: str, shift: float, names: Sequence[str], samples: int) -> None:
    truths = population(kind, shift)
    drawn = {n: list(verified(kind, shift, n, samples // (1 + (n >= 40)))) for n in SPEAKERS}
    for name in (name for name in names if name in truths):
        cells = [cell([found[name] for found in drawn[n] if name in found], truths[name]) for n in SPEAKERS]
        print(f"| {name} | {kind} | {truths[name]:.3g} | {' | '.join(cells)} |", flush=True)


def verified(kind: str, shift: float, n: int, samples: int) -> Iterator[dict[str, Found]]:
    rng = np.random.default_rng([n, int(10 * shift), len(kind)])
    for k in range(samples):
        yield by_name(trials(rng, n, 8, shift, kind), RESAMPLES, k, lambda one: (one.value, one.interval))


def chosen(rng: np.random.Generator, n: int) -> Found:
    """Four attacks of the same strength on the same speakers, each with errors of its own."""
    some = trials(rng, n, 8, 1.6, "wide")
    found = strongest({k: [with_errors(rng, some)] for k in range(4)}, "eer_rocch", RESAMPLES)
    return found.eer, found.interval


def with_errors(rng: np.random.Generator, some: ScoredTrials) -> ScoredTrials:
    return replace(some, score=some.score + rng.normal(0, 0.8, len(some.score)))


if __name__ == "__main__":
    main()
