#!/usr/bin/env bash
# Fetch the corpora of this recipe: egs/vpc2026/download.sh --to DIR, then ./run.sh --recipe vpc2026 --corpus DIR
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../../utils/download_corpora.py" --optional iemocap "$@" \
  librispeech_dev_clean librispeech_test_clean \
  librispeech_train_clean_360
