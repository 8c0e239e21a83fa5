#!/usr/bin/env bash
# Verification scores and metrics for all pairs of sets of a recipe, in one attack condition.
# recipe.conf is chosen by an option and sets recipe, asv_pairs and others:
# shellcheck disable=SC1090,SC2154
set -euo pipefail

seed=0
bootstrap=1000

help_message="Usage: $0 [options] <recipe.conf> <attacker> <system> oo|oa|aa
 e.g.: $0 egs/mini/recipe.conf ecapa mcadams oa

Conditions: oo original enrolment and trials; oa original enrolment, anonymised trials (ignorant attacker);
aa both anonymised (lazy-informed attacker).

  --seed N           seed of the bootstrap ($seed)
  --bootstrap N      resamples for the intervals; 0 for none ($bootstrap)"

. ./path.sh
. utils/parse_options.sh
. utils/stamp.sh
[ $# = 4 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 attacker=$2 system=$3 condition=$4
. "$conf"

case $condition in
  oo) enroll_suffix='' trial_suffix='' ;;
  oa) enroll_suffix='' trial_suffix=_$system ;;
  aa) enroll_suffix=_$system trial_suffix=_$system ;;
  *) echo "$0: condition '$condition' is none of oo, oa, aa" >&2; exit 1 ;;
esac

for pair in $asv_pairs; do
  enrolls=${pair%:*}$enroll_suffix trials=${pair#*:}
  dir=exp/$recipe/runs/$system/ASV-$enrolls-$trials$trial_suffix
  vectors=exp/$recipe/embeddings/$attacker
  stamp=(--stamp "$dir/.stamp.json" --option "seed=$seed bootstrap=$bootstrap attacker=$attacker system=$system"
    --input "$vectors/$enrolls" --input "$vectors/$trials$trial_suffix" --input "data/$trials/trials"
    --input vpeval/metrics --input vpeval/asv/scoring.py
    --output "$dir/scores" --output "$dir/records.jsonl")
  if up_to_date "${stamp[@]}"; then
    echo "$dir is up to date, skipped"
    continue
  fi

  steps/score_trials.py "$vectors/$enrolls" "$vectors/$trials$trial_suffix" "data/$trials/trials" "$dir/scores"
  gender=${trials##*_trials_}
  local/score_verification.py --seed "$seed" --bootstrap "$bootstrap" --utt2spk "data/$trials/utt2spk" \
    --tag recipe="$recipe" --tag system="$system" --tag set="$trials" --tag gender="${gender%%_*}" \
    --tag condition="$condition" --tag attacker="$attacker" "data/$trials/trials" "$dir/scores" "$dir/records.jsonl"
  utils/stamp.py write "${stamp[@]}"
  echo "$dir: $(wc -l <"$dir/scores") trials scored"
done
