#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Check a submission archive: list all violations, what was recomputed, and what was not verified.

Usage: local/check_submission.py [options] <archive> [<original-data-dir> ...]
 e.g.: local/check_submission.py submission.tar.gz data/mini_dev_enrolls data/mini_dev_trials_f
       local/check_submission.py --recompute 50 --models exp/mini/asv submission.tar.gz data/mini_{dev,test}_*[a-z]

Unpacks nothing and runs no code of the archive. Give the original data directories of all sets: utterances, labels and
texts of the archive must equal theirs, audio is compared with theirs, and all numbers are computed again from scores
and transcripts. Without them nothing is approved.

Exit codes: 0 approved, as far as it was verified; 1 violations; 2 no violations, but no originals to compare with.
"""

import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from vpeval.cli import script
from vpeval.editions.base import editions
from vpeval.submission.check import Rescoring, Verdict, check

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Print the violations to stderr, and what was verified to stdout."""
    parser = script.Parser(__doc__)
    option = parser.add_argument
    option("--edition", choices=editions(), default="", help="default: that of the manifest")
    option("--recompute", type=script.natural, default=0, metavar="N", help="trials of every attack to score again (0)")
    option("--models", type=Path, metavar="DIR", help="your own trained attackers, for that (exp/<recipe>/asv)")
    option("--attackers", type=Path, metavar="DIR", default=ROOT / "conf/asv", help="attackers that count (conf/asv)")
    option("--seed", type=script.natural, help="which trials are scored again (default: random)")
    option("--shown", type=script.positive, default=20, metavar="N", help="violations of a kind (20)")
    option("archive", type=Path)
    option("data", metavar="original-data-dir", type=Path, nargs="*")
    args = parser.parse_args()

    seed = secrets.randbits(32) if args.seed is None else args.seed
    rescoring = Rescoring(args.recompute, seed, args.attackers, args.models) if args.recompute else None
    verdict = check(args.archive, args.data, args.edition, args.attackers, rescoring)
    print_verdict(verdict, args.archive, args.shown)
    if verdict.problems:
        print(f"{args.archive}: {verdict.counts.total()} violations", file=sys.stderr)
        return 1
    done = f"{verdict.numbers} numbers recomputed, {len(verdict.compared)} sets compared with their originals"
    if not verdict.unverified:
        print(f"{args.archive}: no violations; {done}")
        return 0
    if not args.data:
        print(f"{args.archive}: nothing wrong in itself, but not approved: give the original data directories")
        return 2
    print(f"{args.archive}: approved; {done}; {len(verdict.unverified)} points not verified")
    return 0


def print_verdict(verdict: Verdict, archive: Path, shown: int) -> None:
    """All findings, of every kind of violation the first ones."""
    printed: dict[str, int] = {}
    for problem in verdict.problems:
        printed[problem.kind] = printed.get(problem.kind, 0) + 1
        if printed[problem.kind] <= shown:
            print(problem, file=sys.stderr)
    for kind, count in verdict.counts.items():
        if count > shown:
            print(f"{archive}: … and {count - shown} more: {kind}", file=sys.stderr)
    for title, lines in (
        ("recomputed", [f"{place}: {', '.join(numbers)}" for place, numbers in verdict.recomputed.items()]),
        ("scored again", verdict.rescored),
        ("compared", verdict.compared),
        ("remark", verdict.noted),
        ("not verified", verdict.unverified),
    ):
        print_lines(title, lines)


def print_lines(title: str, lines: Sequence[str]) -> None:
    """A title before every line."""
    for line in lines:
        print(f"{title}: {line}")


if __name__ == "__main__":
    script.main(main)
