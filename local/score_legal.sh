#!/usr/bin/env bash
# Linkability, singling out and similarity rank disclosure over all speakers of a recipe, in one attack condition.
# recipe.conf is chosen by an option and sets recipe, asv_pairs and others:
# shellcheck disable=SC1090,SC2154
set -euo pipefail

seed=0
bootstrap=1000
main=
metrics="linkability singling_out srd"

help_message="Usage: $0 [options] <recipe.conf> <attacker> <system> oo|oa|aa
 e.g.: $0 --metrics 'linkability singling_out' egs/mini/recipe.conf ecapa mcadams oa

Pools the enrolment sets and the trial sets of the recipe. Linkability and singling out compare enrolment with trials,
by cosines or, if the attacker has one, by its back end; similarity rank disclosure (oo and aa only) pools both and
splits each speaker's utterances in two. It looks at the embeddings alone, so an attacker with a back end, who shares
those of its encoder, is skipped; so is a condition that the attacker has no part in. Results of attackers other than the main one go to exp/<recipe>/runs/<system>/<metric>_<attacker>-aa.

  --main NAME        the attacker of the plain directories (first of \$attackers in recipe.conf)
  --metrics 'LIST'   which of linkability, singling_out, srd ($metrics)
  --seed N           seed of draws and bootstrap ($seed)
  --bootstrap N      resamples for the intervals; 0 for none ($bootstrap)"

. ./path.sh
. utils/parse_options.sh
. utils/stamp.sh
. local/set_attack.sh
[ $# = 4 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 attacker=$2 system=$3 condition=$4
. "$conf"

set_attack "$attacker" "$system" "$condition" || exit 0
mapfile -t enrolls < <(tr -s ' ' '\n' <<<"$asv_pairs" | cut -d: -f1 | sort -u)
mapfile -t trials < <(tr -s ' ' '\n' <<<"$asv_pairs" | cut -d: -f2 | sort -u)
enrolls=("${enrolls[@]/#/$vectors/}") trials=("${trials[@]/#/$vectors/}")
enrolls=("${enrolls[@]/%/$enroll_suffix}") trials=("${trials[@]/%/$trial_suffix}")

for metric in $metrics; do
  [ "$metric" != srd ] || [[ $condition != oa && $scoring = cosine ]] || continue
  dir=exp/$recipe/runs/$system/$metric$suffix-$condition
  stamp=(--stamp "$dir/.stamp.json" --option "seed=$seed bootstrap=$bootstrap attacker=$attacker system=$system"
    --option "attack=$vpc_name,$legal_name" --option "sizes=$legal_sizes ${legal_utts:-} $srd_inputs"
    --input vpeval/metrics --input vpeval/protocols/legal.py --input vpeval/protocols/srd.py
    --input vpeval/asv/comparison.py --input "conf/asv/$attacker.yaml" "${backend_stamp[@]}" --output "$dir/records.jsonl")
  for part in "${enrolls[@]}" "${trials[@]}"; do stamp+=(--input "$part"); done
  if up_to_date "${stamp[@]}"; then
    echo "$dir is up to date, skipped"
    continue
  fi
  if [ "$metric" = srd ]; then
    local/split_embeddings.py --n-inputs "$srd_inputs" --seed "$seed" "${enrolls[@]}" "${trials[@]}" \
      "$dir/reference" "$dir/input"
    similarity=$(sed -n 's/^similarity: *\([a-z]*\).*/\1/p' "conf/asv/$attacker.yaml")
    options=(--similarity "${similarity:-cosine}") inputs=("$dir/reference" "$dir/input")
  else
    steps/pool_embeddings.py "${enrolls[@]}" "$dir/enrolls"
    steps/pool_embeddings.py "${trials[@]}" "$dir/trials"
    inputs=("$dir/enrolls" "$dir/trials")
    if [ "$metric" = linkability ]; then
      options=(--n-enroll "$legal_sizes" ${legal_utts:+--n-utts "$legal_utts,all"})
    else
      options=(--n-speakers "$legal_sizes" ${legal_utts:+--n-utts "$legal_utts"})
    fi
    options+=(--param scoring="$scoring" "${backend[@]}")
  fi
  "local/score_$metric.py" "${options[@]}" --seed "$seed" --bootstrap "$bootstrap" \
    --tag recipe="$recipe" --tag system="$system" --tag set="${recipe}_all" --tag condition="$condition" \
    --tag attacker="$attacker" --param attack_model="$vpc_name" --param attack_model_legal="$legal_name" \
    "${inputs[@]}" "$dir/records.jsonl"
  utils/stamp.py write "${stamp[@]}"
  echo "$dir: $(wc -l <"$dir/records.jsonl") numbers"
done
