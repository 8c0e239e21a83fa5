#!/usr/bin/env bash
# Make the sets that a recipe.conf names; see local/prepare_sets.py --help.
exec "${BASH_SOURCE[0]%/*}/prepare_sets.py" "$@"
