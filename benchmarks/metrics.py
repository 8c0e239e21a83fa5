#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Time the scorers of embeddings and trials against their minimal work. All ratios come from one run.

Usage: benchmarks/metrics.py

(a) legal linkability with 1-EER and intervals, (b) singling out and (c) similarity rank disclosure among the speakers
of Common Voice, from embedding directories with few utterances of each to records: beside reading the same bytes and
the product of the same vectors. (d) All verification metrics of 1e6 scores beside one argsort; (e) the bootstrap
intervals of a VoicePrivacy set. Times are CPU seconds on one thread, each measured in turns with its baseline, so that
a busy machine slows both. (f) 1-EER among vectors of which thousands are equal to the bit, beside vectors that differ.
Memory is the peak of a process of its own. With all utterances: benchmarks/scale.py.
"""

import multiprocessing
import os
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from vpeval.asv.backend import Cosine
from vpeval.embeddings.ark import write_rows
from vpeval.embeddings.speaker_vectors import Embeddings, read_embeddings
from vpeval.measures import disclosure, linkability, singling_out
from vpeval.measures.base import Scores
from vpeval.measures.disclosure import score_srd
from vpeval.measures.legal import parse_sizes
from vpeval.measures.linkability import score_linkability
from vpeval.measures.singling_out import score_singling_out
from vpeval.metrics.one_minus_eer import compare_all
from vpeval.metrics.resampling import ScoredTrials
from vpeval.metrics.score_metrics import cllr, dsys, min_cllr, min_dcf, zebra
from vpeval.metrics.scores import eer_kaldi, eer_rocch, eer_threshold, pool
from vpeval.metrics.verification import verification

ALL, TEST, ENROLL, FOLDS, DIMENSION = 22024, 4949, 495, 10, 192
SIZES = "20,50,100,200,500,1000,2000,5000,10000,20000,all"


def main() -> None:
    os.environ |= {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL")}
    for part in (time_linkability, time_singling_out, time_srd, time_verification, time_bootstrap, time_equal):
        # A process of its own, as the peak memory of a process never falls; its libraries are loaded with one thread.
        process = multiprocessing.get_context("spawn").Process(target=part)
        process.start()
        process.join()


def time_linkability() -> None:
    def score(enroll: Embeddings, test: Embeddings) -> Scores:
        n_enroll, n_utts = (parse_sizes("", given, "") for given in (SIZES, "1"))
        return score_linkability(enroll, test, Cosine(), linkability.Options(n_enroll=n_enroll, n_utts=n_utts))

    title = f"(a) linkability and 1-EER, {ALL:,} x {TEST:,}, 11 N', one L"
    compare(title, score, (1, ALL), (1, TEST), lambda x, y: y @ x.T, limit=16)


def time_singling_out() -> None:
    def score(enroll: Embeddings, test: Embeddings) -> Scores:
        n_speakers, n_utts = (parse_sizes("", given, "") for given in ("all", "1"))
        return score_singling_out(
            enroll, test, Cosine(), singling_out.Options(n_speakers=n_speakers, n_utts=n_utts, draws=1)
        )

    title = f"(b) singling out, N = {ALL:,}, {ENROLL} enrolled, {FOLDS} folds, one draw"
    compare(title, score, (2, ENROLL), (FOLDS, ALL), lambda x, y: x[:ENROLL] @ y.T, limit=6)


def time_srd() -> None:
    def score(references: Embeddings, inputs: Embeddings) -> Scores:
        return score_srd(references, inputs, disclosure.Options(0))

    title = f"(c) rank disclosure, N = {ALL:,}, {TEST:,} inputs, without intervals"
    compare(title, score, (1, ALL), (1, TEST), lambda x, y: y @ x.T, limit=40)


def compare(
    title: str,
    score: Callable[[Embeddings, Embeddings], Scores],
    first: tuple[int, int],
    second: tuple[int, int],
    product: Callable[[np.ndarray, np.ndarray], np.ndarray],
    limit: float,
) -> None:
    """Time a scorer of two directories, with so many utterances of so many speakers, from their files to records."""
    centres = np.random.default_rng(0).standard_normal((ALL, DIMENSION), np.float32)
    with tempfile.TemporaryDirectory() as folder:
        work_dirs = [Path(folder, name) for name in ("first", "second")]
        sides = [write(out, centres, *shape) for out, shape in zip(work_dirs, (first, second), strict=True)]

        def ours() -> None:
            score(*map(read_embeddings, work_dirs)).write(Path(folder, "records.jsonl"), {})

        def bare() -> None:
            for out in work_dirs:
                np.fromfile(out / "embedding.ark", np.uint8)
            product(*sides)

        baseline, taken = fastest(bare, ours, rounds=2)
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{title}: {taken:.2f} s, bare read and product {baseline:.2f} s, ratio {taken / baseline:.2f} "
        f"(limit {limit}); peak memory {memory:.0f} MB",
        flush=True,
    )


def write(directory: Path, centres: np.ndarray, utts: int, speakers: int) -> np.ndarray:
    """An embedding directory with `utts` utterances of each of the first speakers; its vectors."""
    directory.mkdir()
    rng = np.random.default_rng(utts * speakers)
    vectors = np.repeat(centres[:speakers], utts, axis=0)
    vectors += 4 * rng.standard_normal(vectors.shape, np.float32)
    names = [f"s{spk:05d}" for spk in range(speakers) for _ in range(utts)]
    keys = [f"{name}-{directory.name}{number:06d}" for number, name in enumerate(names)]
    write_rows(directory, keys, vectors)
    lines = (f"{key} {name}\n" for key, name in zip(keys, names, strict=True))
    (directory / "utt2spk").write_text("".join(lines))
    return vectors


def time_verification() -> None:
    rng = np.random.default_rng(0)
    targets, nontargets = rng.normal(2, 2, 50_000), rng.normal(-2, 2, 950_000)
    pooled = np.concatenate((targets, nontargets))
    rng.shuffle(pooled)
    all_metrics(targets[:100], nontargets[:100])  # loads scipy
    sort, metrics = fastest(lambda: np.argsort(pooled), lambda: all_metrics(targets, nontargets))
    print(
        f"(d) all verification metrics of 1e6 scores: {metrics * 1e3:.0f} ms, one argsort {sort * 1e3:.0f} ms, "
        f"ratio {metrics / sort:.2f} (limit 2.5)",
        flush=True,
    )


def time_bootstrap() -> None:
    trials = challenge_set(np.random.default_rng(0))
    start = time.process_time()
    verification(trials, resamples=1000)
    seconds = time.process_time() - start
    size = f"{trials.counts['targets']} + {trials.counts['nontargets']} trials"
    print(f"(e) 1000 resamples of all verification metrics, {size}: {seconds:.1f} s of one core (limit 20)")


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
    """The least CPU time of each function, measured in turns."""
    times: list[list[float]] = [[] for _ in functions]
    for _ in range(rounds):
        for function, taken in zip(functions, times, strict=True):
            start = time.process_time()
            function()
            taken.append(time.process_time() - start)
    return [min(taken) for taken in times]


def time_equal() -> None:
    """Half of the references equal, two thirds of the tests, and both."""
    rng = np.random.default_rng(0)
    enroll = rng.standard_normal((4000, DIMENSION))
    test = enroll[:1500] + 2 * rng.standard_normal((1500, DIMENSION))
    same_enroll, same_test = enroll.copy(), test.copy()
    same_enroll[:2000], same_test[:1000] = enroll[0], test[0]

    def seconds(x: np.ndarray, y: np.ndarray) -> float:
        start = time.process_time()
        compare_all(x, [y], np.arange(len(y)), [20, 1000, len(x)])
        return time.process_time() - start

    cases = {"references": (same_enroll, test), "tests": (enroll, same_test), "both": (same_enroll, same_test)}
    for name, (x, y) in cases.items():
        pairs = [(seconds(enroll, test), seconds(x, y)) for _ in range(5)]
        without, equal = (min(column) for column in zip(*pairs, strict=True))
        print(
            f"(f) 1-EER, 4,000 x 1,500, equal {name}: {equal:.2f} s, {equal / without:.2f} of {without:.2f} s without"
        )


if __name__ == "__main__":
    main()
