#!/usr/bin/env bash
# Recognisers trained by the recipe itself, scored with the small and the large language model of its training text:
# ASR_eval, trained on original speech, on original and anonymised trials; ASR_eval^anon, trained on anonymised speech.
# recipe.conf is chosen by an option and sets recipe and the lists of sets:
# shellcheck disable=SC1090,SC2154
set -euo pipefail

cmd=utils/run.py
nj=2
seed=0
train_conf=conf/asr/train/ctc_mini.yaml
tune_on=dev

help_message="Usage: $0 [options] <recipe.conf> <system>
 e.g.: $0 --nj 2 egs/mini/recipe.conf mcadams

Needs the training sets of the recipe, original and anonymised, and the anonymised trial sets.

  --cmd COMMAND      launcher of the jobs ($cmd)
  --nj N             jobs at a time ($nj)
  --seed N           seed of training and bootstrap ($seed)
  --train-conf F     training configuration ($train_conf)
  --tune-on WHAT     where LM weights are chosen: dev, or scored as in the challenge ($tune_on)"

. ./path.sh
. utils/parse_options.sh
[ $# = 2 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 system=$2
. "$conf"

read -ra train <<<"$train_sets $pool_sets"
mapfile -t trials < <(tr -s ' ' '\n' <<<"$asr_sets" | cut -d: -f2 | tr , '\n')
train=("${train[@]/#/data/}") trials=("${trials[@]/#/data/}")
for dir in "${train[@]/%/_$system}" "${trials[@]/%/_$system}"; do
  [ -d "$dir" ] || { echo "$0: $dir is missing; make it with steps/anonymize.sh" >&2; exit 1; }
done

lms=exp/$recipe/lm
for lm in small large; do
  # The challenge's models are a pruned and a whole n-gram model.
  [ $lm = small ] && options=(--order 3 --min-count 2) || options=(--order 4)
  steps/make_lm.py "${options[@]}" "$lms/$lm.arpa" "${train[@]/%//text}"
done

name=$(basename "$train_conf" .yaml)
steps/train_asr.sh --cmd "$cmd" --seed "$seed" "$train_conf" "exp/$recipe/asr/$name" "${train[@]}"
steps/train_asr.sh --cmd "$cmd" --seed "$seed" "$train_conf" "exp/$recipe/asr/${name}_$system" "${train[@]/%/_$system}"

decode() {
  local model=$1
  shift
  steps/decode.py --cmd "$cmd" --nj "$nj" --lm "$lms/small.arpa" "exp/$recipe/asr/$model/decode.yaml" \
    "exp/$recipe/decode/$model" "$@"
}
decode "$name" "${trials[@]}" "${trials[@]/%/_$system}"
decode "${name}_$system" "${trials[@]/%/_$system}"

score=(local/score_asr.sh --seed "$seed" --lm-dir "$lms" --tune-on "$tune_on")
"${score[@]}" --model ASR_eval --suffix -ASR_eval "$conf" "$name" original o
"${score[@]}" --model ASR_eval --suffix -ASR_eval "$conf" "$name" "$system" a
"${score[@]}" --model 'ASR_eval^anon' --suffix -ASR_eval_anon "$conf" "${name}_$system" "$system" a
