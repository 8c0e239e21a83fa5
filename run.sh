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
system=                   # name of the results; default: from the hook
asv=ecapa                 # attacker's speaker model, conf/asv/<name>.yaml
asr=whisper_base          # recogniser, conf/asr/<name>.yaml
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
  --system NAME                 name for the results (from the hook)
  --asv NAME  --asr NAME        configurations in conf/asv and conf/asr ($asv, $asr)
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
. "$conf"
corpus=${corpus:-egs/$recipe/corpus}
for file in "conf/asv/$asv.yaml" "conf/asr/$asr.yaml"; do
  [ -f "$file" ] || { echo "$0: no $file; there are: $(cd "$(dirname "$file")" && echo *.yaml)" >&2; exit 1; }
done
[ -d "$corpus" ] || { echo "$0: no corpus in $corpus; give its folder with --corpus DIR" >&2; exit 1; }
[[ $nj =~ ^[1-9][0-9]*$ ]] || { echo "$0: --nj $nj: expected a whole number of at least 1" >&2; exit 1; }
[[ $seed =~ ^[0-9]+$ ]] || { echo "$0: --seed $seed: expected a whole number" >&2; exit 1; }
[[ $edition =~ ^(2020|2022|2024|2026)$ ]] || { echo "$0: --edition $edition: expected 2020, 2022, 2024 or 2026" >&2; exit 1; }
((edition <= 2022)) && result_file=results.txt || result_file=result_for_rank
[[ $anon_level =~ ^(spk|utt)$ ]] || { echo "$0: --anon-level $anon_level: expected spk or utt" >&2; exit 1; }
. ./path.sh
. ./cmd.sh
hook_and_name=$(utils/find_hook.py "$anonymizer")
hook=${hook_and_name% *}
system=${system:-${hook_and_name##* }}
[[ $system =~ ^[a-z0-9_]+$ && $system != original ]] || {
  echo "$0: --system $system: use small letters, digits and _, and not 'original'" >&2; exit 1; }

mapfile -t eval_sets < <(tr -s ' :' '\n' <<<"$asv_pairs" | sort -u)
mapfile -t trial_sets < <(tr -s ' ' '\n' <<<"$asv_pairs" | cut -d: -f2 | sort -u)
read -ra other_sets <<<"$train_sets $pool_sets"
original=("${eval_sets[@]/#/data/}") anonymised=("${eval_sets[@]/#/data/}")
anonymised=("${anonymised[@]/%/_$system}")
vectors=("${original[@]/#data/exp/$recipe/embeddings/$asv}" "${anonymised[@]/#data/exp/$recipe/embeddings/$asv}")
speech=("${trial_sets[@]/#/data/}")
run=exp/$recipe/runs

if stage_is 0 "data directories of recipe $recipe"; then
  stamp=(--stamp "exp/$recipe/.data.json" --input "egs/$recipe" --input "$corpus" --input vpeval/data
    --option "full=$full seed=$seed")
  for set in "${eval_sets[@]}" "${other_sets[@]}"; do stamp+=(--output "data/$set"); done
  if up_to_date "${stamp[@]}"; then
    echo "data/ is up to date, skipped"
  else
    egs/"$recipe"/prepare.sh --full "$full" --seed "$seed" "$corpus" data
    for dir in "${original[@]}"; do utils/validate_data_dir.py "$dir"; done
    utils/stamp.py write "${stamp[@]}"
  fi
fi

if stage_is 1 "evaluation models"; then
  utils/get_model.py "$(awk '/^model:/ {print $2}' "conf/asv/$asv.yaml")" "$(awk '/^model:/ {print $2}' "conf/asr/$asr.yaml")"
fi

not_built 2 "anonymiser preparation"

if stage_is 3 "anonymise with $system, level $anon_level"; then
  need 0 "${original[@]}"
  for set in "${eval_sets[@]}"; do
    steps/anonymize.sh --cmd "$cmd" --nj "$nj" --anon-level "$anon_level" --seed "$seed" --options "$anon_options" \
      --log-dir "$run/$system/log/$set" "$hook" "data/$set" "data/${set}_$system"
  done
fi

not_built 4 "attackers trained on anonymised speech"

if stage_is 5 "speaker embeddings ($asv)"; then
  need 0 "${original[@]}"
  need 3 "${anonymised[@]}"
  steps/extract_embeddings.py --cmd "$cmd" --nj "$nj" "conf/asv/$asv.yaml" "exp/$recipe/embeddings/$asv" \
    "${original[@]}" "${anonymised[@]}"
fi

if stage_is 6 "verification: EER, Cllr, D_sys, ZEBRA"; then
  need 5 "${vectors[@]}"
  local/score_asv.sh --seed "$seed" "$conf" "$asv" original oo
  local/score_asv.sh --seed "$seed" "$conf" "$asv" "$system" oa
  local/score_asv.sh --seed "$seed" "$conf" "$asv" "$system" aa
fi

if stage_is 7 "voice similarity: G_VD, DeID"; then
  need 5 "${vectors[@]}"
  local/score_vsm.sh --seed "$seed" "$conf" "$asv" "$system"
fi

if stage_is 8 "legal metrics: linkability, singling out"; then
  need 5 "${vectors[@]}"
  for condition in oo oa aa; do
    [ $condition = oo ] && name=original || name=$system
    local/score_legal.sh --metrics "linkability singling_out" --seed "$seed" "$conf" "$asv" "$name" $condition
  done
fi

if stage_is 9 "similarity rank disclosure"; then
  need 5 "${vectors[@]}"
  local/score_legal.sh --metrics srd --seed "$seed" "$conf" "$asv" original oo
  local/score_legal.sh --metrics srd --seed "$seed" "$conf" "$asv" "$system" aa
fi

if stage_is 10 "utility: word error rate ($asr)"; then
  need 0 "${speech[@]}"
  need 3 "${speech[@]/%/_$system}"
  steps/decode.py --cmd "$cmd" --nj "$nj" "conf/asr/$asr.yaml" "exp/$recipe/decode/$asr" \
    "${speech[@]}" "${speech[@]/%/_$system}"
  local/score_asr.sh --seed "$seed" "$conf" "$asr" original o
  local/score_asr.sh --seed "$seed" "$conf" "$asr" "$system" a
fi

if stage_is 11 "results"; then
  need 6 "$run/original" "$run/$system"
  local/collect_results.py "$run/$system/results.jsonl" "$run/original" "$run/$system"
  local/write_results.py --edition "$edition" --system "$system" --attacker "$asv" \
    "$run/$system/results.jsonl" "$run/$system/$result_file"
  local/results_to_latex.py --out-dir "$run/$system/latex" "$run/$system/results.jsonl"
  local/plot_figures.py "$run/original" "$run/$system" "$run/$system/figures"
  local/make_report.py --command-line "$command_line" --note "${report_note:-}" \
    "$run/original" "$run/$system" "$run/$system/report.html"
  local/compare.py --seed "$seed" "exp/$recipe/comparison" "$run"/*/results.jsonl >/dev/null
  local/print_summary.py "$run"/*/results.jsonl
  echo "results: $run/$system/$result_file, results.jsonl, latex/, figures/; all systems: exp/$recipe/comparison/"
  echo "report:  $run/$system/report.html"
fi

if stage_is 12 "submission package, edition $edition"; then
  need 3 "${anonymised[@]}"
  need 11 "$run/$system/results.jsonl"
  local/make_submission.py --edition "$edition" --attacker "$asv" --seed "$seed" --note anon_level="$anon_level" \
    "$run/$system" "$run/$system/submission.tar.gz" "${original[@]}"
  local/check_submission.py "$run/$system/submission.tar.gz" "${original[@]}"
fi
