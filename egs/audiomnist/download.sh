#!/usr/bin/env bash
# Fetch the corpora of this recipe: egs/audiomnist/download.sh --to DIR, then ./run.sh --recipe audiomnist --corpus DIR/AudioMNIST/data
set -euo pipefail
exec "$(dirname "${BASH_SOURCE[0]}")/../../utils/download_corpora.py" "$@" \
  audiomnist
