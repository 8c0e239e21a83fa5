#!/usr/bin/env bash
# Anonymise a data directory with a hook.
set -euo pipefail

cmd=utils/run.py
nj=2
anon_level=spk      # spk: one pseudo-speaker per speaker; utt: one per utterance
seed=0
timeout=3600        # seconds without a new file after which a hook is taken to hang; 0: never
options=            # options for the hook, as one word
log_dir=            # default: log/ beside the data directories' exp

help_message="Usage: $0 [options] <hook> <data-dir> <out-data-dir>
 e.g.: $0 --nj 4 local/anon/mcadams/anonymize.py data/mini_dev_enrolls data/mini_dev_enrolls_mcadams

Splits the data, runs the hook on the splits, checks every output and publishes <out-data-dir> with the same ids.
The contract of a hook is in docs/hooks.md; utils/check_hook.sh tells whether yours keeps it.
Interrupted at any moment, the same command goes on where it stopped.

  --cmd COMMAND            launcher of the jobs ($cmd)
  --nj N                   jobs at a time ($nj)
  --anon-level spk|utt     whether the utterances of a speaker share a seed ($anon_level)
  --seed N                 base seed ($seed)
  --timeout N              end a hook that has written no file for N seconds; 0: never ($timeout)
  --options 'STRING'       options for the hook
  --log-dir DIR            where the logs of the jobs go (exp/log/<out-data-dir>)"

cd "$(dirname "${BASH_SOURCE[0]}")/.."
. ./path.sh
. utils/parse_options.sh
[ $# = 3 ] || { echo "$help_message" >&2; exit 1; }
hook=$1 data=$2 out=$3
[ -n "$log_dir" ] || log_dir=exp/log/$(basename "$out")

for file in utt2spk wav.scp; do
  [ -f "$data/$file" ] || { echo "$0: $data/$file: no such file; is $data a data directory?" >&2; exit 1; }
done

steps/anonymize.py --cmd "$cmd" --nj "$nj" --level "$anon_level" --seed "$seed" --timeout "$timeout" --options="$options" \
  --log-dir "$log_dir" "$hook" "$data" "$out"
