# Stages of a recipe: source this after the options are parsed; needs $stage and $stop_stage.
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

# stage_is 3 "anonymise": whether stage 3 is to be run; announces it if so.
stage_is() {
  ((stage <= $1 && $1 <= stop_stage)) || return 1
  echo "== stage $1: $2"
}

# not_built 7 "voice similarity": say in one line that a stage is not there yet.
not_built() {
  ((stage <= $1 && $1 <= stop_stage)) || return 0
  echo "== stage $1: $2: not built yet, skipped"
}

# need 0 data/a data/b: stop, naming the stage that makes them, unless all are there.
need() {
  local maker=$1 path
  shift
  for path in "$@"; do
    [ -e "$path" ] || {
      echo "$0: $path is missing; stage $maker makes it: run $0 --stage $maker" >&2
      exit 1
    }
  done
}
