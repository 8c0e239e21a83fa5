#!/usr/bin/env bash
# Check in seconds whether a hook keeps the contract of docs/hooks.md: see utils/check_hook.py --help.
exec "$(dirname "${BASH_SOURCE[0]}")/check_hook.py" "$@"
