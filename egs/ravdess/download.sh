#!/usr/bin/env bash
# Fetch the corpora of this recipe: egs/ravdess/download.sh --to DIR, then ./run.sh --recipe ravdess --corpus DIR
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../../utils/download_corpora.py" "$@" \
  ravdess
