#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Calibrate scores to log-likelihood ratios by logistic regression on the scores of development trials.

Usage: local/calibrate_scores.py --train <trials> <scores> [--train ...] <scores> <calibrated-scores>
 e.g.: local/calibrate_scores.py --train data/mini_dev_trials_f/trials exp/dev_f/scores \\
         exp/test_f/scores.raw exp/test_f/scores
"""

from pathlib import Path

from vpeval.cli import script
from vpeval.core.publish import claim_file
from vpeval.data.trials import read_pair_scores, read_scores, read_trials, score_blocks, write_pair_scores
from vpeval.measures.verification import calibrate


def main() -> None:
    """Fit the line, write the calibrated scores, print the line."""
    parser = script.Parser(__doc__)
    parser.add_argument("--train", nargs=2, action="append", required=True, metavar=("TRIALS", "SCORES"))
    parser.add_argument("scores")
    parser.add_argument("out", metavar="calibrated-scores")
    args = parser.parse_args()
    development = []
    for trials_file, scores_file in args.train:
        trials = read_trials(trials_file)
        development.append((trials, read_scores(scores_file, trials)))
    line = calibrate(development)
    rows, scores = read_pair_scores(args.scores, "speaker", "utterance")
    claim_file(Path(args.out))
    write_pair_scores(args.out, score_blocks(rows, line(scores)))
    print(f"{args.out}: LLR = {line.slope:.4g} * score {line.offset:+.4g}")


if __name__ == "__main__":
    script.main(main)
