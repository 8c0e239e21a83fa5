#!/usr/bin/env bash
# All tests: lint, types, unit, shell and end-to-end.
set -euo pipefail

only=           # one of lint, types, unit, mutation, e2e
nightly=false   # true: random examples, 10,000 of every fuzzer instead of 200, mutants, and the longest end-to-end tests

help_message="Usage: tests/run.sh [--only lint|types|unit|mutation|e2e] [--nightly true|false]

Without options everything but the nightly tests runs, in about a quarter of an hour, and gives the same verdict every time;
the end-to-end part needs the models of conf/models.yaml and fetches them. --nightly true explores: fuzzers and properties try
random examples, and the part mutation changes the code at random and sees whether the tests notice (tests/mutate.py --help)."

cd "$(dirname "${BASH_SOURCE[0]}")/.."
export VPEVAL_TESTS=1
. ./path.sh
. utils/parse_options.sh
[[ $# = 0 && $only =~ ^(|lint|types|unit|mutation|e2e)$ ]] || { echo "$help_message" >&2; exit 1; }

part() {
  [ -z "$only" ] || [ "$only" = "$1" ] || return 1
  echo "== $1"
}

if part lint; then
  ruff check .
  ruff format --check --quiet .
  lint-imports --no-logo
  mapfile -t scripts < <(git ls-files -co --exclude-standard '*.sh')
  shellcheck -x "${scripts[@]}"
fi

if part types; then
  mypy
fi

if [ "$nightly" = true ]; then
  export VPEVAL_FUZZ=10000
fi

if part unit; then
  python3 -m pytest -n 2 -m "not e2e" tests vpeval
fi

if [[ $nightly = true || $only = mutation ]] && part mutation; then
  tests/mutate.py vpeval/metrics vpeval/measures
fi

if part e2e; then
  mapfile -t models < <(python3 -c 'from vpeval.core.models import read_models; print(*read_models(), sep="\n")')
  utils/get_model.py "${models[@]}" >/dev/null
  tests/get_chromium.sh >/dev/null || echo "tests of pages in a browser will be skipped" >&2
  # Who is not root is not asked for a password in the middle of a run: the tests of Slurm then say how to install it.
  [ "$(id -u)" != 0 ] || tests/install_slurm.sh >/dev/null || echo "tests of Slurm will be skipped" >&2
  # One worker per file: the tests of a file share what they made.
  [ "$nightly" = true ] && chosen=e2e || chosen="e2e and not nightly"
  python3 -m pytest -n 2 --dist loadfile -m "$chosen" tests
fi
