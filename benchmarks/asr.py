"""Real-time factor of each recogniser in one process, and what a second process gains.

Usage: python benchmarks/asr.py [--utts N] [--lm F] [--data DIR] [<conf> ...]
 e.g.: python benchmarks/asr.py conf/asr/whisper_base.yaml conf/asr/vosk_small.yaml

Without <conf> all recognisers of conf/asr/ that can be loaded are timed. Stage 0 of run.sh makes the data directory.
"""

import argparse
import multiprocessing
import time
from collections.abc import Iterable
from multiprocessing.synchronize import Barrier
from pathlib import Path

from vpeval.asr.lm import read_arpa
from vpeval.asr.recognizers import load_recognizer
from vpeval.audio.io import RATE, read_audio
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.data.text import NORMALIZERS
from vpeval.metrics.wer import ErrorCounts, score_texts


def decode(conf: Path, lm: Path | None, wavs: dict[str, str], start: Barrier, results: multiprocessing.Queue) -> None:
    try:
        recognizer = load_recognizer(conf, read_arpa(lm) if lm else None)
    except InputError as error:
        results.put((0.0, {}, str(error)))
        return
    waves = {utt: read_audio(wav) for utt, wav in wavs.items()}
    recognizer.transcribe(next(iter(waves.values())))
    start.wait()
    begun = time.perf_counter()
    words = {utt: recognizer.transcribe(wave) for utt, wave in waves.items()}
    results.put((time.perf_counter() - begun, words, ""))


def timed(conf: Path, lm: Path | None, shares: Iterable[dict[str, str]]) -> tuple[float, dict[str, str], str]:
    """Seconds until the last process is ready, all words, and why it could not be done."""
    context = multiprocessing.get_context("spawn")
    shares = list(shares)
    start, results = context.Barrier(len(shares)), context.Queue()
    jobs = [context.Process(target=decode, args=(conf, lm, share, start, results)) for share in shares]
    for job in jobs:
        job.start()
    found = [results.get() for _ in jobs]
    for job in jobs:
        job.join()
    words = {utt: text for _, part, _ in found for utt, text in part.items()}
    return max(seconds for seconds, _, _ in found), words, next((why for _, _, why in found if why), "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--utts", type=int, default=20)
    parser.add_argument("--lm", type=Path, help="n-gram model for recognisers that take one")
    parser.add_argument("--data", type=Path, default=Path("data/mini_dev_trials_f"))
    parser.add_argument("conf", type=Path, nargs="*")
    args = parser.parse_args()

    data = DataDir.load(args.data)
    utts = data.utts[:: max(1, len(data.utts) // args.utts)][: args.utts]
    wavs = {utt: data.wav[utt] for utt in utts}
    seconds = sum(len(read_audio(wav)) for wav in wavs.values()) / RATE
    halves = [{utt: wavs[utt] for utt in utts[k::2]} for k in range(2)]
    refs = {utt: data.text[utt] for utt in utts}
    print(f"{len(utts)} utterances, {seconds:.0f} s of speech")
    for conf in args.conf or sorted(Path("conf/asr").glob("*.yaml")):
        one, words, why = timed(conf, args.lm, [wavs])
        if why:
            print(f"{conf}: {why}")
            continue
        two, _, _ = timed(conf, args.lm, halves)
        rate = ErrorCounts.from_counts(score_texts(refs, words, NORMALIZERS["vpc2020"]).words).rate
        gain = f"with 2 processes {two / seconds:.3f} ({one / two:.2f}x)"
        print(f"{conf}: RTF {one / seconds:.3f}, {gain}, WER {rate:.1f} %")


if __name__ == "__main__":
    main()
