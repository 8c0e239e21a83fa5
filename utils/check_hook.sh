#!/usr/bin/env bash
# Tell within about ten seconds whether a hook keeps the contract of docs/hooks.md.
set -euo pipefail

options=            # options for the hook, as one word
anon_level=spk      # the level that the hook will be run at
time_limit=60       # seconds after which a call of the hook is taken to hang
spk_count=2         # speakers and utterances of each that it is tried on
utts_per_spk=2
data=               # a data directory to take them from; default: the embedded corpus
seed=0

help_message="Usage: $0 [options] <hook>
 e.g.: $0 local/anon/template/anonymize.py
       $0 --options '--edition 2024' mcadams

Runs the hook five times on a few utterances and says of each promise whether it is kept: all files, right format,
durations, no silence, not its input, deterministic, independent of nj and order, one pseudo-speaker per speaker, another
for enrolment and trial; and how long challenge data would take. Exit code 1 when a promise is broken.

  --options 'STRING'       options for the hook
  --anon-level spk|utt     the level that you will use ($anon_level)
  --time-limit N           seconds after which a call counts as hanging and is ended ($time_limit)
  --spk-count N            speakers ($spk_count)
  --utts-per-spk N         utterances of each, the shortest ones ($utts_per_spk)
  --data DIR               data directory to take them from (the embedded corpus)
  --seed N                 base seed ($seed)"

cd "$(dirname "${BASH_SOURCE[0]}")/.."
. ./path.sh
. utils/parse_options.sh
[ $# = 1 ] || { echo "$help_message" >&2; exit 1; }

if [ -z "$data" ]; then
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  data=$work/mini_dev
  egs/mini/corpus_to_data.py egs/mini/corpus dev "$data"
fi

utils/check_hook.py --options="$options" --level "$anon_level" --time-limit "$time_limit" --seed "$seed" \
  --spk-count "$spk_count" --utts-per-spk "$utts_per_spk" "$1" "$data"
