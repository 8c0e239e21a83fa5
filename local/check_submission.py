#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Check a submission archive and name everything that is wrong with it.

Usage: local/check_submission.py [options] <archive> [<original-data-dir> ...]
 e.g.: local/check_submission.py submission.tar.gz data/mini_dev_enrolls data/mini_dev_trials_f

Nothing is unpacked. With the original data directories all of their utterances and trials must be in the archive;
without them it must be consistent in itself.
"""

import sys
from collections import Counter
from pathlib import Path

from vpeval.core import script
from vpeval.results.editions import EDITIONS
from vpeval.submission.check import check


def main() -> int:
    """Print the violations to stderr, or one line of success to stdout."""
    parser = script.Parser(__doc__)
    parser.add_argument("--edition", choices=EDITIONS, default="", help="default: what the manifest says")
    parser.add_argument("--shown", type=script.positive, default=20, metavar="N", help="violations of a kind (20)")
    parser.add_argument("archive", type=Path)
    parser.add_argument("data", metavar="original-data-dir", type=Path, nargs="*")
    args = parser.parse_args()

    problems = check(args.archive, args.data, args.edition)
    counts: Counter[str] = Counter()
    for problem in problems:
        counts[problem.kind] += 1
        if counts[problem.kind] <= args.shown:
            print(problem, file=sys.stderr)
    for kind, count in counts.items():
        if count > args.shown:
            print(f"{args.archive}: … and {count - args.shown} more: {kind}", file=sys.stderr)
    if problems:
        print(f"{args.archive}: {len(problems)} violations", file=sys.stderr)
        return 1
    print(f"{args.archive}: no violations")
    return 0


if __name__ == "__main__":
    script.main(main)
