# Source this before using a script by hand: . ./path.sh
# Sets up the environment of the recipes and, on first use, makes .venv from requirements.txt.
# VPEVAL_PYTHON=/path/python uses an existing environment; VPEVAL_MODELS=/path keeps models elsewhere than models/.
# shellcheck shell=bash

vpeval_make_venv() {
  local root=$1 stamp=$1/.venv/requirements.sha256 python
  if [ $# = 2 ] && [ "$stamp" -nt "$root/requirements.txt" ] && [ "$stamp" -nt "$root/constraints.txt" ]; then
    return 0
  fi
  for python in python3 python3.13 python3.12 python3.11; do
    "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && break
    python=python3
  done
  "$python" "$root/utils/make_venv.py" "$@"
}

vpeval_setup() {
  local root python requirements
  root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || return 1
  [ "${VPEVAL_ROOT:-}" = "$root" ] && return 0

  if [ -n "${VPEVAL_PYTHON:-}" ]; then
    python=$(command -v "$VPEVAL_PYTHON") && [ -x "$(dirname "$python")/python3" ] || {
      echo "path.sh: VPEVAL_PYTHON=$VPEVAL_PYTHON is not a Python in a directory that has python3; mend or unset it" >&2
      return 1
    }
    PATH="$(dirname "$python"):$PATH"
  else
    requirements=("$root/requirements.txt")
    [ -z "${VPEVAL_TESTS:-}" ] || requirements+=("$root/requirements-test.txt")
    vpeval_make_venv "$root" "${requirements[@]}" || return 1
    PATH="$root/.venv/bin:$PATH"
  fi
  export PATH
  export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}"
  # One byte order everywhere: Kaldi tables are sorted in the C locale; the text in them is UTF-8.
  export LC_ALL=C PYTHONUTF8=1
  export VPEVAL_ROOT="$root"
}

vpeval_setup || { unset -f vpeval_setup vpeval_make_venv; return 1; }
unset -f vpeval_setup vpeval_make_venv
