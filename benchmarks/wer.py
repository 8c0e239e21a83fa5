"""Time of 1e5 words scored by this toolkit, by kaldialign and by jiwer (RapidFuzz) on the same texts.

Usage: python benchmarks/wer.py
"""

import random
import time
from collections.abc import Callable

import jiwer
import kaldialign

from vpeval.metrics.wer import ErrorCounts, count_errors

Texts = list[list[str]]


def corpus(error_rate: float) -> tuple[Texts, Texts]:
    rng = random.Random(0)
    vocabulary = [f"word{i}" for i in range(5000)]
    refs = [rng.choices(vocabulary, k=rng.randint(2, 38)) for _ in range(5000)]
    edits = (lambda w: [], lambda w: [rng.choice(vocabulary)], lambda w: [w, rng.choice(vocabulary)])
    hyps = [[new for w in ref for new in (rng.choice(edits)(w) if rng.random() < error_rate else [w])] for ref in refs]
    return refs, hyps


def by_kaldialign(refs: Texts, hyps: Texts) -> int:
    return int(kaldialign.batch_error_rate(refs, hyps)["total"])


def by_jiwer(refs: Texts, hyps: Texts) -> int:
    result = jiwer.process_words([" ".join(ref) for ref in refs], [" ".join(hyp) for hyp in hyps])
    return result.insertions + result.deletions + result.substitutions


def by_vpeval(refs: Texts, hyps: Texts) -> int:
    return ErrorCounts.from_counts(count_errors(refs, hyps)).errors


def best_time(score: Callable[[Texts, Texts], int], refs: Texts, hyps: Texts) -> tuple[float, int]:
    times = []
    for _ in range(5):
        start = time.perf_counter()
        errors = score(refs, hyps)
        times.append(time.perf_counter() - start)
    return min(times), errors


def main() -> None:
    for error_rate in (0.05, 0.3, 0.9):
        refs, hyps = corpus(error_rate)
        ours, errors = best_time(by_vpeval, refs, hyps)
        line = f"{sum(map(len, refs))} words, error rate {error_rate:.0%}: vpeval {1000 * ours:.0f} ms"
        for name, score in (("kaldialign", by_kaldialign), ("jiwer", by_jiwer)):
            theirs, same = best_time(score, refs, hyps)
            assert same == errors, f"{name} counts {same} errors, vpeval {errors}"
            line += f", {name} {1000 * theirs:.0f} ms (ratio {theirs / ours:.1f})"
        print(line)


if __name__ == "__main__":
    main()
