# Stages of a recipe: source this after the options are parsed; needs $stage and $stop_stage.
#
#   stage 6 verification "verification scores"     # a name in vpeval/stages/__init__.py; noted if it was selected
#   run_stages recipe seed                         # run the noted stages, with these variables as options
#
# shellcheck shell=bash

last_stage=12
for _number in "${stage:?}" "${stop_stage:?}"; do
  # Two digits at most, and none of them a leading zero, which bash would take for an octal number.
  if ! [[ $_number =~ ^(0|[1-9][0-9]?)$ ]] || ((_number > last_stage)); then
    echo "$0: stage '$_number' is out of range; stages are 0 to $last_stage (see --help)" >&2
    exit 1
  fi
done
if ((stage > stop_stage)); then
  echo "$0: --stage $stage comes after --stop-stage $stop_stage; nothing to do" >&2
  exit 1
fi

_stages=()
stage() {
  ((stage <= $1 && $1 <= stop_stage)) || return 0
  _stages+=("$@")
}

run_stages() {
  local name options=()
  for name; do options+=("--${name//_/-}=${!name}"); done
  . ./path.sh
  export VPEVAL_RUN_PID=$$
  exec local/run_stages.py "${options[@]}" "${_stages[@]}"
}
