#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Make the sets of a recipe from corpora in their released layouts; the Python half of local/prepare_sets.sh.

Usage: local/prepare_sets.py [options] --recipe NAME --sets 'SET ...' <corpus> <data-root>
 e.g.: local/prepare_sets.py --recipe vpc2020 --sets 'libri_dev_enrolls libri_dev_trials_f' /corpora data

Where the VoicePrivacy evaluation plan has numbers, a table compares them with what was made.
"""

import sys
from pathlib import Path

from vpeval.cli import script
from vpeval.corpora.counts import render
from vpeval.corpora.lists import Lists
from vpeval.corpora.prepare import prepare
from vpeval.corpora.protocol import ABSENT, OFFICIAL, REBUILT
from vpeval.corpora.request import Request
from vpeval.data.layout import name_some


def main() -> None:
    """Make the sets, print the comparison and what they rest on."""
    parser = script.Parser(__doc__)
    parser.add_argument("--seed", type=script.natural, default=0, help="of everything that is drawn (default: 0)")
    parser.add_argument("--lists", type=Path, metavar="DIR", help="official lists of enrolments and trials")
    parser.add_argument("--recipe", required=True)
    parser.add_argument("--sets", required=True, type=str.split, help="sets that must be made")
    parser.add_argument(
        "--optional", default=[], type=str.split, help="sets that are left out where a corpus is missing"
    )
    parser.add_argument("corpus", type=Path)
    parser.add_argument("data", metavar="data-root", type=Path)
    args = parser.parse_args()

    request = Request(args.corpus, args.data, args.seed, Lists(args.lists) if args.lists else None)
    rows, statuses = prepare(args.recipe, [*args.sets, *args.optional], args.optional, request)
    if rows:
        print(f"Numbers of the evaluation plan, and those found:\n{render(rows)}")
    for name, status in statuses.items():
        if status.protocol == ABSENT:
            print(f"{name} is left out: {status.why}", file=sys.stderr)
    official = [name for name, status in statuses.items() if status.protocol == OFFICIAL]
    rebuilt = [name for name, status in statuses.items() if status.protocol == REBUILT]
    if official:
        print(f"protocol: official for {name_some(official, 6)}")
    if rebuilt:
        print(f"protocol: rebuilt for {name_some(rebuilt, 6)}; their results are not those of the official trials")


if __name__ == "__main__":
    script.main(main)
