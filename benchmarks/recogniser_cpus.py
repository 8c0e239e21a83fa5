"""Word error rate and time of Whisper by number type, on this CPU and as other CPUs would compute.

Usage: python benchmarks/recogniser_cpus.py [--conf conf/asr/whisper_base.yaml] [--compute int8,float32]
           [--cpus 'this one;AMD, AVX2;Intel, AVX2'] <data-dir> ...
 e.g.: python benchmarks/recogniser_cpus.py data/mini_test_trials_f data/mini_test_trials_m

CTranslate2 chooses a library for matrices (MKL on Intel, oneDNN elsewhere) and instructions by the CPU. The settings
below make it choose as it would elsewhere. Prints errors, utterances that differ from those of the first row, and CPU
seconds per second of speech. Stages 0 and 3 of run.sh make the directories.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

from vpeval.asr.recognizers import load_recognizer
from vpeval.audio.io import RATE, read_audio
from vpeval.data.directory import DataDir
from vpeval.data.text import NORMALIZERS
from vpeval.metrics.wer import ErrorCounts, score_texts

CPUS = {
    "this one": {},
    "AMD, AVX2": {"CT2_USE_MKL": "0", "CT2_FORCE_CPU_ISA": "AVX2", "ONEDNN_MAX_CPU_ISA": "AVX2"},
    "Intel, AVX2": {"CT2_USE_MKL": "1", "CT2_FORCE_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"},
}
"""Environment variables by the kind of CPU that they imitate."""


def transcribe(conf: Path, data: DataDir) -> tuple[dict[str, str], float]:
    """The words of all utterances, and the CPU time."""
    recognizer = load_recognizer(conf)
    waves = {utt: read_audio(wav) for utt, wav in data.wav.items()}
    recognizer.transcribe(next(iter(waves.values())))
    begun = time.process_time()
    return {utt: recognizer.transcribe(wave) for utt, wave in waves.items()}, time.process_time() - begun


def in_child(conf: Path, path: Path, settings: dict[str, str]) -> tuple[dict[str, str], float]:
    """The same in a process of its own, as the libraries read their settings once."""
    line = [sys.executable, __file__, "--conf", str(conf), "--child", str(path)]
    done = subprocess.run(line, env={**os.environ, **settings}, stdout=subprocess.PIPE, check=True)
    words, seconds = json.loads(done.stdout)
    return words, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--conf", type=Path, default=Path("conf/asr/whisper_base.yaml"))
    parser.add_argument("--compute", default="int8,float32")
    parser.add_argument("--cpus", default=";".join(CPUS))
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("data", nargs="+", type=Path)
    args = parser.parse_args()
    if args.child:
        print(json.dumps(transcribe(args.conf, DataDir.load(args.data[0]))))
        return
    sets = {path: DataDir.load(path) for path in args.data}
    refs = {f"{path} {utt}": text for path, data in sets.items() for utt, text in data.text.items()}
    spoken = sum(len(read_audio(wav)) / RATE for data in sets.values() for wav in data.wav.values())
    print(
        f"{len(refs)} utterances, {spoken:.0f} s of speech\n"
        "| number type | CPU | words | wrong | WER % | differ | CPU s/s |"
    )
    with tempfile.TemporaryDirectory() as folder:
        for compute in args.compute.split(","):
            conf = Path(folder) / f"{compute}.yaml"
            conf.write_text(yaml.safe_dump({**yaml.safe_load(args.conf.read_text()), "compute": compute}))
            first: dict[str, str] = {}
            for cpu in args.cpus.split(";"):
                words, seconds = {}, 0.0
                for path in sets:
                    found, used = in_child(conf, path, CPUS[cpu])
                    words |= {f"{path} {utt}": text for utt, text in found.items()}
                    seconds += used
                first = first or words
                errors = ErrorCounts.from_counts(score_texts(refs, words, NORMALIZERS["vpc2020"]).words)
                differ = sum(words[utt] != first[utt] for utt in refs)
                row = (
                    compute,
                    cpu,
                    errors.words,
                    errors.errors,
                    f"{errors.rate:.2f}",
                    differ,
                    f"{seconds / spoken:.3f}",
                )
                print("|", " | ".join(map(str, row)), "|", flush=True)


if __name__ == "__main__":
    main()
