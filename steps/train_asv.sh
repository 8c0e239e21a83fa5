#!/usr/bin/env bash
# Train an attacker on data directories: see steps/train_asv.py --help.
cd "$(dirname "${BASH_SOURCE[0]}")/.." && exec steps/train_asv.py "$@"
