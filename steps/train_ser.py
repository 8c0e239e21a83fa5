#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Train emotion recognisers on original speech: for every fold a linear classifier of the speakers not in it.

Usage: steps/train_ser.py <conf> <features-dir> <out-dir> <data-dir> ...
 e.g.: steps/extract_embeddings.py conf/ser/whisper_linear.yaml exp/ser/features data/ravdess_trials_f
       steps/train_ser.py conf/ser/whisper_linear.yaml exp/ser/features exp/ser/models data/ravdess_trials_f

<features-dir> has what steps/extract_embeddings.py made of the data directories, which need utt2emo and spk2fold.
Makes <out-dir>/fold_<fold>/ for steps/classify_emotions.py.
"""

from pathlib import Path

from vpeval.asr.linear_emotion import train_folds
from vpeval.core import script
from vpeval.core.config import read_config
from vpeval.core.errors import InputError
from vpeval.data.cut import combine
from vpeval.data.directory import DataDir, staged_directory
from vpeval.embeddings.ark import read_vectors


def main() -> None:
    """Train and write all folds."""
    parser = script.Parser(__doc__)
    parser.add_argument("conf", type=Path)
    parser.add_argument("features", metavar="features-dir", type=Path)
    parser.add_argument("out", metavar="out-dir", type=Path)
    parser.add_argument("data", metavar="data-dir", type=Path, nargs="+")
    args = parser.parse_args()

    settings = read_config(args.conf, encoder=str, model=str, compute=str, classifier=str, penalty=float)
    if settings["classifier"] != "linear":
        raise InputError(f"'classifier' must be linear, not '{settings['classifier']}'", args.conf)
    data, _ = combine([DataDir.load(path) for path in args.data], args.out)
    features = {}
    for path in args.data:
        features |= read_vectors(args.features / path.name / "embedding.scp")
    models = train_folds(features, data.table("utt2emo"), data.utt2spk, data.table("spk2fold"), settings["penalty"])
    with staged_directory(args.out) as directory:
        for fold, classifier in models.items():
            classifier.save(directory / f"fold_{fold}")
    print(f"{args.out}: {len(models)} folds, {len(data.speakers)} speakers, {len(data.utts)} utterances")


if __name__ == "__main__":
    script.main(main)
