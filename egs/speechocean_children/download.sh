#!/usr/bin/env bash
# Fetch the corpora of this recipe: egs/speechocean_children/download.sh --to DIR, then ./run.sh --recipe speechocean_children --corpus DIR
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../../utils/download_corpora.py" "$@" \
  speechocean762
