#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Correlate the pitch of original and anonymised speech.

Usage: local/score_pitch.py [options] <data-dir> <anonymised-data-dir> <out.jsonl>
 e.g.: local/score_pitch.py data/mini_dev_trials_f data/mini_dev_trials_f_mcadams exp/mini/pitch.jsonl

Computes the mean over utterances, with its standard deviation, in two modes: vpc (that of the challenge, over all
frames) and voiced (over frames that are voiced in both). The interval is over speakers.
"""

from vpeval.cli.scorers import run_scorer

if __name__ == "__main__":
    run_scorer("pitch", __doc__)
