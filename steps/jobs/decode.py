#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""One job of steps/decode.py: the words of every utterance of its splits.

Usage: steps/jobs/decode.py <conf> <lm or empty> <job> <work-dir> ...
"""

import sys
from pathlib import Path

import numpy as np

from vpeval.asr.lm import read_arpa
from vpeval.asr.recognizers import ManyLmRecognizer, NBestRecognizer, Recognizer, load_recognizer
from vpeval.audio.io import read_audio
from vpeval.cli import script
from vpeval.jobs import worker


def main() -> None:
    """Decode utterance by utterance."""
    conf, lm, job, *works = sys.argv[1:]
    parts = worker.job_parts(job, works)
    if not parts:
        return
    recognizer = load_recognizer(Path(conf), read_arpa(lm) if lm else None)
    with worker.recording(job, parts) as record:
        for part in parts:
            lines = texts(recognizer, read_audio(part.wav), nbest=bool(lm))
            record(part, "".join(f"{line}\n" for line in lines).encode())


def texts(recognizer: Recognizer, wave: np.ndarray, nbest: bool) -> list[str]:
    """The lines that decoding an utterance gives: one, the n best, or one for every language model."""
    if nbest and isinstance(recognizer, NBestRecognizer):
        return [str(one) for one in recognizer.nbest(wave)]
    if isinstance(recognizer, ManyLmRecognizer):
        return [" ".join(words.split()) for words in recognizer.transcribe_all(wave).values()]
    return [" ".join(recognizer.transcribe(wave).split())]


if __name__ == "__main__":
    script.main(main)
