# Source this before using a script by hand: . ./path.sh
# Sets up the environment of the recipes and, on first use, makes .venv from requirements.txt.
# VPEVAL_PYTHON=/path/python uses an existing environment; VPEVAL_MODELS=/path keeps models elsewhere than models/.
# shellcheck shell=bash

# Whether .venv is there, up to date and open to this user: whoever may not read it would get the system's Python.
vpeval_venv_is_ready() {
  local root=$1 stamp=$1/.venv/requirements.sha256 place
  [ "$stamp" -nt "$root/requirements.txt" ] && [ "$stamp" -nt "$root/constraints.txt" ] || return 1
  [ -x "$root/.venv/bin/python3" ] || return 1
  for place in "$root"/.venv/lib "$root"/.venv/lib/python3.* "$root"/.venv/lib/python3.*/site-packages; do
    [ ! -e "$place" ] || { [ -r "$place" ] && [ -x "$place" ]; } || return 1
  done
}

vpeval_make_venv() {
  local root=$1 python
  if [ $# = 2 ] && vpeval_venv_is_ready "$root"; then
    return 0
  fi
  for python in python3 python3.13 python3.12 python3.11; do
    "$python" -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' 2>/dev/null && break
    python=python3
  done
  command -v "$python" >/dev/null || {
    echo "path.sh: there is no python3 on PATH; install Python 3.11, 3.12 or 3.13" >&2
    return 1
  }
  "$python" "$root/utils/make_venv.py" "$@"
}

# VPEVAL_PYTHON: print the directory of its python3, once it is clear that it can run the recipes.
vpeval_own_python() {
  local root=$1 python folder missing
  python=$(command -v "$VPEVAL_PYTHON") && folder=$(cd "$(dirname "$python")" && pwd) && [ -x "$folder/python3" ] || {
    echo "path.sh: VPEVAL_PYTHON=$VPEVAL_PYTHON is not a Python in a directory that has python3; fix or unset it" >&2
    return 1
  }
  missing=$("$folder/python3" -c '
import importlib.util, sys
if sys.version_info < (3, 11):
    print("Python 3.11 (it is %d.%d)" % sys.version_info[:2])
else:
    names = ("numpy", "scipy", "soundfile", "kaldiio", "yaml", "torch")
    print(*(name for name in names if not importlib.util.find_spec(name)))') || return 1
  [ -z "$missing" ] || {
    echo "path.sh: VPEVAL_PYTHON=$VPEVAL_PYTHON lacks $missing; run" >&2
    echo "  $folder/python3 -m pip install -r $root/requirements.txt -c $root/constraints.txt" >&2
    echo "or unset VPEVAL_PYTHON to have an environment made in .venv" >&2
    return 1
  }
  echo "$folder"
}

vpeval_setup() {
  local root ready folder requirements
  folder=${BASH_SOURCE[0]%/*}
  [ "$folder" != "${BASH_SOURCE[0]}" ] || folder=.
  root=$(cd "$folder" && pwd && echo /) || return 1
  root=${root%$'\n'/}
  case $root in
    *:* | *$'\n'*)
      printf 'path.sh: the path of this clone, %q, holds a colon or a line break, which cannot stand in PATH; move it\n' "$root" >&2
      return 1
      ;;
  esac
  ready="$root${VPEVAL_TESTS:+ with tests}"
  [ "${VPEVAL_READY:-}" = "$ready" ] && return 0
  if [ -z "${VPEVAL_PYTHON:-}" ] && [[ " $* " == *" --help "* || " $* " == *" -h "* ]]; then
    # Nobody waits for an environment to read a help text: shell scripts have it, those in Python are shown.
    [ -e "$root/.venv/requirements.sha256" ] || [[ $0 != *.py ]] || exec python3 "$root/utils/show_help.py" "$0"
    [ ! -e "$root/.venv/requirements.sha256" ] || export PATH="$root/.venv/bin:$PATH" PYTHONPATH="$root"
    return 0
  fi

  # Hooks get the environment as it was outside (vpeval/anon/hook_input.py).
  [ -n "${VPEVAL_READY:-}" ] || export VPEVAL_OUTSIDE_PATH="$PATH" VPEVAL_OUTSIDE_PYTHONPATH="${PYTHONPATH:-}" \
    VPEVAL_OUTSIDE_LC_ALL="${LC_ALL:-}" VPEVAL_OUTSIDE_PYTHONUTF8="${PYTHONUTF8:-}"
  if [ -n "${VPEVAL_PYTHON:-}" ]; then
    folder=$(vpeval_own_python "$root") || return 1
    PATH="$folder:$PATH"
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
  # Matrices are small or products of blocks; the work is shared by processes. Threads of BLAS would spin at each other
  # (a back end took ninety times the CPU time on a busy machine), and the last digits would depend on their number.
  export OPENBLAS_NUM_THREADS="${OPENBLAS_NUM_THREADS:-1}"
  export VPEVAL_READY="$ready"
}

vpeval_setup "$@" || { unset -f vpeval_setup vpeval_make_venv vpeval_venv_is_ready vpeval_own_python; return 1; }
unset -f vpeval_setup vpeval_make_venv vpeval_venv_is_ready vpeval_own_python
