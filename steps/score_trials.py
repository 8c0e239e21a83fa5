#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score verification trials: cosines with the mean enrolment vector, or log-likelihood ratios of a PLDA back end.

Usage: steps/score_trials.py [--backend NPZ] <enroll-embedding-dir> <trial-embedding-dir> <trials> <scores>
 e.g.: steps/score_trials.py exp/mini/embeddings/ecapa/mini_dev_enrolls exp/mini/embeddings/ecapa/mini_dev_trials_f \\
         data/mini_dev_trials_f/trials exp/mini/scores_f
"""

from vpeval.asv import backend
from vpeval.asv.backend import score_trials
from vpeval.cli import script
from vpeval.data.trials import read_trials, write_scores
from vpeval.embeddings.speaker_vectors import read_embeddings


def main() -> None:
    """Write a line '<speaker> <utterance> <score>' for every trial."""
    parser = script.Parser(__doc__)
    parser.add_argument("--backend", metavar="NPZ", help="back end of steps/train_asv.py --mode backend")
    parser.add_argument("enroll", metavar="enroll-embedding-dir")
    parser.add_argument("trial", metavar="trial-embedding-dir")
    parser.add_argument("trials")
    parser.add_argument("scores")
    args = parser.parse_args()
    trials = read_trials(args.trials)
    model = backend.load(args.backend) if args.backend else None
    scores = score_trials(read_embeddings(args.enroll), read_embeddings(args.trial), trials.rows, model)
    write_scores(args.scores, trials, scores)


if __name__ == "__main__":
    script.main(main)
