#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score legal singling out over the number N of test speakers and L of utterances per test vector.

Usage: local/score_singling_out.py [options] <enroll-dir> <test-dir> <out.jsonl>
 e.g.: local/score_singling_out.py --tag system=mcadams exp/asv/mini_enrolls exp/asv/mini_trials exp/asv/sing.jsonl

The directories hold embedding.scp and utt2spk. Enrolment speakers who are not test speakers are left out. --side
and --population are as in local/score_linkability.py.
The success rates of every enrolment speaker, in all draws and in each, go to a file next to the records (here
exp/asv/sing.speakers.tsv).
"""

from vpeval.cli.scorers import run_scorer

if __name__ == "__main__":
    run_scorer("singling_out", __doc__)
