#!/usr/bin/env bash
# Evaluate a voice anonymiser: ./run.sh does everything; ./run.sh --help tells more.
# recipe.conf is chosen by an option and sets recipe, asv_pairs and others:
# shellcheck disable=SC1090,SC2154
set -euo pipefail

stage=0
stop_stage=12
recipe=mini               # a folder of egs/
corpus=                   # folder of the corpus; default: egs/<recipe>/corpus
full=false                # true: all trials of the embedded corpus; false: a balanced subset
anonymizer=mcadams        # a hook script, or the name of a folder in local/anon
anon_options=             # options for the hook, as one word
anon_level=spk            # spk: one pseudo-speaker per speaker; utt: one per utterance
train_level=utt           # the same for what attackers are trained on; utt teaches them what a speaker's voices share
system=                   # name of the results; default: from the hook
attackers=                # attackers, conf/asv/<name>.yaml, the main one first; default: those of the recipe
allow_scratch=false       # true: without the pretrained encoder, train a small one on the recipe's training data
calibrate=false           # true: scores become log-likelihood ratios by logistic regression on the dev sets
asr=whisper_base          # recogniser, conf/asr/<name>.yaml
train_asr=false           # true: recognisers trained on original and on anonymised speech as well
quality=false             # true: DNSMOS and STOI as well
edition=2020              # challenge whose result file and submission are made: 2020, 2022, 2024 or 2026
nj=$(getconf _NPROCESSORS_ONLN)
seed=0

help_message="Usage: ./run.sh [options]
 e.g.: ./run.sh                                        # embedded corpus, McAdams baseline, everything
       ./run.sh --stage 3 --anonymizer my/hook.py      # your own anonymiser, from stage 3 on

Stages: 0 data, 1 evaluation models, 2 anonymiser preparation, 3 anonymise, 4 attackers, 5 embeddings, 6 verification,
7 voice similarity, 8 legal metrics, 9 similarity rank disclosure, 10 utility, 11 results, 12 submission.
What is up to date is skipped.

  --stage N  --stop-stage N     first and last stage ($stage, $stop_stage)
  --recipe NAME                 folder of egs/ ($recipe)
  --corpus DIR                  folder of the corpus (egs/<recipe>/corpus)
  --full true|false             all trials, or a balanced subset ($full)
  --anonymizer HOOK             hook script, or a name in local/anon ($anonymizer)
  --anon-options 'STRING'       options for the hook
  --anon-level spk|utt          pseudo-speaker per speaker or per utterance ($anon_level)
  --train-level spk|utt         the same for training sets; utt makes stronger attackers ($train_level)
  --system NAME                 name for the results (from the hook)
  --attackers 'LIST'            configurations in conf/asv, the main one first (those of the recipe)
  --allow-scratch true|false    where the pretrained encoder cannot be had, train a small one ($allow_scratch)
  --calibrate true|false        calibrate verification scores on the dev sets, so that Cllr means something ($calibrate)
  --asr NAME                    configuration in conf/asr ($asr)
  --train-asr true|false        train recognisers on original and on anonymised speech as well ($train_asr)
  --quality true|false          DNSMOS and STOI as well ($quality)
  --edition YEAR                challenge formats: 2020, 2022, 2024 or 2026 ($edition)
  --nj N                        jobs at a time ($nj)
  --seed N                      seed of everything random ($seed)"

