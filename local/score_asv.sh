#!/usr/bin/env bash
# Verification scores and metrics for all pairs of sets of a recipe, of one attacker in one condition.
set -euo pipefail

seed=0
bootstrap=1000
calibrate=false
main=

help_message="Usage: $0 [options] <recipe.conf> <attacker> <system> oo|oa|aa
 e.g.: $0 egs/mini/recipe.conf ecapa mcadams oa

Conditions: oo original enrolment and trials (system 'original'); oa original enrolment, anonymised trials; aa both
anonymised. A condition that the attacker has no part in (see conf/asv/<attacker>.yaml) is skipped. Results go to
exp/<recipe>/runs/<system>/ASV-<enrolls>-<trials>/, those of attackers other than the main one to
ASV_<attacker>-<enrolls>-<trials>/.

  --main NAME             the attacker of the challenge's directories (first of \$attackers in recipe.conf)
  --calibrate true|false  turn scores into log-likelihood ratios by logistic regression on dev scores ($calibrate)
  --seed N                seed of the bootstrap ($seed)
  --bootstrap N           resamples for the intervals; 0 for none ($bootstrap)"

. ./path.sh
. utils/parse_options.sh
. utils/stamp.sh
. local/set_attack.sh
[ $# = 4 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 attacker=$2 system=$3 condition=$4
# shellcheck disable=SC1090
. "$conf"

pairs=${asv_pairs:?} recipe=${recipe:?}
set_attack "$attacker" "$system" "$condition" || exit 0
calibration=none dev=()
[ "$calibrate" = false ] || calibration=dev

# set_names mini_dev_enrolls:mini_dev_trials_f: sets enrolls, trials and the directory of the results
set_names() {
  enrolls=${1%:*}$enroll_suffix trials=${1#*:}
  dir=exp/$recipe/runs/$system/ASV$suffix-$enrolls-$trials$trial_suffix
}

score() {
  steps/score_trials.py "${backend[@]}" "$vectors/$enrolls" "$vectors/$trials$trial_suffix" "data/$trials/trials" "$1"
}

if [ "$calibrate" = true ]; then
  for pair in $pairs; do
    set_names "$pair"
    [[ $trials == *_dev_* ]] || continue
    score "$dir/scores.raw"
    dev+=(--train "data/$trials/trials" "$dir/scores.raw")
  done
  [ ${#dev[@]} -gt 0 ] || { echo "$0: --calibrate true: $conf has no dev sets in asv_pairs" >&2; exit 1; }
fi

for pair in $pairs; do
  set_names "$pair"
  stamp=(--stamp "$dir/.stamp.json"
    --option "seed=$seed bootstrap=$bootstrap attacker=$attacker system=$system calibration=$calibration"
    --option "attack=$vpc_name,$legal_name" --option "sets=$pairs"
    --input "$vectors/$enrolls" --input "$vectors/$trials$trial_suffix" --input "data/$trials/trials"
    --input vpeval/metrics --input vpeval/asv/scoring.py "${backend_stamp[@]}"
    --output "$dir/scores" --output "$dir/records.jsonl")
  if up_to_date "${stamp[@]}"; then
    echo "$dir is up to date, skipped"
    continue
  fi
  if [ "$calibrate" = true ]; then
    score "$dir/scores.raw"
    local/calibrate_scores.py "${dev[@]}" "$dir/scores.raw" "$dir/scores"
  else
    score "$dir/scores"
  fi
  gender=${trials##*_trials_}
  local/score_verification.py --seed "$seed" --bootstrap "$bootstrap" --utt2spk "data/$trials/utt2spk" \
    --tag recipe="$recipe" --tag system="$system" --tag set="$trials" --tag gender="${gender%%_*}" \
    --tag condition="$condition" --tag attacker="$attacker" --param attack_model="$vpc_name" \
    --param attack_model_legal="$legal_name" --param scoring="$scoring" --param calibration="$calibration" \
    "data/$trials/trials" "$dir/scores" "$dir/records.jsonl"
  utils/stamp.py write "${stamp[@]}"
  echo "$dir: $(wc -l <"$dir/scores") trials scored ($attacker: $vpc_name in VPC, $legal_name in the legal paper)"
done
