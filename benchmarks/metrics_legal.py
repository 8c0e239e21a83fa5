#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Time the legal metrics at the size of Common Voice against the bare matrix products they cannot do without.

Usage: benchmarks/metrics_legal.py

Prints the ratio of the best of three runs and the peak memory of the process, inputs included, before the bare product.
"""

import multiprocessing
import resource
import time
from collections.abc import Callable

import numpy as np

from vpeval.metrics.linkability import linkability
from vpeval.metrics.ranks import count_rivals
from vpeval.metrics.singling_out import singling_out

ALL, TEST, ENROLL, FOLDS, DIMENSION = 22024, 4949, 495, 10, 192
SIZES = (20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, ALL)


def main() -> None:
    for part in (time_linkability, time_three_lengths, time_singling_out):
        # A process of its own, as the peak memory of a process never falls.
        process = multiprocessing.get_context("spawn").Process(target=part)
        process.start()
        process.join()


def time_linkability() -> None:
    compare_linkability("linkability, 22,024 x 4,949, 11 N', one L", 1, limit=3)


def time_three_lengths() -> None:
    compare_linkability("linkability, 22,024 x 4,949, 11 N', three L", 3, limit=3)


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
    report("singling out, N = 22,024, 495 enrolled, 10 folds, one draw", ours, bare, 4, memory, 2000)


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
