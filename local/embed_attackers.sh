#!/usr/bin/env bash
# Embeddings of the evaluation sets of a recipe by the encoders of its attackers.
set -euo pipefail

cmd=utils/run.py
nj=2

help_message="Usage: $0 [options] <recipe.conf> <system> <attacker> ...
 e.g.: $0 egs/mini/recipe.conf mcadams ecapa ecapa_plda

Attackers with the same encoder share its embeddings. Original sets are embedded only for attackers that compare original
speech, and for back ends, whose encoder does.

  --cmd COMMAND  --nj N      launcher and jobs ($cmd, $nj)"

. ./path.sh
. utils/parse_options.sh
[ $# -ge 3 ] || { echo "$help_message" >&2; exit 1; }
conf=$1 system=$2
shift 2
# shellcheck disable=SC1090
. "$conf"

declare -A seen=()
for attacker; do
  line=$(local/describe_attacker.py "conf/asv/$attacker.yaml" "$system")
  read -r mode start _ _ model embeddings conditions <<<"$line"
  [ -z "${seen[$embeddings]:-}" ] || continue
  seen[$embeddings]=yes
  case $mode in
    pretrained | backend) encoder=conf/asv/$start.yaml ;;
    *) encoder=exp/${recipe:?}/asv/$model/encoder.yaml ;;
  esac
  [ -f "$encoder" ] || { echo "$0: $encoder is missing; stage 4 of run.sh makes it" >&2; exit 1; }
  dirs=()
  # shellcheck disable=SC2154  # recipe and asv_pairs come from recipe.conf
  for set in $(tr -s ' :' '\n' <<<"$asv_pairs" | sort -u); do
    if [[ " $conditions " == *" oo "* || $mode == backend ]]; then dirs+=("data/$set"); fi
    dirs+=("data/${set}_$system")
  done
  steps/extract_embeddings.py --cmd "$cmd" --nj "$nj" "$encoder" "exp/$recipe/embeddings/$embeddings" "${dirs[@]}"
done
