#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score emotion predictions: unweighted average recall and recall per emotion, as in VoicePrivacy 2024.

Usage: local/score_uar.py [options] <data-dir> <predictions> <out.jsonl>
 e.g.: local/score_uar.py --tag set=IEMOCAP_dev --tag condition=o data/IEMOCAP_dev exp/ser/IEMOCAP_dev exp/uar.jsonl

<predictions> has lines <utterance> <emotion>. The data directory has utt2emo and, for the challenge's mean over folds,
spk2fold. An utterance without prediction counts as wrong. The record of the UAR has an interval over speakers and the
chance level. Several directories and files, separated by commas, are read as one set.
"""

from vpeval.cli.scorers import run_scorer

if __name__ == "__main__":
    run_scorer("emotion", __doc__)
