#!/usr/bin/env bash
# Voice similarity matrices, gain of voice distinctiveness and de-identification for all trial sets of a recipe.
# recipe.conf is chosen by an option and sets recipe, asv_pairs and others:
# shellcheck disable=SC1090,SC2154
set -euo pipefail

seed=0
bootstrap=1000
mode=full          # full: every pair of utterances counts; vpc: the challenges' estimator

help_message="Usage: $0 [options] <recipe.conf> <attacker> <system>
 e.g.: $0 egs/mini/recipe.conf ecapa mcadams

  --mode full|vpc    all pairs, or as in the challenges ($mode)
  --seed N           seed of the bootstrap ($seed)
  --bootstrap N      resamples for the intervals; 0 for none ($bootstrap)"

. ./path.sh
. utils/parse_options.sh
. utils/stamp.sh
[ $# = 3 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 attacker=$2 system=$3
. "$conf"

vectors=exp/$recipe/embeddings/$attacker
for pair in $asv_pairs; do
  trials=${pair#*:}
  dir=exp/$recipe/runs/$system/VSM-$trials
  stamp=(--stamp "$dir/.stamp.json" --option "seed=$seed bootstrap=$bootstrap mode=$mode attacker=$attacker"
    --input "$vectors/$trials" --input "$vectors/${trials}_$system" --input vpeval/metrics/similarity.py
    --output "$dir/records.jsonl" --output "$dir/records.matrices.json")
  if up_to_date "${stamp[@]}"; then
    echo "$dir is up to date, skipped"
    continue
  fi
  steps/score_pairs.py "$vectors/$trials" "$vectors/$trials" "$dir/scores_oo"
  steps/score_pairs.py "$vectors/$trials" "$vectors/${trials}_$system" "$dir/scores_oa"
  steps/score_pairs.py "$vectors/${trials}_$system" "$vectors/${trials}_$system" "$dir/scores_aa"
  gender=${trials##*_trials_}
  local/score_similarity.py --mode "$mode" --seed "$seed" --bootstrap "$bootstrap" --tag recipe="$recipe" \
    --tag system="$system" --tag set="$trials" --tag gender="${gender%%_*}" --tag attacker="$attacker" \
    "$dir"/scores_{oo,oa,aa} "data/$trials/utt2spk" "$dir/records.jsonl"
  utils/stamp.py write "${stamp[@]}"
  echo "$dir: voice similarity of $(wc -l <"data/$trials/spk2utt") speakers"
done
