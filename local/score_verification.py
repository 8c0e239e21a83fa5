#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score verification trials: EER (three kinds), Cllr, ZEBRA, D_sys and minDCF with speaker-bootstrap intervals.

Usage: local/score_verification.py [options] <trials> <scores> <out.jsonl>
 e.g.: local/score_verification.py --tag system=mcadams data/libri_dev_trials_f/trials exp/asv/scores exp/asv/eer.jsonl

DET and ECE curves go to a file next to the records (here exp/asv/eer.curves.json). --versus adds records named
<metric>_difference: the difference from other scores of the same trials, with a p value.
"""

from vpeval.cli.scorers import run_scorer

if __name__ == "__main__":
    run_scorer("verification", __doc__)
