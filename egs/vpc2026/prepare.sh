#!/usr/bin/env bash
# Make the sets of this recipe: egs/vpc2026/prepare.sh [--full true|false] [--seed N] [--lists DIR] <corpus-dir> <data-root>
set -euo pipefail
[ $# -ge 2 ] || exec local/prepare_sets.sh --help
exec local/prepare_sets.sh "${@:1:$#-2}" egs/vpc2026/recipe.conf "${@: -2}"
