# What an attacker is and does in a condition, for the scripts that score it: source this.
#
#   set_attack <attacker> <system> oo|oa|aa || exit 0
#
# reads recipe, attackers and main (the attacker of the plain directories; the first of $attackers where it is empty)
# and sets
#   vectors       directory of its embeddings
#   enroll_suffix, trial_suffix   of the names of the sets that it compares
#   suffix        of the names of its results; none for the main attacker
#   vpc_name, legal_name          what the challenges and the legal paper call the attack
#   scoring       cosine or plda
#   backend       options of the scorers: --backend and its file
#   backend_stamp options of utils/stamp.py: what the back end depends on
# It fails if the attacker has no part in the condition.
#
# shellcheck shell=bash disable=SC2034,SC2154

set_attack() {
  local attacker=$1 system=$2 condition=$3 first line mode model embeddings conditions
  case $condition in
    oo) enroll_suffix='' trial_suffix='' ;;
    oa) enroll_suffix='' trial_suffix=_$system ;;
    aa) enroll_suffix=_$system trial_suffix=_$system ;;
    *) echo "$0: condition '$condition' is none of oo, oa, aa" >&2; exit 1 ;;
  esac
  line=$(local/describe_attacker.py "conf/asv/$attacker.yaml" "$system") || exit 1
  read -r mode _ _ _ model embeddings conditions <<<"$line"
  [[ " $conditions " == *" $condition "* ]] || return 1
  line=$(local/describe_attacker.py --attack "$condition" "conf/asv/$attacker.yaml" "$system") || exit 1
  read -r vpc_name legal_name <<<"$line"

  first=${attackers:-$attacker}
  suffix=_$attacker
  [ "$attacker" != "${main:-${first%% *}}" ] || suffix=''
  vectors=exp/$recipe/embeddings/$embeddings
  scoring=cosine backend=() backend_stamp=()
  if [ "$mode" = backend ]; then
    scoring=plda
    backend=(--backend "exp/$recipe/asv/$model/backend.npz")
    backend_stamp=(--input "${backend[1]}" --input vpeval/asv/backend.py --input vpeval/asv/plda.py)
  fi
}
