#!/usr/bin/env -S bash -c '. "${0%/*}/../../path.sh" && exec python3 "$0" "$@"'
"""One job of steps/predict_emotions.py: the emotion of every utterance of its splits.

Usage: steps/jobs/predict_emotions.py <models-dir> <interface> <job> <work-dir> ...
"""

import sys
from functools import cache
from pathlib import Path

from vpeval.asr.emotion import EmotionClassifier
from vpeval.asr.folds import fold_directory
from vpeval.audio.io import read_audio
from vpeval.cli import script
from vpeval.core.tables import read_table
from vpeval.jobs import worker


def main() -> None:
    """Classify utterance by utterance, each by the classifier of its speaker's fold."""
    models, interface, job, *works = sys.argv[1:]
    parts = worker.job_parts(job, works)
    if not parts:
        return
    folds: dict[tuple[Path, str], str] = {}
    for work in dict.fromkeys(part.work for part in parts):
        table = work / "split" / job / "spk2fold"
        folds |= {(work, spk): fold for spk, fold in read_table(table).items()} if table.is_file() else {}

    @cache
    def classifier(fold: str) -> EmotionClassifier:
        return EmotionClassifier(fold_directory(Path(models), fold), interface)

    with worker.recording(job, parts) as record:
        for part in parts:
            fold = folds.get((part.work, part.spk), "")
            record(part, classifier(fold).classify(read_audio(part.wav)).encode())


if __name__ == "__main__":
    script.main(main)
