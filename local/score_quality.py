#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Quality of speech without listeners: DNSMOS of a data directory, and STOI against the original of the same timing.

Usage: local/score_quality.py [options] <data-dir> <out.jsonl>
 e.g.: local/score_quality.py --original data/mini_dev_trials_f --limit 20 data/mini_dev_trials_f_mcadams quality.jsonl

Measures whose package is not installed are left out with a notice; <out.jsonl> is then written without them.
"""

from vpeval.cli.scorers import run_scorer

if __name__ == "__main__":
    run_scorer("quality", __doc__)
