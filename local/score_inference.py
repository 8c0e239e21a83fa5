#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score the inference of speakers' attributes, over the number L of utterances per test vector.

Usage: local/score_inference.py [options] <attribute-table>,... <train-dir> <test-dir> <out.jsonl>
 e.g.: local/score_inference.py data/mini_all/spk2gender,data/mini_all/spk2age exp/asv/mini_all \\
         exp/asv/mini_all_mcadams exp/asv/infer.jsonl

The directories hold embedding.scp and utt2spk. The attacker trains on <train-dir> (original speech: ignorant;
anonymised speech: informed) and attacks <test-dir>. They may share speakers: no model is trained on a speaker it
attacks. A table has a line '<speaker> <value>' per speaker; values that are all numbers are predicted, others
classified. The bits about every speaker go to a file next to the records (here exp/asv/infer.speakers.tsv).
"""

from vpeval.cli.scorers import run_scorer

if __name__ == "__main__":
    run_scorer("inference", __doc__)
