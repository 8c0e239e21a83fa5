#!/usr/bin/env bash
# Make the sets of this recipe: egs/ravdess/prepare.sh [--full true|false] [--seed N] [--lists DIR] <corpus-dir> <data-root>
set -euo pipefail
[ $# -ge 2 ] || exec local/prepare_sets.sh --help
exec local/prepare_sets.sh "${@:1:$#-2}" egs/ravdess/recipe.conf "${@: -2}"
