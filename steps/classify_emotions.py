#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Recognise the emotions of data directories with classifiers trained by steps/train_ser.py.

Usage: steps/classify_emotions.py <models-dir> <features-dir> <out-dir> <data-dir> ...
 e.g.: steps/classify_emotions.py exp/ravdess/ser/models exp/ravdess/ser/features exp/ravdess/ser data/ravdess_enrolls

Makes <out-dir>/<name of data-dir>/predictions for local/score_uar.py. The classifier of a
speaker is that of the fold in spk2fold, which was not trained on the speaker.
"""

from pathlib import Path

from vpeval.asr.linear_emotion import classify_emotions
from vpeval.cli import script


def main() -> None:
    """Classify all utterances."""
    parser = script.Parser(__doc__)
    parser.add_argument("models", metavar="models-dir", type=Path)
    parser.add_argument("features", metavar="features-dir", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("data", metavar="data-dir", type=Path, nargs="+")
    args = parser.parse_args()
    for path in args.data:
        classify_emotions(args.models, args.features, path, args.out / path.name)


if __name__ == "__main__":
    script.main(main)
