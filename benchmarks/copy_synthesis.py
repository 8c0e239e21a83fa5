#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Find the step of the x-vector anonymiser that loses words: the same speech after each step, recognised by Whisper.

Usage: benchmarks/copy_synthesis.py [--profile YAML] [--limit N] [--wav DIR] <data-dir> <prepared-dir>
 e.g.: local/anon/xvector_pool/prepare.py --model-dir exp/b1 data/mini_train data/mini_pool
       benchmarks/copy_synthesis.py data/mini_test_trials_f exp/b1

<prepared-dir> is what local/anon/xvector_pool/prepare.py has made with the same profile, from other speakers. Prints a
table of error rates, and of DNSMOS if the package speechmos is installed. An utterance counts at most as many errors as
it has words in the column "at most 100 %": a recogniser that stutters gives a single utterance hundreds.
"""

import argparse
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from vpeval.anon import vocoder
from vpeval.anon.xvector import cpu, pool, system
from vpeval.anon.xvector.features import disguised_content, mean_log_f0, pitch
from vpeval.asr.recognizers import load_recognizer
from vpeval.audio.io import read_audio, write_wave
from vpeval.core import seeds
from vpeval.core.arrays import Floats
from vpeval.core.errors import InputError
from vpeval.data.directory import DataDir
from vpeval.data.text import NORMALIZERS, OF_ANY_SPELLING
from vpeval.metrics import quality
from vpeval.metrics.wer import ErrorCounts, score_texts

ROOT = Path(__file__).resolve().parents[1]
Step = Callable[[str, np.ndarray], Floats]


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--profile", type=Path, default=ROOT / "local/anon/xvector_pool/cpu.yaml")
    options.add_argument("--limit", type=int, default=0, help="utterances of each speaker; 0: all")
    options.add_argument("--wav", type=Path, help="keep the speech in DIR/<step>/")
    options.add_argument("data", type=Path)
    options.add_argument("prepared", type=Path)
    args = options.parse_args()
    data = DataDir.load(args.data)
    utts = [utt for own in data.spk2utt.values() for utt in own[: args.limit or None]]
    texts = {utt: data.table("text")[utt] for utt in utts}
    waves = {utt: read_audio(data.wav[utt]) for utt in utts}
    recognizer = load_recognizer(ROOT / "conf/asr/whisper_base.yaml")
    measure = mos()

    print("| speech | WER % | at most 100 % | DNSMOS signal | overall |\n|---|---|---|---|---|")
    for number, (name, step) in enumerate(steps(args.profile, args.prepared, data).items()):
        heard, scores = {}, []
        for utt, wave in waves.items():
            made = as_file(step(utt, wave))
            if args.wav:
                (args.wav / str(number)).mkdir(parents=True, exist_ok=True)
                write_wave(args.wav / str(number) / f"{utt}.wav", made)
            heard[utt] = recognizer.transcribe(made)
            scores.append(measure(made))
        wer, capped = error_rates(texts, heard)
        signal, overall = np.mean(scores, axis=0)
        print(f"| {name} | {wer:.1f} | {capped:.1f} | {signal:.2f} | {overall:.2f} |", flush=True)


def steps(profile_path: Path, prepared: Path, data: DataDir) -> dict[str, Step]:
    """What makes speech of an utterance, by what is kept of the original."""
    profile = system.read_profile(profile_path)
    if not isinstance(profile.backend, cpu.CpuBackend):
        raise InputError("has no vocoder of its own; give a profile with 'synthesis: cpu'", profile_path)
    backend = profile.backend
    draws = {utt: int(seed) for utt, seed in seeds.utt2seed(data.utt2spk, 0, "trial", "spk").items()}
    b1 = system.System(profile, prepared, pool.Rule(weights="random"), data, draws)
    own = {
        spk: system.mean_vector([b1.encoder.embed(read_audio(data.wav[utt])) for utt in utts])
        for spk, utts in data.spk2utt.items()
    }

    def say(utt: str, wave: np.ndarray, *, new_f0: bool, new_vector: bool) -> Floats:
        pseudo, content = b1.pseudo_speaker(utt), disguised_content(b1.content, wave, 1.0)
        f0 = pitch(wave)
        if new_f0:
            f0 = f0 * np.exp(pseudo.log_f0 - mean_log_f0(f0))
        vector = pseudo.vector if new_vector else own[data.utt2spk[utt]]
        return b1.synthesizer.synthesize(content, f0, vector.astype(np.float32), len(wave), rng(utt))

    def rng(utt: str) -> np.random.Generator:
        return np.random.default_rng(draws[utt])

    def vocoded(utt: str, wave: np.ndarray) -> Floats:
        return vocoder.synthesize(vocoder.analyze(wave), len(wave), rng(utt))

    def in_bands(utt: str, wave: np.ndarray) -> Floats:
        f0 = pitch(wave)
        rows = backend.target(wave, f0).astype(np.float64)
        return vocoder.synthesize(cpu.from_target(rows, f0), len(wave), rng(utt))

    return {
        "original": lambda _, wave: wave.astype(np.float64),
        "vocoder, true spectra": vocoded,
        "vocoder, true spectra in the acoustic model's bands": in_bands,
        "acoustic model, own x-vector and F0": partial(say, new_f0=False, new_vector=False),
        "acoustic model, own x-vector, F0 of the pool": partial(say, new_f0=True, new_vector=False),
        "acoustic model, x-vector and F0 of the pool: anonymised": partial(say, new_f0=True, new_vector=True),
    }


def as_file(wave: Floats) -> np.ndarray:
    """What is read again of 16-bit samples."""
    return (np.round(np.clip(wave, -1, 1) * 32767) / 32768).astype(np.float32)


def error_rates(texts: dict[str, str], heard: dict[str, str]) -> tuple[float, float]:
    """WER in percent, and the same with at most as many errors in an utterance as it has words."""
    counts = score_texts(texts, heard, NORMALIZERS[OF_ANY_SPELLING]).words
    errors, words = counts[:, :3].sum(axis=1), counts[:, 3]
    return ErrorCounts.from_counts(counts).rate, float(100 * np.minimum(errors, words).sum() / words.sum())


def mos() -> Callable[[np.ndarray], tuple[float, float]]:
    """DNSMOS of the signal and overall; not a number without its package."""
    try:
        measure = quality.dnsmos()
    except InputError:
        return lambda _: (float("nan"), float("nan"))

    def both(wave: np.ndarray) -> tuple[float, float]:
        scores = measure(wave)
        return scores["dnsmos_sig"], scores["dnsmos_ovrl"]

    return both


if __name__ == "__main__":
    main()
