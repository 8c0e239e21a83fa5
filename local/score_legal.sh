#!/usr/bin/env bash
# Linkability, singling out and similarity rank disclosure over all speakers of a recipe, in one attack condition.
# recipe.conf is chosen by an option and sets recipe, asv_pairs and others:
# shellcheck disable=SC1090,SC2154
set -euo pipefail

seed=0
bootstrap=1000
metrics="linkability singling_out srd"

help_message="Usage: $0 [options] <recipe.conf> <attacker> <system> oo|oa|aa
 e.g.: $0 --metrics 'linkability singling_out' egs/mini/recipe.conf ecapa mcadams oa

Pools the enrolment sets and the trial sets of the recipe. Linkability and singling out compare enrolment with trials;
similarity rank disclosure (oo and aa only) pools both and splits each speaker's utterances in halves.

  --metrics 'LIST'   which of linkability, singling_out, srd ($metrics)
  --seed N           seed of draws and bootstrap ($seed)
  --bootstrap N      resamples for the intervals; 0 for none ($bootstrap)"

. ./path.sh
. utils/parse_options.sh
. utils/stamp.sh
[ $# = 4 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 attacker=$2 system=$3 condition=$4
. "$conf"

vectors=exp/$recipe/embeddings/$attacker
mapfile -t enrolls < <(tr -s ' ' '\n' <<<"$asv_pairs" | cut -d: -f1 | sort -u)
mapfile -t trials < <(tr -s ' ' '\n' <<<"$asv_pairs" | cut -d: -f2 | sort -u)
enrolls=("${enrolls[@]/#/$vectors/}") trials=("${trials[@]/#/$vectors/}")
case $condition in
  oo) ;;
  oa) trials=("${trials[@]/%/_$system}") ;;
  aa) enrolls=("${enrolls[@]/%/_$system}") trials=("${trials[@]/%/_$system}") ;;
  *) echo "$0: condition '$condition' is none of oo, oa, aa" >&2; exit 1 ;;
esac

for metric in $metrics; do
  [ "$metric" != srd ] || [ "$condition" != oa ] || continue
  dir=exp/$recipe/runs/$system/$metric-$condition
  stamp=(--stamp "$dir/.stamp.json" --option "seed=$seed bootstrap=$bootstrap attacker=$attacker system=$system $legal_sizes $srd_inputs"
    --input vpeval/metrics --input vpeval/legal.py --input vpeval/disclosure.py --output "$dir/records.jsonl")
  for part in "${enrolls[@]}" "${trials[@]}"; do stamp+=(--input "$part"); done
  if up_to_date "${stamp[@]}"; then
    echo "$dir is up to date, skipped"
    continue
  fi
  if [ "$metric" = srd ]; then
    local/split_embeddings.py --n-inputs "$srd_inputs" --seed "$seed" "${enrolls[@]}" "${trials[@]}" \
      "$dir/reference" "$dir/input"
    sizes=() inputs=("$dir/reference" "$dir/input")
  else
    steps/pool_embeddings.py "${enrolls[@]}" "$dir/enrolls"
    steps/pool_embeddings.py "${trials[@]}" "$dir/trials"
    inputs=("$dir/enrolls" "$dir/trials")
    [ "$metric" = linkability ] && sizes=(--n-enroll "$legal_sizes") || sizes=(--n-speakers "$legal_sizes")
  fi
  "local/score_$metric.py" "${sizes[@]}" --seed "$seed" --bootstrap "$bootstrap" --tag recipe="$recipe" --tag system="$system" \
    --tag set="${recipe}_all" --tag condition="$condition" --tag attacker="$attacker" "${inputs[@]}" "$dir/records.jsonl"
  utils/stamp.py write "${stamp[@]}"
  echo "$dir: $(wc -l <"$dir/records.jsonl") numbers"
done
