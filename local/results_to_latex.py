#!/usr/bin/env -S bash -c '. "${0%/*}/../path.sh" && exec python3 "$0" "$@"'
"""Turn results into LaTeX tables; several systems share one set of tables.

Usage: local/results_to_latex.py [options] [<name>=]<results> ...
 e.g.: local/results_to_latex.py exp/mini/runs/mcadams/results.jsonl b2=RESULTS_mcadams
       local/results_to_latex.py --metrics "eer_kaldi wer" --attackers ecapa_plda --systems "original mcadams" \\
         --intervals false exp/mini/runs/mcadams/results.jsonl

Results are results.jsonl or result files of VoicePrivacy 2020, 2022, 2024 or 2026; <name> names their system. Writes
<out-dir>/<results>.<table>.tex: the six tables of the 2020 challenge (ASV and ASR; dev, test, combined) and, in
booktabs style, all privacy metrics (privacy_dev, privacy_test), systems side by side (systems_dev, systems_test), legal
metrics over N and L (legal) and similarity rank disclosure (srd). Tables without data are left out.
"""

from dataclasses import replace
from pathlib import Path

from vpeval.cli import script
from vpeval.core.errors import InputError
from vpeval.editions.base import editions
from vpeval.results import latex_challenge
from vpeval.results.latex import write_latex
from vpeval.results.load import Source, load, select


def main() -> None:
    """Read results of any shape, write one file per table."""
    parser = script.Parser(__doc__)
    parser.add_argument(
        "--style", choices=latex_challenge.STYLES, default="booktabs", help="vpc2020: the challenge's own tables"
    )
    parser.add_argument("--edition", choices=editions(), default="2020", help="its EER is in the table of SRD (2020)")
    parser.add_argument("--metrics", type=str.split, default=[], metavar="LIST", help="names of docs/metrics.md (all)")
    parser.add_argument("--attackers", type=str.split, default=[], metavar="LIST", help="attackers (all)")
    parser.add_argument("--systems", type=str.split, default=[], metavar="LIST", help="systems, in this order (all)")
    parser.add_argument("--intervals", type=script.boolean, default=True, help="true: with intervals (true)")
    parser.add_argument("--out-dir", type=Path, help="default: latex/ next to the first input")
    parser.add_argument("results", nargs="+", type=Source.parse)
    args = parser.parse_args()

    records = select(load(args.results), args.metrics, args.attackers, args.systems)
    if not args.intervals:
        records = [replace(record, lower=None, upper=None) for record in records]
    first = args.results[0].path
    out_dir = args.out_dir or first.parent / "latex"
    stem = table_stem(first) if len(args.results) == 1 else "comparison"
    try:
        tables = write_latex(records, out_dir, args.edition, stem, args.style)
    except InputError as error:
        raise InputError(str(error), first) from None
    print(f"{out_dir}: {len(tables)} tables ({stem}.*.tex)")


def table_stem(results: Path) -> str:
    """``results`` of results.jsonl, but the whole of results.anon_x, next to which there may be a results.orig_x."""
    return results.stem if results.suffix in (".jsonl", ".txt") else results.name


if __name__ == "__main__":
    script.main(main)
