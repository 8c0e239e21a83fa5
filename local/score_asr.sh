#!/usr/bin/env bash
# Word error rates for all recognition sets of a recipe, original (o) or anonymised (a).
# recipe.conf is chosen by an option and sets recipe and the lists of sets:
# shellcheck disable=SC1090,SC2154
set -euo pipefail

seed=0
bootstrap=1000
normalizer=vpc2020
model=
suffix=
lm_dir=
tune_on=dev

help_message="Usage: $0 [options] <recipe.conf> <recogniser> <system> o|a
 e.g.: $0 egs/mini/recipe.conf whisper_base mcadams a
       $0 --model 'ASR_eval^anon' --suffix -anon --lm-dir exp/mini/lm egs/mini/recipe.conf ctc_mini_mcadams mcadams a

Scores what steps/decode.py made in exp/<recipe>/decode/<recogniser>. With --lm-dir the n-best lists are scored with a
small and a large language model, as in the challenge.

  --seed N           seed of the bootstrap ($seed)
  --bootstrap N      resamples for the intervals; 0 for none ($bootstrap)
  --normalizer NAME  vpc2020, vpc2024 or vpc2026 ($normalizer)
  --model NAME       name of the recogniser in the results (<recogniser>)
  --suffix SUFFIX    of the result directories, to keep several recognisers apart
  --lm-dir DIR       has small.arpa and large.arpa
  --tune-on WHAT     dev: weights are chosen on the development set; scored: on the scored set, as the challenge did
                     ($tune_on)"

. ./path.sh
. utils/parse_options.sh
. utils/stamp.sh
[ $# = 4 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 recognizer=$2 system=$3 condition=$4
. "$conf"

case $condition in
  o) anon='' ;;
  a) anon=_$system ;;
  *) echo "$0: condition '$condition' is none of o, a" >&2; exit 1 ;;
esac
[[ $tune_on =~ ^(dev|scored)$ ]] || { echo "$0: --tune-on $tune_on: expected dev or scored" >&2; exit 1; }
decoded=exp/$recipe/decode/$recognizer
model=${model:-$recognizer}

# The trial sets of recognition set $1, one a line.
sets_of() {
  local entry
  for entry in $asr_sets; do
    [ "${entry%%:*}" = "$1" ] && { tr , '\n' <<<"${entry#*:}"; return; }
  done
  echo "$0: no recognition set $1 to tune on; use --tune-on scored" >&2
  return 1
}

# join FILE SET ...: a table of several data or decoding directories as one; the order of equal keys is kept.
join_sets() {
  local file=$1
  shift
  sort -s -k1,1 "${@/%//$file}"
}

# Rate of a hypothesis: score RESULT-DIR HYP OUT [OPTION ...]
score() {
  local dir=$1 hyp=$2 out=$3
  shift 3
  local/score_wer.py --seed "$seed" --bootstrap "$bootstrap" --normalizer "$normalizer" \
    --utt2spk "$dir/utt2spk" --spk2gender "$dir/spk2gender" --tag recipe="$recipe" --tag system="$system" \
    --tag set="$name" --tag condition="$condition" --tag attacker="$model" "$@" "$dir/ref" "$hyp" "$out"
}

for entry in $asr_sets; do
  name=${entry%%:*}
  mapfile -t sets < <(sets_of "$name")
  dir=exp/$recipe/runs/$system/ASR-$name$anon$suffix
  tune_name=$name
  [ -z "$lm_dir" ] || [ "$tune_on" = scored ] || tune_name=${name/_test_/_dev_}
  sets_of "$tune_name" >/dev/null
  mapfile -t tune_sets < <(sets_of "$tune_name")
  stamp=(--stamp "$dir/.stamp.json" --input vpeval/metrics/wer.py --input vpeval/asr/text.py
    --option "seed=$seed bootstrap=$bootstrap normalizer=$normalizer $recognizer $system $model $tune_on"
    --output "$dir/hyp" --output "$dir/records.jsonl")
  [ -z "$lm_dir" ] || stamp+=(--input "$lm_dir" --input vpeval/asr/lm.py --input vpeval/asr/nbest.py)
  for set in "${sets[@]}" "${tune_sets[@]}"; do stamp+=(--input "$decoded/$set$anon" --input "data/$set/text"); done
  if up_to_date "${stamp[@]}"; then
    echo "$dir is up to date, skipped"
    continue
  fi

  mkdir -p "$dir"
  rm -rf "$dir"/decode_*
  for file in text utt2spk spk2gender; do join_sets "$file" "${sets[@]/#/data/}" >"$dir/$file"; done
  mv "$dir/text" "$dir/ref"
  sort -u -o "$dir/spk2gender" "$dir/spk2gender"
  hypotheses=("${sets[@]/#/$decoded/}") tuned=("${tune_sets[@]/#/$decoded/}")
  join_sets text "${hypotheses[@]/%/$anon}" >"$dir/hyp"
  if [ -z "$lm_dir" ]; then
    printf '%s: ' "$dir"
    score "$dir" "$dir/hyp" "$dir/records.jsonl"
  else
    join_sets nbest "${hypotheses[@]/%/$anon}" >"$dir/nbest"
    join_sets nbest "${tuned[@]/%/$anon}" >"$dir/tune_nbest"
    join_sets text "${tune_sets[@]/#/data/}" >"$dir/tune_ref"
    for lm in small large; do
      out=$dir/decode_tg$lm
      weights=$(local/tune_lm.py --normalizer "$normalizer" "$lm_dir/$lm.arpa" "$dir/tune_ref" "$dir/tune_nbest" \
        "$dir/nbest" "$out/text")
      rate=$(score "$dir" "$out/text" "$out/records.jsonl" --source "$out/wer_$weights" --param lm=$lm \
        --param tuned_on="$tune_name")
      echo "$rate" >"$out/wer_$weights"
      echo "$out/wer_$weights, weights chosen on $tune_name: $rate"
    done
    cat "$dir"/decode_tg*/records.jsonl >"$dir/records.jsonl"
    rm "$dir/tune_nbest" "$dir/tune_ref"
  fi
  utils/stamp.py write "${stamp[@]}"
done
