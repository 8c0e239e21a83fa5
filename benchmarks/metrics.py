#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Time the metrics against what they cannot do without: a matrix product, a sort. All ratios come from one run.

Usage: benchmarks/metrics.py

(a) legal linkability and (b) singling out at the size of Common Voice, (c) all verification metrics of 1e6 scores,
(d) bootstrap intervals of a VoicePrivacy set. Memory is the peak of a process of its own, inputs included.
"""

import multiprocessing
import resource
import time
from collections.abc import Callable

import numpy as np

from vpeval.metrics.cllr import cllr, min_cllr
from vpeval.metrics.dcf import min_dcf
from vpeval.metrics.dsys import dsys
from vpeval.metrics.eer import eer_kaldi, eer_rocch, eer_threshold
from vpeval.metrics.linkability import linkability
from vpeval.metrics.ranks import count_rivals
from vpeval.metrics.scores import pool
from vpeval.metrics.singling_out import singling_out
from vpeval.metrics.verification import ScoredTrials, verification
from vpeval.metrics.zebra import zebra

ALL, TEST, ENROLL, FOLDS, DIMENSION = 22024, 4949, 495, 10, 192
SIZES = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, ALL)


def main() -> None:
    for part in (time_linkability, time_three_lengths, time_singling_out, time_verification, time_bootstrap):
        # A process of its own, as the peak memory of a process never falls.
        process = multiprocessing.get_context("spawn").Process(target=part)
        process.start()
        process.join()


def time_linkability() -> None:
    compare_linkability("(a) linkability, 22,024 x 4,949, 11 N', one L", 1, limit=3)


def time_three_lengths() -> None:
    compare_linkability("(a) linkability, 22,024 x 4,949, 11 N', three L", 3, limit=3)


def compare_linkability(title: str, lengths: int, limit: float) -> None:
    rng = np.random.default_rng(0)
    enroll = rng.standard_normal((ALL, DIMENSION), np.float32)
    owner = np.tile(np.sort(rng.permutation(ALL)[:TEST]), lengths)
    test = enroll[owner] + 4 * rng.standard_normal((len(owner), DIMENSION), np.float32)
    ours, memory = measure(lambda: linkability(count_rivals(enroll, test, owner), ALL, SIZES))
    bare, _ = measure(lambda: test[:TEST] @ enroll.T)
    report(title, ours, bare * lengths, limit, memory, 1000)


def time_singling_out() -> None:
    rng = np.random.default_rng(0)
    centres = rng.standard_normal((ALL, DIMENSION), np.float32)
    folds = np.empty((FOLDS, ALL, DIMENSION), np.float32)
    for vectors in folds:
        vectors[:] = centres + rng.standard_normal((ALL, DIMENSION), np.float32)
    owner = np.sort(rng.permutation(ALL)[:ENROLL])
    enroll = centres[owner] + rng.standard_normal((ENROLL, DIMENSION), np.float32)
    counts = np.full(ALL, FOLDS)
    ours, memory = measure(lambda: singling_out(enroll, owner, folds, counts, [ALL]))
    flat = folds.reshape(-1, DIMENSION)
    bare, _ = measure(lambda: enroll @ flat.T)
    report("(b) singling out, N = 22,024, 495 enrolled, 10 folds, one draw", ours, bare, 4, memory, 2000)


def time_verification() -> None:
    rng = np.random.default_rng(0)
    targets, nontargets = rng.normal(2, 2, 50_000), rng.normal(-2, 2, 950_000)
    pooled = np.concatenate((targets, nontargets))
    rng.shuffle(pooled)
    all_metrics(targets[:100], nontargets[:100])  # loads scipy
    sort, metrics = fastest(lambda: np.argsort(pooled), lambda: all_metrics(targets, nontargets))
    print(
        f"(c) all verification metrics of 1e6 scores: {metrics * 1e3:.0f} ms, one argsort {sort * 1e3:.0f} ms, "
        f"ratio {metrics / sort:.2f} (limit 2.5)",
        flush=True,
    )


def time_bootstrap() -> None:
    trials = challenge_set(np.random.default_rng(0))
    start = time.process_time()
    verification(trials, resamples=1000)
    seconds = time.process_time() - start
    size = f"{trials.counts['targets']} + {trials.counts['nontargets']} trials"
    print(f"(d) 1000 resamples of all verification metrics, {size}: {seconds:.1f} s of one core (limit 20)")


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


def measure(function: Callable[[], object]) -> tuple[float, float]:
    """Seconds of the best of three runs, and the peak memory so far in MB."""
    times = []
    for _ in range(3):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def report(title: str, ours: float, bare: float, limit: float, memory: float, most: float) -> None:
    print(
        f"{title}: {ours:.2f} s, bare product {bare:.2f} s, ratio {ours / bare:.2f} (limit {limit}); "
        f"peak memory {memory:.0f} MB (limit {most:.0f})",
        flush=True,
    )


if __name__ == "__main__":
    main()
