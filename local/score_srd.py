#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score similarity rank disclosure: MaxD and MeanD in bits, identification rate and rank spread.

Usage: local/score_srd.py [options] <reference-dir> <input-dir> <out.jsonl>
 e.g.: local/score_srd.py --tag system=mcadams exp/asv/srd_reference exp/asv/srd_input exp/asv/srd.jsonl

The directories hold embedding.scp and utt2spk; local/split_embeddings.py makes them from pooled enrolment and trial
utterances. Every input speaker needs a reference; further reference speakers are distractors. The identification rate
and the mean rank of every speaker go to a file next to the records (here exp/asv/srd.speakers.tsv). With --backend the
true speaker is ranked by the log-likelihood ratios of a PLDA back end instead of by cosines or distances.
"""

from vpeval.cli.scorers import run_scorer

if __name__ == "__main__":
    run_scorer("disclosure", __doc__)
