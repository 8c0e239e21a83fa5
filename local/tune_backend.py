#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Compare settings of a PLDA back end by cross-validation over its training speakers, never on evaluation sets.

Usage: local/tune_backend.py [options] <training-embedding-dir> ...
 e.g.: local/tune_backend.py exp/mini/embeddings/ecapa/mini_train_mcadams

Prints ROCCH-EER and min Cllr of held-out speakers, mean over the directories, for cosines and for every pair of prior
weights, best first. Put your choice into a profile (as conf/asv/train/plda_few.yaml).
"""

import argparse
import itertools
from collections.abc import Iterable
from statistics import fmean

from vpeval.asv.backend import Settings
from vpeval.asv.backend_training import make_folds
from vpeval.asv.backend_tuning import Quality, measure
from vpeval.cli import script
from vpeval.embeddings.plda import Prior
from vpeval.embeddings.speaker_vectors import read_embeddings


def main() -> None:
    """Measure all settings, print a table."""
    parser = script.Parser(__doc__)
    for what, name in (("--prior-speakers", "imaginary speakers"), ("--prior-utts", "imaginary utterances")):
        parser.add_argument(what, type=weights, default="50,192,500", metavar="X,Y", help=f"{name} to try (50,192,500)")
    parser.add_argument("--lda", type=script.natural, default=0, help="dimensions of the LDA; 0 for none (0)")
    parser.add_argument("--iterations", type=script.positive, default=20, help="of EM (20)")
    parser.add_argument("--held-out", type=script.positive, default=3, help="speakers held out at a time (3)")
    parser.add_argument("--enroll-utts", type=script.positive, default=5, help="utterances enrolled (5)")
    parser.add_argument("--repeats", type=script.positive, default=3, help="divisions into folds (3)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the divisions (0)")
    parser.add_argument("embeddings", metavar="training-embedding-dir", nargs="+")
    args = parser.parse_args()

    divided = [
        make_folds(read_embeddings(directory), args.held_out, args.enroll_utts, args.repeats, args.seed)
        for directory in args.embeddings
    ]
    pairs = list(itertools.product(args.prior_speakers, args.prior_utts))
    qualities = {"cosine": mean(measure(folds, None) for folds in divided)}
    for speakers, utts in pairs:
        settings = Settings(args.lda, args.iterations, Prior(speakers, utts))
        qualities[f"{speakers:g} {utts:g}"] = mean(measure(folds, settings) for folds in divided)
    print("prior speakers, utterances   EER %   min Cllr")
    for name, quality in sorted(qualities.items(), key=lambda item: item[1].min_cllr):
        print(f"{name:26s} {100 * quality.eer:7.2f} {quality.min_cllr:10.3f}")


def mean(each_directory: Iterable[Quality]) -> Quality:
    """Over the directories."""
    each = list(each_directory)
    return Quality(fmean(q.eer for q in each), fmean(q.min_cllr for q in each))


def weights(text: str) -> list[float]:
    """Weights of a prior, separated by commas."""
    try:
        values = [float(word) for word in text.split(",")]
    except ValueError:
        values = [-1.0]
    if not all(0 <= value < float("inf") for value in values):
        raise argparse.ArgumentTypeError(f"expected numbers of at least 0, separated by commas, not '{text}'")
    return values


if __name__ == "__main__":
    script.main(main)
