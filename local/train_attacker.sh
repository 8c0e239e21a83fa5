#!/usr/bin/env bash
# Train an attacker of a recipe on the training sets that its configuration asks for.
set -euo pipefail

cmd=utils/run.py
nj=2
seed=0
anon_level=utt
num_processes=1

help_message="Usage: $0 [options] <recipe.conf> <attacker> <system>
 e.g.: $0 egs/mini/recipe.conf ecapa_plda mcadams

Trains conf/asv/<attacker>.yaml into exp/<recipe>/asv/. Training sets of the system under test are made in stage 3;
those of another anonymiser in local/anon are made here. A pretrained attacker needs nothing.

  --cmd COMMAND  --nj N      launcher and jobs ($cmd, $nj)
  --seed N                   base seed ($seed)
  --anon-level spk|utt       level of training sets that are made here ($anon_level)
  --num-processes N          processes that train together ($num_processes)"

. ./path.sh
. utils/parse_options.sh
[ $# = 3 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 attacker=$2 system=$3
# shellcheck disable=SC1090
. "$conf"

line=$(local/describe_attacker.py "conf/asv/$attacker.yaml" "$system")
read -r mode start _ trained_on model _ <<<"$line"
if [ "$mode" = pretrained ]; then
  echo "$attacker is pretrained, nothing to train"
  exit 0
fi

sets=()
# shellcheck disable=SC2154  # recipe and train_sets come from recipe.conf
for set in $train_sets; do
  if [ "$trained_on" = original ]; then
    sets+=("data/$set")
    continue
  fi
  sets+=("data/${set}_$trained_on")
  if [ "$trained_on" != "$system" ]; then
    steps/anonymize.sh --cmd "$cmd" --nj "$nj" --anon-level "$anon_level" --seed "$seed" \
      --log-dir "exp/$recipe/runs/$trained_on/log/$set" "$trained_on" "data/$set" "data/${set}_$trained_on"
  fi
done
for set in "${sets[@]}"; do
  [ -d "$set" ] || { echo "$0: $set is missing; stage 3 of run.sh makes it" >&2; exit 1; }
done

steps/train_asv.sh --cmd "$cmd" --nj "$nj" --seed "$seed" --num-processes "$num_processes" --data "${sets[*]}" \
  --embeddings "exp/$recipe/embeddings/$start" "conf/asv/$attacker.yaml" "exp/$recipe/asv/$model"
