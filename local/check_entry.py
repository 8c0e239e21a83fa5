#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Check the submissions of a participant together: at most five systems, of which exactly one is primary.

Usage: local/check_entry.py <archive> ...
 e.g.: local/check_entry.py exp/mini/runs/mcadams/submission.tar.gz exp/mini/runs/vtln/submission.tar.gz

Every archive by itself is checked by local/check_submission.py. Exit codes: 0 nothing wrong, 1 otherwise.
"""

import sys
from pathlib import Path

from vpeval.cli import script
from vpeval.submission.roles import check_entry


def main() -> int:
    """Print the systems with their roles, and what is wrong."""
    parser = script.Parser(__doc__)
    parser.add_argument("archives", metavar="archive", type=Path, nargs="+")
    args = parser.parse_args()
    entry = check_entry(list(dict.fromkeys(args.archives)))
    for path, (system, role) in entry.systems.items():
        print(f"{path}: {system or 'no system'}, {role or 'no role'}")
    for problem in entry.problems:
        print(problem, file=sys.stderr)
    return 1 if entry.problems else 0


if __name__ == "__main__":
    script.main(main)
