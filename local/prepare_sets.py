#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Make the sets that a recipe.conf names from corpora in their released layouts.

Usage: local/prepare_sets.sh [options] <recipe.conf> <corpus> <data-root>
 e.g.: local/prepare_sets.sh --lists /corpora/vpc_lists egs/vpc2020/recipe.conf /corpora data

<corpus> holds the corpora under the names of their archives (LibriSpeech, VCTK-Corpus-0.92, LibriTTS, cv-corpus-…/en,
RAVDESS, IEMOCAP_full_release), or is a table of utterances. Resampled audio goes to <data-root>/local. Where the
VoicePrivacy evaluation plan has numbers, prints a table that compares them with those of the new sets.
"""

import sys
from pathlib import Path

from vpeval.cli import script
from vpeval.corpora.counts import render
from vpeval.corpora.lists import Lists
from vpeval.corpora.prepare import prepare
from vpeval.corpora.protocol import ABSENT, OFFICIAL, REBUILT
from vpeval.corpora.utterances import Request
from vpeval.data.layout import first_few
from vpeval.plan.recipe import read_recipe


def main() -> None:
    """Make the sets, print the comparison and which protocol they follow."""
    parser = script.Parser(__doc__)
    parser.add_argument("--full", type=script.boolean, help="no effect: the sets of these recipes are always whole")
    parser.add_argument("--seed", type=script.natural, default=0, help="of everything that is drawn (default: 0)")
    parser.add_argument(
        "--lists",
        metavar="DIR",
        help="official lists of enrolments and trials; without them the protocol is rebuilt, and results say so",
    )
    parser.add_argument("recipe", metavar="recipe.conf", type=Path)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("data", metavar="data-root", type=Path)
    args = parser.parse_args()

    recipe = read_recipe(args.recipe)
    needed = {*recipe.voice_sets, *recipe.speech_sets}
    optional = set(recipe.sets) - needed  # who needs them finds out in stage 0
    request = Request(args.corpus, args.data, args.seed, Lists(Path(args.lists)) if args.lists else None)
    rows, statuses = prepare(recipe.recipe, [*sorted(needed), *sorted(optional)], optional, request)
    if rows:
        legal = any(row.name.startswith("commonvoice_") for row in rows)
        paper = "Table 1 of the legal paper" if legal else "the evaluation plan"
        print(f"Numbers of {paper}, and those found:\n{render(rows)}")
    for name, status in statuses.items():
        if status.protocol == ABSENT:
            print(f"{name} is left out: {status.why}", file=sys.stderr)
    official = [name for name, status in statuses.items() if status.protocol == OFFICIAL]
    rebuilt = [name for name, status in statuses.items() if status.protocol == REBUILT]
    if official:
        print(f"protocol: official for {first_few(official, 6)}")
    if rebuilt:
        print(f"protocol: rebuilt for {first_few(rebuilt, 6)}; their results are not those of the official trials")


if __name__ == "__main__":
    script.main(main)
