#!/usr/bin/env bash
# Template of a hook in bash: copy it and replace the command in the loop by your own program.
#
# Usage: local/anon/template/anonymize.sh <data-dir> <out-wav-dir>
#  e.g.: ./run.sh --anonymizer local/anon/template/anonymize.sh --system mine
set -euo pipefail

data=${*: -2:1}     # the last two arguments; what comes before them are your own options
out=${*: -1}
here=$(dirname "${BASH_SOURCE[0]}")

# Both files are sorted by utterance. Use the seed for all random numbers: it is the same for all utterances of a
# speaker (--anon-level spk) or differs for each of them (utt), and it differs between enrolment and trial sets.
join "$data/wav.scp" "$data/utt2seed" | while read -r utt wav seed; do
  "$here/program.py" "$wav" "$out/$utt.wav" "$seed" </dev/null
done
