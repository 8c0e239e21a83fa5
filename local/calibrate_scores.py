#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Calibrate scores to log-likelihood ratios by logistic regression on the scores of development trials.

Usage: local/calibrate_scores.py --train <trials> <scores> [--train ...] <scores> <calibrated-scores>
 e.g.: local/calibrate_scores.py --train data/mini_dev_trials_f/trials exp/dev_f/scores \\
         exp/test_f/scores.raw exp/test_f/scores
"""

import numpy as np

from vpeval.asv import calibration
from vpeval.core import script
from vpeval.core.errors import InputError
from vpeval.core.tables import read_rows, to_number
from vpeval.data.trials import read_scores, read_trials, write_pair_scores


def main() -> None:
    """Fit the line, write the calibrated scores, print the line."""
    parser = script.Parser(__doc__)
    parser.add_argument("--train", nargs=2, action="append", required=True, metavar=("TRIALS", "SCORES"))
    parser.add_argument("scores")
    parser.add_argument("out", metavar="calibrated-scores")
    args = parser.parse_args()
    targets, nontargets = [], []
    for trials_file, scores_file in args.train:
        trials = read_trials(trials_file)
        scores = read_scores(scores_file, trials)
        targets.append(scores[trials.is_target])
        nontargets.append(scores[~trials.is_target])
    line = calibration.fit(np.concatenate(targets), np.concatenate(nontargets))
    rows = []
    for number, (spk, utt, score) in read_rows(args.scores, "speaker", "utterance", "score"):
        try:
            value = to_number(score)
        except ValueError:
            raise InputError(f"'{score}' is not a number; score the trials again", args.scores, number) from None
        rows.append((spk, utt, line.slope * value + line.offset))
    write_pair_scores(args.out, rows)
    print(f"{args.out}: LLR = {line.slope:.4g} * score {line.offset:+.4g}")


if __name__ == "__main__":
    script.main(main)