cd "$(dirname "${BASH_SOURCE[0]}")"
command_line="./run.sh $*"
. utils/parse_options.sh
[ $# = 0 ] || { echo "$0: unexpected argument '$1'; see --help" >&2; exit 1; }
. utils/stages.sh
. utils/stamp.sh
export VPEVAL_RUN_PID=$$

conf=egs/$recipe/recipe.conf
[ -f "$conf" ] || { echo "$0: no recipe '$recipe'; there are: $(cd egs && echo *)" >&2; exit 1; }
chosen=$attackers
. "$conf"
attackers=${chosen:-$attackers}
asv=${attackers%% *}
files=("conf/asr/$asr.yaml")
corpus=${corpus:-egs/$recipe/corpus}
for name in $attackers; do files+=("conf/asv/$name.yaml"); done
for file in "${files[@]}"; do
  [ -f "$file" ] || { echo "$0: no $file; there are: $(cd "$(dirname "$file")" && echo *.yaml)" >&2; exit 1; }
done
[ -d "$corpus" ] || { echo "$0: no corpus in $corpus; give its folder with --corpus DIR" >&2; exit 1; }
[[ $nj =~ ^[1-9][0-9]*$ ]] || { echo "$0: --nj $nj: expected a whole number of at least 1" >&2; exit 1; }
[[ $seed =~ ^[0-9]+$ ]] || { echo "$0: --seed $seed: expected a whole number" >&2; exit 1; }
[[ $edition =~ ^(2020|2022|2024|2026)$ ]] || { echo "$0: --edition $edition: expected 2020, 2022, 2024 or 2026" >&2; exit 1; }
((edition <= 2022)) && result_file=results.txt || result_file=result_for_rank
[[ $anon_level =~ ^(spk|utt)$ ]] || { echo "$0: --anon-level $anon_level: expected spk or utt" >&2; exit 1; }
[[ $train_level =~ ^(spk|utt)$ ]] || { echo "$0: --train-level $train_level: expected spk or utt" >&2; exit 1; }
. ./path.sh
. ./cmd.sh
if [ "$allow_scratch" = true ] && ! utils/get_model.py "$(sed -n 's/^model: *\([^ ]*\).*/\1/p' "conf/asv/$asv.yaml")"; then
  echo "$0: attackers are trained from scratch instead; they are weaker, and privacy looks better than it is" >&2
  attackers="small_original small_scratch" asv=small_original
fi
# Since 2022 the challenges rank by the attacker trained on anonymised speech: the last of the list.
ranked=("--attacker" "$asv")
((edition == 2020)) || ranked=("--attacker" "${attackers##* }" "--asv-eval" "$asv")
words=$(utils/find_hook.py --options="$anon_options" "$anonymizer")
mapfile -t words <<<"$words"
hook=${words[0]} system=${system:-${words[1]}} hook_options=("${words[@]:2}")
[[ $system =~ ^[a-z0-9_]+$ && $system != original ]] || {
  echo "$0: --system $system: use small letters, digits and _, and not 'original'" >&2; exit 1; }

mapfile -t eval_sets < <(tr -s ' :' '\n' <<<"$asv_pairs" | sort -u)
mapfile -t trial_sets < <(tr -s ' ' '\n' <<<"$asv_pairs" | cut -d: -f2 | sort -u)
read -ra train <<<"$train_sets"
read -ra pool <<<"$pool_sets"
train=("${train[@]/#/data/}") pool=("${pool[@]/#/data/}")
original=("${eval_sets[@]/#/data/}") anonymised=("${eval_sets[@]/#/data/}")
anonymised=("${anonymised[@]/%/_$system}")
vectors=("${original[@]/#data/exp/$recipe/embeddings/$asv}" "${anonymised[@]/#data/exp/$recipe/embeddings/$asv}")
speech=("${trial_sets[@]/#/data/}")
run=exp/$recipe/runs

if stage_is 0 "data directories of recipe $recipe"; then
  stamp=(--stamp "exp/$recipe/.data.json" --input "egs/$recipe" --input "$corpus" --input vpeval/data
    --option "full=$full seed=$seed")
  for dir in "${original[@]}" "${train[@]}" "${pool[@]}"; do stamp+=(--output "$dir"); done
  if up_to_date "${stamp[@]}"; then
    echo "data/ is up to date, skipped"
  else
    egs/"$recipe"/prepare.sh --full "$full" --seed "$seed" "$corpus" data
    for dir in "${original[@]}"; do utils/validate_data_dir.py "$dir"; done
    utils/stamp.py write "${stamp[@]}"
  fi
fi

if stage_is 1 "evaluation models"; then
  mapfile -t models < <(sed -n 's/^model: *\([^ ]*\).*/\1/p' "conf/asv/$asv.yaml" "conf/asr/$asr.yaml")
  utils/get_model.py "${models[@]}" || {
    echo "$0: with --allow-scratch true a small speaker encoder is trained instead of the missing one" >&2; exit 1; }
fi

if stage_is 2 "prepare $system"; then
  if grep -q -e --prepare "$hook"; then
    need 0 "${train[@]}" "${pool[@]}"
    "$hook" "${hook_options[@]}" --prepare --nj "$nj" "$(IFS=,; echo "${train[*]}")" "$(IFS=,; echo "${pool[*]}")"
  else
    echo "$system needs no preparation"
  fi
fi

# anonymise spk|utt data/...
anonymise() {
  local level=$1 dir
  shift
  for dir; do
    steps/anonymize.sh --cmd "$cmd" --nj "$nj" --anon-level "$level" --seed "$seed" --options "$anon_options" \
      --log-dir "$run/$system/log/${dir#data/}" "$hook" "$dir" "${dir}_$system"
  done
}

if stage_is 3 "anonymise with $system, level $anon_level (training sets: $train_level)"; then
  need 0 "${original[@]}" "${train[@]}"
  anonymise "$anon_level" "${original[@]}"
  anonymise "$train_level" "${train[@]}"
fi

if stage_is 4 "train the attackers: $attackers"; then
  need 3 "${train[@]/%/_$system}"
  for attacker in $attackers; do
    local/train_attacker.sh --cmd "$cmd" --nj "$nj" --seed "$seed" --anon-level "$train_level" "$conf" "$attacker" "$system"
  done
fi

if stage_is 5 "speaker embeddings"; then
  need 0 "${original[@]}"
  need 3 "${anonymised[@]}"
  # shellcheck disable=SC2086  # a list of words
  local/embed_attackers.sh --cmd "$cmd" --nj "$nj" "$conf" "$system" $attackers
fi

if stage_is 6 "verification: EER, Cllr, D_sys, ZEBRA; audit of the attackers"; then
  need 5 "${vectors[@]}"
  for attacker in $attackers; do
    for condition in oo oa aa; do
      [ $condition = oo ] && name=original || name=$system
      local/score_asv.sh --main "$asv" --calibrate "$calibrate" --seed "$seed" "$conf" "$attacker" "$name" $condition
    done
  done
  local/audit_attacker.py --edition "$edition" "$system" "exp/$recipe/embeddings/$asv" "$run/$system/audit.json" \
    "$run/original" "$run/$system"
fi

if stage_is 7 "voice similarity: G_VD, DeID"; then
  need 5 "${vectors[@]}"
  local/score_vsm.sh --seed "$seed" "$conf" "$asv" "$system"
fi

if stage_is 8 "legal metrics: linkability, singling out"; then
  need 5 "${vectors[@]}"
  for attacker in $attackers; do
    for condition in oo oa aa; do
      [ $condition = oo ] && name=original || name=$system
      local/score_legal.sh --main "$asv" --metrics "linkability singling_out" --seed "$seed" \
        "$conf" "$attacker" "$name" $condition
    done
  done
fi

if stage_is 9 "similarity rank disclosure"; then
  need 5 "${vectors[@]}"
  for attacker in $attackers; do
    local/score_legal.sh --main "$asv" --metrics srd --seed "$seed" "$conf" "$attacker" original oo
    local/score_legal.sh --main "$asv" --metrics srd --seed "$seed" "$conf" "$attacker" "$system" aa
  done
fi

if stage_is 10 "utility: word error rate ($asr), pitch correlation"; then
  need 0 "${speech[@]}"
  need 3 "${speech[@]/%/_$system}"
  steps/decode.py --cmd "$cmd" --nj "$nj" "conf/asr/$asr.yaml" "exp/$recipe/decode/$asr" \
    "${speech[@]}" "${speech[@]/%/_$system}"
  local/score_asr.sh --seed "$seed" "$conf" "$asr" original o
  local/score_asr.sh --seed "$seed" "$conf" "$asr" "$system" a
  local/score_speech.sh --nj "$nj" --seed "$seed" --quality "$quality" "$conf" "$system"
  if [ "$train_asr" = true ]; then
    anonymise "$train_level" "${pool[@]}"
    local/score_trained_asr.sh --cmd "$cmd" --nj "$nj" --seed "$seed" "$conf" "$system"
  fi
fi

if stage_is 11 "results"; then
  need 6 "$run/original" "$run/$system"
  local/collect_results.py "$run/$system/results.jsonl" "$run/original" "$run/$system"
  local/write_results.py --edition "$edition" --system "$system" "${ranked[@]}" \
    "$run/$system/results.jsonl" "$run/$system/$result_file"
  local/results_to_latex.py --edition "$edition" --out-dir "$run/$system/latex" "$run/$system/results.jsonl"
  logs=()
  for log in "exp/$recipe/asv"/*/epochs.jsonl; do
    name=$(basename "$(dirname "$log")")
    [ ! -f "$log" ] || logs+=(--training-log "$name=$log")
  done
  local/plot_figures.py --edition "$edition" "${logs[@]}" "$run/original" "$run/$system" "$run/$system/figures"
  local/make_report.py --edition "$edition" --command-line "$command_line" --note "${report_note:-}" \
    "$run/original" "$run/$system" "$run/$system/report.html"
  local/compare.py --seed "$seed" "exp/$recipe/comparison" "$run"/*/results.jsonl >/dev/null
  local/print_summary.py --edition "$edition" "$run"/*/results.jsonl
  echo "results: $run/$system/$result_file, results.jsonl, latex/, figures/; all systems: exp/$recipe/comparison/"
  echo "report:  $run/$system/report.html"
fi

if stage_is 12 "submission package, edition $edition"; then
  need 3 "${anonymised[@]}"
  need 11 "$run/$system/results.jsonl"
  local/make_submission.py --edition "$edition" "${ranked[@]}" --seed "$seed" --note anon_level="$anon_level" --note train_level="$train_level" \
    "$run/$system" "$run/$system/submission.tar.gz" "${original[@]}"
  local/check_submission.py "$run/$system/submission.tar.gz" "${original[@]}"
fi
