#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""One job of steps/decode.py: the words of every utterance of its splits.

Usage: steps/jobs/decode.py <conf> <lm or empty> <job> <work-dir> ...
"""

import sys
from pathlib import Path

from vpeval.asr.lm import read_arpa
from vpeval.asr.recognizers import ManyLmRecognizer, NBestRecognizer, load_recognizer
from vpeval.audio.io import read_audio
from vpeval.core import script
from vpeval.core.files import write_text
from vpeval.jobs import batch


def main() -> None:
    """Decode utterance by utterance."""
    conf, lm, job, *works = sys.argv[1:]
    parts = batch.job_parts("parts", ".txt", job, works)
    if not parts:
        return
    recognizer = load_recognizer(Path(conf), read_arpa(lm) if lm else None)
    for done, part in enumerate(parts, start=1):
        wave = read_audio(part.wav)
        if lm and isinstance(recognizer, NBestRecognizer):
            write_text(part.file, "".join(f"{one}\n" for one in recognizer.nbest(wave)))
        elif isinstance(recognizer, ManyLmRecognizer):
            texts = recognizer.transcribe_all(wave).values()
            write_text(part.file, "".join(f"{' '.join(words.split())}\n" for words in texts))
        else:
            write_text(part.file, " ".join(recognizer.transcribe(wave).split()) + "\n")
        batch.report(done, len(parts))


if __name__ == "__main__":
    script.main(main)
