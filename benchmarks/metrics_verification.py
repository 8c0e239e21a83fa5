#!/usr/bin/env python3
"""Time the verification metrics against one sort, and the bootstrap of a challenge set; ratios of one run.

Usage: PYTHONPATH=. python3 benchmarks/metrics_verification.py
"""

import time
from collections.abc import Callable

import numpy as np

from vpeval.metrics.cllr import cllr, min_cllr
from vpeval.metrics.dcf import min_dcf
from vpeval.metrics.dsys import dsys
from vpeval.metrics.eer import eer_kaldi, eer_rocch, eer_threshold
from vpeval.metrics.scores import pool
from vpeval.metrics.verification import ScoredTrials, verification
from vpeval.metrics.zebra import zebra


def main() -> None:
    rng = np.random.default_rng(0)
    targets, nontargets = rng.normal(2, 2, 50_000), rng.normal(-2, 2, 950_000)
    pooled = np.concatenate((targets, nontargets))
    rng.shuffle(pooled)
    all_metrics(targets[:100], nontargets[:100])  # loads scipy
    sort, metrics = fastest(lambda: np.argsort(pooled), lambda: all_metrics(targets, nontargets))
    print(f"one argsort of 1e6 scores         {sort * 1e3:8.1f} ms")
    print(f"all verification metrics of them  {metrics * 1e3:8.1f} ms   {metrics / sort:.2f} × argsort (limit 2.5)")

    trials = challenge_set(rng)
    start = time.process_time()
    verification(trials, resamples=1000)
    seconds = time.process_time() - start
    counts = trials.counts
    print(
        f"1000 resamples of all metrics, {counts['targets']} + {counts['nontargets']} trials: "
        f"{seconds:.1f} s of processor time (limit 20)"
    )


def all_metrics(targets: np.ndarray, nontargets: np.ndarray) -> None:
    pooled = pool(targets, nontargets)
    for metric in (eer_kaldi, eer_threshold, eer_rocch, cllr, min_cllr, zebra, dsys):
        metric(pooled)
    for p in (0.01, 0.001):
        min_dcf(pooled, p)


def challenge_set(rng: np.random.Generator) -> ScoredTrials:
    """The size of libri_test f: 16 enrolled speakers × 734 utterances, 548 of them by enrolled speakers."""
    utt_speaker = np.concatenate((np.arange(548) % 16, 16 + np.arange(186) % 4))
    enroll, utt = np.divmod(np.arange(16 * 734), 734)
    is_target = enroll == utt_speaker[utt]
    return ScoredTrials(rng.normal(2.5 * is_target), is_target, enroll, utt_speaker[utt])


def fastest(*functions: Callable[[], object], rounds: int = 7) -> list[float]:
    """The shortest time of each function, measured in turns."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return [min(taken) for taken in times]


if __name__ == "__main__":
    main()
