#!/usr/bin/env bash
# Make the sets that a recipe.conf names from corpora in their released layouts.
# recipe.conf is chosen by an option and sets recipe and the lists of sets:
# shellcheck disable=SC1090,SC2154
set -euo pipefail

full=false     # the sets of these recipes are always whole
seed=0
lists=

help_message="Usage: $0 [--full true|false] [--seed N] [--lists DIR] <recipe.conf> <corpus> <data-root>
 e.g.: $0 --lists /corpora/vpc_lists egs/vpc2020/recipe.conf /corpora data

<corpus> holds the corpora under the names of their archives (LibriSpeech, VCTK-Corpus-0.92, LibriTTS, cv-corpus-…/en,
RAVDESS, IEMOCAP_full_release), or is a table of utterances. Resampled audio goes to <data-root>/local.

  --seed N     of everything that is drawn ($seed)
  --lists DIR  official lists of enrolments and trials; without them the protocol is rebuilt, and results say so"

. ./path.sh
. utils/parse_options.sh
[ $# = 3 ] || { echo "$help_message" >&2; exit 1; }
emotion_sets='' pool_sets='' train_sets='' asr_sets='' linkability_sets='' singling_out_sets='' srd_sets=''
. "$1"
: "$full"

# Names of sets in <name>:<set>,<set> or <enrolment set>:<trial set> lists.
members() { tr -s '[:space:]' '\n' <<<"$1" | cut -d: -f2- | tr ',' '\n'; }

needed=$({ tr -s ' :\n,' '\n' <<<"$asv_pairs $linkability_sets $singling_out_sets $srd_sets $train_sets"; members "$asr_sets"; } |
  sort -u | tr '\n' ' ')
optional=$({ members "$emotion_sets"; tr ' ' '\n' <<<"$pool_sets"; } | sort -u | tr '\n' ' ')
for set in $needed; do optional=" $optional " optional=${optional/ $set / }; done

[ -z "$lists" ] || lists="--lists=$lists"
local/prepare_sets.py --recipe "$recipe" --seed "$seed" ${lists:+"$lists"} --sets "$needed" --optional "$optional" "$2" "$3"
