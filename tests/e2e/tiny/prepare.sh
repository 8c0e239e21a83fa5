#!/usr/bin/env bash
# The smallest data that every stage can work with: three speakers of each gender, four trials each.
set -euo pipefail

full=false
seed=0

. ./path.sh
. utils/parse_options.sh
data=$2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
egs/mini/corpus_to_data.py egs/mini/corpus dev "$work/all"
cut -d' ' -f1 "$work/all/spk2utt" | awk '{n[substr($1, 1, 1)]++} n[substr($1, 1, 1)] <= 3' >"$work/speakers"
utils/subset_data.py --spk-list "$work/speakers" "$work/all" "$work/tiny_dev"
utils/make_trials.py --enroll-session 0 --trials-per-session 1 --seed "$seed" "$work/tiny_dev" "$data"

egs/mini/corpus_to_data.py egs/mini/corpus train "$work/train"
utils/subset_data.py --speakers 4 --seed "$seed" "$work/train" "$data/tiny_train"
utils/subset_data.py --speakers 4 --seed 1 "$work/train" "$data/tiny_pool"
: "$full"
