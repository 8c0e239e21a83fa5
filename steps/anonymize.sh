#!/usr/bin/env bash
# Anonymise a data directory with a hook: see steps/anonymize.py --help.
cd "$(dirname "${BASH_SOURCE[0]}")/.." && exec steps/anonymize.py "$@"
