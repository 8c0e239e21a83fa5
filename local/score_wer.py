#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score transcripts: word and character error rates of a set, its genders and speakers, with intervals.

Usage: local/score_wer.py [options] <ref-text> <hyp-text> <out.jsonl>
 e.g.: local/score_wer.py --utt2spk data/mini_dev_trials_f/utt2spk --tag set=mini_dev_trials_f --tag condition=o \\
         data/mini_dev_trials_f/text exp/mini/decode/whisper_base/mini_dev_trials_f/text exp/mini/wer.jsonl

Several files of one kind, separated by commas, are read as one.
"""

from vpeval.cli.scorers import run_scorer

if __name__ == "__main__":
    run_scorer("recognition", __doc__)
