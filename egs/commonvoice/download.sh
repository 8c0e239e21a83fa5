#!/usr/bin/env bash
# Fetch the corpora of this recipe: egs/commonvoice/download.sh --to DIR, then ./run.sh --recipe commonvoice --corpus DIR
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../../utils/download_corpora.py" "$@" \
  librispeech_train_clean_360 commonvoice_en
