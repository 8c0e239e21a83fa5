#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score verification trials: cosines with the mean enrolment vector, or log-likelihood ratios of a PLDA back end.

Usage: steps/score_trials.py [--backend NPZ] <enroll-embedding-dir> <trial-embedding-dir> <trials> <scores>
 e.g.: steps/score_trials.py exp/mini/embeddings/ecapa/mini_dev_enrolls exp/mini/embeddings/ecapa/mini_dev_trials_f \\
         data/mini_dev_trials_f/trials exp/mini/runs/original/ASV-mini_dev_enrolls-mini_dev_trials_f/scores
"""

from vpeval.asv import backend
from vpeval.asv.scoring import score_trials
from vpeval.core import script
from vpeval.data.directory import trial_rows
from vpeval.data.trials import write_pair_scores
from vpeval.embeddings.directory import read_embeddings


def main() -> None:
    """Write a line '<speaker> <utterance> <score>' for every trial."""
    parser = script.Parser(__doc__)
    parser.add_argument("--backend", metavar="NPZ", help="back end of steps/train_asv.sh --mode backend")
    parser.add_argument("enroll", metavar="enroll-embedding-dir")
    parser.add_argument("trial", metavar="trial-embedding-dir")
    parser.add_argument("trials")
    parser.add_argument("scores")
    args = parser.parse_args()
    pairs = [(spk, utt) for _, (spk, utt, _) in trial_rows(args.trials)]
    model = backend.load(args.backend) if args.backend else None
    scores = score_trials(read_embeddings(args.enroll), read_embeddings(args.trial), pairs, model)
    write_pair_scores(args.scores, ((spk, utt, score) for (spk, utt), score in zip(pairs, scores, strict=True)))


if __name__ == "__main__":
    script.main(main)
