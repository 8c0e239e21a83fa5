#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Train emotion recognisers on original speech: for every fold a linear classifier on the speakers of the other folds.

Usage: steps/train_ser.py <conf> <features-dir> <out-dir> <data-dir> ...
 e.g.: steps/extract_embeddings.py conf/ser/whisper_linear.yaml exp/ser/features data/ravdess_trials_f
       steps/train_ser.py conf/ser/whisper_linear.yaml exp/ser/features exp/ser/models data/ravdess_trials_f

<features-dir> has the output of steps/extract_embeddings.py for the data directories, which need utt2emo and spk2fold.
Makes <out-dir>/fold_<fold>/ for steps/classify_emotions.py.
"""

from pathlib import Path

from vpeval.asr.linear_emotion import train_emotions
from vpeval.cli import script


def main() -> None:
    """Train and write all folds."""
    parser = script.Parser(__doc__)
    parser.add_argument("conf", type=Path)
    parser.add_argument("features", metavar="features-dir", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("data", metavar="data-dir", type=Path, nargs="+")
    args = parser.parse_args()
    print(f"{args.out}: {train_emotions(args.conf, args.features, args.out, args.data)}")


if __name__ == "__main__":
    script.main(main)
