#!/usr/bin/env bash
# Fetch the corpora of this recipe: egs/vpc2022/download.sh --to DIR, then ./run.sh --recipe vpc2022 --corpus DIR
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../../utils/download_corpora.py" "$@" \
  librispeech_dev_clean librispeech_test_clean librispeech_train_clean_360 vctk \
  libritts_train_other_500
