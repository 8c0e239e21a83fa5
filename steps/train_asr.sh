#!/usr/bin/env bash
# Train a CTC recogniser: see steps/train_asr.py --help.
cd "$(dirname "${BASH_SOURCE[0]}")/.." && exec steps/train_asr.py "$@"
