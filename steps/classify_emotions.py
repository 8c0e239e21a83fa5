#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Recognise the emotions of data directories with what steps/train_ser.py trained.

Usage: steps/classify_emotions.py <models-dir> <features-dir> <out-dir> <data-dir> ...
 e.g.: steps/classify_emotions.py exp/ravdess/ser/models exp/ravdess/ser/features exp/ravdess/ser data/ravdess_enrolls

Makes <out-dir>/<name of data-dir>/predictions for local/score_uar.py. Every speaker is judged by the classifier of the
fold that spk2fold names, which has not heard the speaker.
"""

from functools import cache
from pathlib import Path

import numpy as np

from vpeval.asr.folds import fold_directory
from vpeval.asr.linear_emotion import LinearClassifier, load_linear
from vpeval.core import script
from vpeval.core.tables import write_table
from vpeval.data.directory import DataDir
from vpeval.embeddings.ark import read_vectors


def main() -> None:
    """Classify all utterances."""
    parser = script.Parser(__doc__)
    parser.add_argument("models", metavar="models-dir", type=Path)
    parser.add_argument("features", metavar="features-dir", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("data", metavar="data-dir", type=Path, nargs="+")
    args = parser.parse_args()

    @cache
    def classifier(fold: str) -> LinearClassifier:
        return load_linear(fold_directory(args.models, fold))

    for path in args.data:
        data = DataDir.load(path)
        features, folds = read_vectors(args.features / path.name / "embedding.scp"), data.table("spk2fold")
        predictions: dict[str, str] = {}
        for spk, utts in data.spk2utt.items():
            rows = np.stack([features[utt] for utt in utts]).astype(np.float64)
            predictions |= dict(zip(utts, classifier(folds[spk]).classify(rows), strict=True))
        write_table(args.out / path.name / "predictions", predictions)


if __name__ == "__main__":
    script.main(main)
