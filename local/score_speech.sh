#!/usr/bin/env bash
# Pitch correlation and, on request, quality of the anonymised trial sets of a recipe.
# recipe.conf is chosen by an option and sets recipe and the lists of sets:
# shellcheck disable=SC1090,SC2154
set -euo pipefail

nj=2
seed=0
bootstrap=1000
quality=false
limit=0

help_message="Usage: $0 [options] <recipe.conf> <system>
 e.g.: $0 --nj 2 egs/mini/recipe.conf mcadams

  --nj N             processes ($nj)
  --seed N           seed of the bootstrap ($seed)
  --bootstrap N      resamples for the intervals; 0 for none ($bootstrap)
  --quality BOOL     true: DNSMOS and STOI, too, as far as their packages are installed ($quality)
  --limit N          utterances of a set whose quality is measured; 0 for all ($limit)"

. ./path.sh
. utils/parse_options.sh
. utils/stamp.sh
[ $# = 2 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 system=$2
. "$conf"
[[ $quality =~ ^(true|false)$ ]] || { echo "$0: --quality $quality: expected true or false" >&2; exit 1; }

for set in $(tr -s ' ' '\n' <<<"$asv_pairs" | cut -d: -f2 | sort -u); do
  gender=$(cut -d' ' -f2 "data/$set/spk2gender" | sort -u)
  tags=(--tag recipe="$recipe" --tag system="$system" --tag set="$set")
  case $gender in f | m) tags+=(--tag gender="$gender") ;; esac
  options="seed=$seed bootstrap=$bootstrap $system"

  dir=exp/$recipe/runs/$system/pitch-$set
  stamp=(--stamp "$dir/.stamp.json" --option "$options" --input "data/$set" --input "data/${set}_$system"
    --input vpeval/audio/f0.py --input vpeval/metrics/pitch.py --output "$dir/records.jsonl")
  if up_to_date "${stamp[@]}"; then
    echo "$dir is up to date, skipped"
  else
    local/score_pitch.py --nj "$nj" --seed "$seed" --bootstrap "$bootstrap" "${tags[@]}" \
      "data/$set" "data/${set}_$system" "$dir/records.jsonl"
    utils/stamp.py write "${stamp[@]}"
  fi

  [ "$quality" = true ] || continue
  dir=exp/$recipe/runs/$system/quality-$set
  stamp=(--stamp "$dir/.stamp.json" --option "$options limit=$limit" --input "data/$set" --input "data/${set}_$system"
    --input vpeval/metrics/quality.py --output "$dir/records.jsonl")
  if up_to_date "${stamp[@]}"; then
    echo "$dir is up to date, skipped"
  else
    printf '%s: ' "$dir"
    local/score_quality.py --limit "$limit" --seed "$seed" --bootstrap "$bootstrap" "${tags[@]}" --tag condition=a \
      --original "data/$set" "data/${set}_$system" "$dir/records.jsonl"
    utils/stamp.py write "${stamp[@]}"
  fi
done
