#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Score legal linkability and 1-EER over the number N' of enrolment speakers and L of utterances per test vector.

Usage: local/score_linkability.py [options] <enroll-dir> <test-dir> <out.jsonl>
 e.g.: local/score_linkability.py --tag system=mcadams exp/asv/mini_enrolls exp/asv/mini_trials exp/asv/link.jsonl

The directories hold embedding.scp and utt2spk. Test speakers who are not enrolled are left out; enrolment speakers
without test utterances are distractors. --side TABLE, a table '<speaker> <value>' such as spk2gender of a
data directory, also measures linkability for attackers who know the value of the person; the option may be repeated.
--population N reports the error of an extrapolation that leaves out the largest N' and, if it is small, extrapolates to
N speakers (0: only the error). The linkage probability of every speaker goes to a file next to the records (here
exp/asv/link.speakers.tsv), which local/compare_speakers.py reads. The L test utterances are drawn five times
(--utt-draws): records are means over the draws, and the file has the values of every draw. --draws K also draws the
enrolment speakers, K times.
"""

from vpeval.cli.scorers import run_scorer

if __name__ == "__main__":
    run_scorer("linkability", __doc__)
