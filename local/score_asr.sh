#!/usr/bin/env bash
# Word error rates for all recognition sets of a recipe, original (o) or anonymised (a).
# recipe.conf is chosen by an option and sets recipe, asv_pairs and others:
# shellcheck disable=SC1090,SC2154
set -euo pipefail

seed=0
bootstrap=1000
normalizer=vpc2020

help_message="Usage: $0 [options] <recipe.conf> <recogniser> <system> o|a
 e.g.: $0 egs/mini/recipe.conf whisper_base mcadams a

  --seed N           seed of the bootstrap ($seed)
  --bootstrap N      resamples for the intervals; 0 for none ($bootstrap)
  --normalizer NAME  vpc2020, vpc2024 or vpc2026 ($normalizer)"

. ./path.sh
. utils/parse_options.sh
. utils/stamp.sh
[ $# = 4 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 recognizer=$2 system=$3 condition=$4
. "$conf"

case $condition in
  o) suffix='' ;;
  a) suffix=_$system ;;
  *) echo "$0: condition '$condition' is none of o, a" >&2; exit 1 ;;
esac

for entry in $asr_sets; do
  name=${entry%%:*}
  IFS=, read -ra sets <<<"${entry#*:}"
  dir=exp/$recipe/runs/$system/ASR-$name$suffix
  stamp=(--stamp "$dir/.stamp.json" --option "seed=$seed bootstrap=$bootstrap normalizer=$normalizer $recognizer $system"
    --input vpeval/metrics/wer.py --input vpeval/text.py --output "$dir/hyp" --output "$dir/records.jsonl")
  for set in "${sets[@]}"; do
    stamp+=(--input "exp/$recipe/decode/$recognizer/$set$suffix" --input "data/$set/text")
  done
  if up_to_date "${stamp[@]}"; then
    echo "$dir is up to date, skipped"
    continue
  fi

  mkdir -p "$dir"
  (cd data && sort "${sets[@]/%//text}") >"$dir/ref"
  (cd data && sort "${sets[@]/%//utt2spk}") >"$dir/utt2spk"
  (cd "exp/$recipe/decode/$recognizer" && sort "${sets[@]/%/$suffix/text}") >"$dir/hyp"
  printf '%s: ' "$dir"
  local/score_wer.py --seed "$seed" --bootstrap "$bootstrap" --normalizer "$normalizer" --utt2spk "$dir/utt2spk" \
    --tag recipe="$recipe" --tag system="$system" --tag set="$name" --tag condition="$condition" \
    --tag attacker="$recognizer" "$dir/ref" "$dir/hyp" "$dir/records.jsonl"
  utils/stamp.py write "${stamp[@]}"
done
