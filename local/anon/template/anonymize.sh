#!/usr/bin/env bash
# A hook in bash to copy and fill in: exchange the command in the loop for your own program.
#
# Usage: local/anon/template/anonymize.sh <data-dir> <out-wav-dir>
#  e.g.: ./run.sh --anonymizer local/anon/template/anonymize.sh --system mine
set -euo pipefail

data=${*: -2:1}     # the last two arguments; what stands before them are options of your own
out=${*: -1}
here=$(dirname "${BASH_SOURCE[0]}")

# Both files are sorted by utterance. Draw everything random from the seed: it is the same for all utterances of a
# speaker (--anon-level spk) or another for each (utt), and differs between enrolment and trial sets.
join "$data/wav.scp" "$data/utt2seed" | while read -r utt wav seed; do
  "$here/program.py" "$wav" "$out/$utt.wav" "$seed" </dev/null
done
