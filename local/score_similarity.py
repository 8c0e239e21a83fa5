#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score voice similarity: D_diag of the matrices oo, oa, aa, gain of voice distinctiveness and de-identification.

Usage: local/score_similarity.py [options] <scores-oo> <scores-oa> <scores-aa> <utt2spk> <out.jsonl>
 e.g.: local/score_similarity.py --mode vpc exp/sim/scores_{oo,oa,aa} data/libri_dev_trials_f/utt2spk exp/sim/gvd.jsonl

Score lines are <utt> <utt> <score>; in oa the first utterance is original, the second anonymised. The matrices go to
a file next to the records (here exp/sim/gvd.matrices.json); null marks a speaker with a single utterance.
"""

from vpeval.cli.scorers import run_scorer

if __name__ == "__main__":
    run_scorer("similarity", __doc__)
