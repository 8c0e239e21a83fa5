#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Check a submission archive: refuse it, accept it with parts that were not verified, or call it verified.

Usage: local/check_submission.py [options] <archive> <original-data-dir> ...
 e.g.: local/check_submission.py submission.tar.gz data/mini_dev_enrolls data/mini_dev_trials_f
       local/check_submission.py --recipe mini --recompute 50 --models exp/mini/asv submission.tar.gz \\
         data/mini_{dev,test}_*[a-z]

Unpacks nothing and runs no code of the archive. Give the original data directories of all sets: utterances, labels and
texts of the archive must equal theirs, its audio must be their speech in another voice, and all numbers are computed
again from scores and transcripts. Some scores and transcripts are made again from the audio where the models are there;
nothing is fetched. What counts is said by your options, files and data, never by the package.

Exit codes, and the last line: 0 verified; 3 accepted, with parts that were not verified; 1 refused;
2 could not be checked, as the command or the original data are wrong or missing.
"""

import secrets
import sys
from collections.abc import Sequence
from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.editions.base import editions
from vpeval.submission.check import ACCEPTED, REFUSED, UNDECIDED, Verdict, check
from vpeval.submission.demands import Organiser, Rescoring

ROOT = Path(__file__).resolve().parents[1]


def main() -> int:
    """Print the violations to stderr; what was verified, what not, and the verdict to stdout."""
    parser = script.Parser(__doc__)
    option = parser.add_argument
    option("--edition", choices=editions(), default="", help="default: that of the manifest, which is noted")
    option("--recipe", metavar="NAME", help="recipe in egs/ that must be fulfilled (that of the original sets)")
    option(
        "--recompute",
        type=script.natural,
        default=8,
        metavar="N",
        help="scores of every attack, and transcripts of every set, to make again from the audio; 0: none (8)",
    )
    option("--models", type=Path, metavar="DIR", help="your own trained attackers (exp/<recipe>/asv beside the data)")
    option("--attackers", type=Path, metavar="DIR", default=ROOT / "conf/asv", help="attackers that count (conf/asv)")
    option("--recognisers", type=Path, metavar="DIR", default=ROOT / "conf/asr", help="recognisers that count")
    option("--seed", type=script.natural, help="which are made again (default: random)")
    option("--shown", type=script.positive, default=20, metavar="N", help="violations of a kind (20)")
    option("archive", type=Path)
    option("data", metavar="original-data-dir", type=Path, nargs="*")
    args = parser.parse_args()

    recipes = ROOT / "egs"
    if args.recipe is not None:
        recipes = recipes / args.recipe / "recipe.conf"
        if "/" in args.recipe or not recipes.is_file():
            there = " ".join(sorted(path.parent.name for path in ROOT.glob("egs/*/recipe.conf")))
            raise InputError(f"no recipe '{args.recipe}'; there are: {there}")
    seed = secrets.randbits(32) if args.seed is None else args.seed
    rescoring = Rescoring(args.recompute, seed, args.attackers, args.models, args.recognisers)
    organiser = Organiser(
        args.edition, recipes, args.attackers, args.recognisers, rescoring if args.recompute else None
    )
    verdict = check(args.archive, args.data, organiser)
    print_verdict(verdict, args.archive, args.shown)
    sys.stderr.flush()
    return print_outcome(verdict, args.archive)


def print_outcome(verdict: Verdict, archive: Path) -> int:
    """The last line, and the exit code that says the same."""
    done = f"{verdict.numbers} numbers recomputed, {len(verdict.compared)} sets compared with their originals"
    points = len(verdict.unverified)
    if verdict.outcome == REFUSED:
        print(f"{archive}: refused: {verdict.counts.total()} violations")
        return 1
    if verdict.outcome == UNDECIDED:
        print(f"{archive}: nothing wrong in itself, but not checked: give the original data directories")
        return 2
    if verdict.outcome == ACCEPTED:
        print(f"{archive}: accepted, {points} point{'s' * (points > 1)} not verified; {done}")
        return 3
    print(f"{archive}: verified; {done}")
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
        ("made again", verdict.rescored),
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
    script.main(main, failure=2)
