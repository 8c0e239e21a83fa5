#!/usr/bin/env bash
# Turn AudioMNIST into Kaldi data directories of digit strings.
set -euo pipefail

full=false     # true: all strings of all sessions; false: one trial string of each session, 12 training strings a speaker
seed=0

help_message="Usage: $0 [--full true|false] [--seed N] <corpus-dir> <data-root>
 e.g.: $0 /corpora/AudioMNIST/data data

<corpus-dir> is the data directory of AudioMNIST: <speaker>/<digit>_<speaker>_<repetition>.wav (or .flac) and
audioMNIST_meta.txt. Makes audiomnist_{dev,test}_enrolls (session 0), audiomnist_{dev,test}_trials_{f,m} (other
sessions) and audiomnist_train; the audio of the strings goes to <data-root>/local/audiomnist."

. ./path.sh
. utils/parse_options.sh
[ $# = 2 ] || { echo "$help_message" >&2; exit 1; }
corpus=$1 data=$2

per_session=1 train_strings=12
if [ "$full" = true ]; then per_session=0 train_strings=0; fi

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

egs/audiomnist/corpus_to_data.py --seed "$seed" --train-strings "$train_strings" "$corpus" "$data/local/audiomnist" \
  "$work"
for part in dev test; do
  utils/make_trials.py --enroll-session 0 --trials-per-session $per_session --seed "$seed" "$work/audiomnist_$part" "$data"
done
utils/copy_data_dir.py "$work/audiomnist_train" "$data/audiomnist_train"
