#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score the quality of speech without listeners: DNSMOS, and STOI against original speech of the same timing.

Usage: local/score_quality.py [options] <data-dir> <out.jsonl>
 e.g.: local/score_quality.py --original data/mini_dev_trials_f --limit 20 data/mini_dev_trials_f_mcadams quality.jsonl

A measure whose package is not installed is left out with a message.
"""

from vpeval.cli.scorers import run_scorer

if __name__ == "__main__":
    run_scorer("quality", __doc__)
