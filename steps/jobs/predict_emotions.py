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
from vpeval.core import script
from vpeval.core.files import write_text
from vpeval.data.directory import DataDir
from vpeval.jobs import batch


def main() -> None:
    """Classify utterance by utterance, each by the classifier of its speaker's fold."""
    models, interface, job, *works = sys.argv[1:]
    parts = batch.job_parts("parts", ".txt", job, works)
    if not parts:
        return
    folds: dict[str, str] = {}
    for work in works:
        split = Path(work) / "split" / job
        if split.is_dir():
            data = DataDir.load(split)
            spk2fold = data.spk_tables.get("spk2fold", {})
            folds |= {utt: spk2fold.get(spk, "") for utt, spk in data.utt2spk.items()}

    @cache
    def classifier(fold: str) -> EmotionClassifier:
        return EmotionClassifier(fold_directory(Path(models), fold), interface)

    for done, part in enumerate(parts, start=1):
        write_text(part.file, classifier(folds[part.utt]).classify(read_audio(part.wav)) + "\n")
        batch.report(done, len(parts))


if __name__ == "__main__":
    script.main(main)
