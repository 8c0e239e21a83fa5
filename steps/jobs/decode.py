#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""One job of steps/decode.sh: the words of every utterance of its splits.

Usage: steps/jobs/decode.py <conf> <job> <work-dir> ...
"""

import sys
from pathlib import Path

from vpeval import batch, script
from vpeval.asr.recognizers import load_recognizer
from vpeval.audio import read_audio
from vpeval.files import write_text


def main() -> None:
    """Decode utterance by utterance."""
    conf, job, *works = sys.argv[1:]
    parts = batch.job_parts("parts", ".txt", job, works)
    recognizer = load_recognizer(Path(conf))
    for done, part in enumerate(parts, start=1):
        words = recognizer.transcribe(read_audio(part.wav))
        write_text(part.file, " ".join(words.split()) + "\n")
        batch.report(done, len(parts))


if __name__ == "__main__":
    script.main(main)
