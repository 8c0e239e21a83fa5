#!/usr/bin/env bash
# Turn the embedded corpus into Kaldi data directories.
set -euo pipefail

full=false     # true: all trial utterances; false: a balanced subset, two of each session of a speaker
seed=0

help_message="Usage: $0 [--full true|false] [--seed N] <corpus-dir> <data-root>
 e.g.: $0 egs/mini/corpus data

Makes mini_{dev,test}_enrolls (session 0), mini_{dev,test}_trials_{f,m} (sessions 1-4), mini_train and mini_pool."

. ./path.sh
. utils/parse_options.sh
[ $# = 2 ] || { echo "$help_message" >&2; exit 1; }
corpus=$1 data=$2

# As in the challenge, the pool of pseudo-speakers and the training data share no speaker, and here no voice either.
pool_speakers="f001 f003 f018 f024 m043 m045 m052 m057"
per_session=2
[ "$full" = false ] || per_session=0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

for split in dev test; do
  egs/mini/corpus_to_data.py "$corpus" $split "$work/mini_$split"
  utils/make_trials.py --enroll-session 0 --trials-per-session $per_session --seed "$seed" "$work/mini_$split" "$data"
done

egs/mini/corpus_to_data.py "$corpus" train "$work/all"
tr ' ' '\n' <<<"$pool_speakers" >"$work/pool"
cut -d' ' -f1 "$work/all/spk2utt" | grep -vxFf "$work/pool" >"$work/train"
for set in train pool; do
  utils/subset_data.py --spk-list "$work/$set" "$work/all" "$data/mini_$set"
done
