# Skip work that is done already, in shell scripts: source this, then
#
#   stamp=(--stamp FILE --input PATH --option NAME=VALUE --output PATH)
#   if up_to_date "${stamp[@]}"; then echo "skipped"; else work; utils/stamp.py write "${stamp[@]}"; fi
#
# shellcheck shell=bash

up_to_date() {
  local code=0
  utils/stamp.py check "$@" || code=$?
  # 3: there is work to do. Anything else (a missing input) has been reported and is final.
  ((code == 0 || code == 3)) || exit "$code"
  return "$code"
}
